#!/usr/bin/env bash
# What a change must pass before anybody reads it. Generated files are compared with what they were before, not with
# a commit, so that it works in the middle of a change and on a fresh clone alike.
set -euo pipefail
cd "$(dirname "$0")/.."

heading() { printf '\n-- %s\n' "$*"; }
failed=()
check() { # name, command...: goes on after a failure, so that one run shows all of them
	heading "$1"
	"${@:2}" || failed+=("$1")
}

regenerated() {
	local before after status=0
	before=$(mktemp -d) && after=$(mktemp -d)
	cp -R api config "$before"
	make --no-print-directory generate manifests || status=1
	cp -R api config "$after"
	if ! diff -ru "$before" "$after"; then
		echo "generated files were out of date; they are right now: commit them" >&2
		status=1
	fi
	rm -rf "$before" "$after"
	return $status
}

formatted() {
	local files
	files=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 "$(go env GOROOT)/bin/gofmt" -l) # of the release that Makefile names
	[ -z "$files" ] || { echo "not formatted (make fmt): $files" >&2; return 1; }
}

modules() { git ls-files --cached --others --exclude-standard -- 'go.mod' '*/go.mod' | xargs -n1 dirname; }

tidy() {
	local module status=0
	for module in $(modules); do
		go -C "$module" mod tidy -diff || { echo "$module: run go mod tidy" >&2; status=1; }
	done
	return $status
}

renders() {
	local dir status=0
	for dir in config/crd config/default config/namespaced config/samples; do
		bin/kustomize build "$dir" >/dev/null || status=1
	done
	return $status
}

check "generated files" regenerated
check "gofmt" formatted
check "go vet" go vet ./...
check "linters" make --no-print-directory lint
check "go mod tidy" tidy
check "kustomize" renders

if [ ${#failed[@]} -gt 0 ]; then
	printf '\nverify: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
	exit 1
fi
printf '\nverify: all good\n'

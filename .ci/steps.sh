# Sourced by .ci/run and .ci/full: runs make targets one after the other, each with a heading and the time it took.
# The last target's test results are repeated at the very end, so that a log ends with what was tested.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOTOOLCHAIN=go1.27.3

times=()
current=""
results=$(mktemp)
finish() {
	local status=$?
	rm -f "$results"
	[ $status = 0 ] || printf '\n== FAILED: %s\n' "${current:-setting up}" >&2
}
trap finish EXIT

# Tools that a bare machine may lack and apt can bring: make and a C compiler (for the race detector), Node.js for
# the servers on the JavaScript SDK, Python with its Kubernetes client for the example in Python.
install_missing() {
	local missing=()
	command -v make >/dev/null || missing+=(make)
	command -v git >/dev/null || missing+=(git)
	command -v cc >/dev/null || command -v gcc >/dev/null || missing+=(gcc libc6-dev)
	command -v node >/dev/null || missing+=(nodejs)
	command -v npm >/dev/null || missing+=(npm)
	python3 -c 'import kubernetes' 2>/dev/null || /usr/bin/python3 -c 'import kubernetes' 2>/dev/null || missing+=(python3-kubernetes)
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing, and only root with apt-get can install it here: ${missing[*]}" >&2
		return 1
	fi
	echo "installing ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

duration() { printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); }

step() { # make target [VAR=value...]
	current="make $*"
	printf '\n== %s\n' "$current"
	local start=$SECONDS
	make --no-print-directory "$@" 2>&1 | tee "$results"
	times+=("$(printf '%8s  %s' "$(duration $((SECONDS - start)))" "$current")")
	printf '== %s took %s\n' "$current" "$(duration $((SECONDS - start)))"
}

summary() {
	current=summary
	printf '\n== all steps passed in %s\n' "$(duration $SECONDS)"
	printf '%s\n' "${times[@]}"
	printf '\n== results of the last step\n'
	grep -E '^(ok|FAIL|PASS|---)[[:space:]]' "$results" || true
}

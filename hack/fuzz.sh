#!/usr/bin/env bash
# Fuzzes every target of the module for FUZZTIME each, one after the other, and stops at the first finding: go
# leaves the input in the package's testdata/fuzz, to be committed with the fix.
# Left alone, go takes up to a minute to make each input smaller that finds new code, and counts no executions meanwhile: hence 2s.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${FUZZTIME:-10m}

# "go test -list" prints the names, then "ok <package> <time>".
targets=$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names[n++] = $1 }
	/^ok/ { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }')
[ -n "$targets" ] || { echo "no fuzz target found" >&2; exit 1; }
echo "$(wc -l <<<"$targets") targets, $fuzztime each"
while read -r package name; do
	echo "== $name ($package)"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -fuzzminimizetime 2s "$package"
done <<<"$targets"

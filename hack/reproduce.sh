#!/usr/bin/env bash
# Builds the last commit twice, in two folders of different names: once with the build cache of this machine and once with an
# empty one, so that nothing of the first build can be in the second. Both programs must have the same digests.
# The second build compiles everything: a few minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for copy in one a/longer/path/to/the/other; do
	mkdir -p "$work/$copy/src"
	git archive HEAD | tar -x -C "$work/$copy/src"
done

"$work/one/src/hack/build.sh" "$work/one/bin" reproduced
GOCACHE="$work/cache" "$work/a/longer/path/to/the/other/src/hack/build.sh" "$work/a/longer/path/to/the/other/bin" reproduced

digests() { (cd "$1" && sha256sum manager agentpeer); }
digests "$work/one/bin" | tee "$work/digests"
if ! (cd "$work/a/longer/path/to/the/other/bin" && sha256sum --check --quiet "$work/digests"); then
	echo "reproduce: two builds of one commit differ" >&2
	exit 1
fi
echo "reproduce: two builds, the same digests"

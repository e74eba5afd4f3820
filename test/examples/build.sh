#!/usr/bin/env bash
# Builds the TypeScript orchestrator of examples/ into OUTDIR (default: bin/examples of this repository), and looks whether Python
# can run the other. What is unchanged since the last time is kept, so a second run takes a second.
#
#   test/examples/build.sh [OUTDIR]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
from=$here/../../examples/typescript
out=${1:-$here/../../bin/examples}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Two runs at once would install over each other.
if command -v flock >/dev/null; then
	exec 9>"$out/.lock"
	flock 9
fi

digest() { cat "$@" | sha256sum | cut -d' ' -f1; }

sum=$(digest "$from"/{package.json,package-lock.json,.npmrc})
if [ ! -d "$out/typescript/node_modules" ] || [ "$(cat "$out/.typescript.stamp" 2>/dev/null)" != "$sum" ]; then
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		cat >&2 <<-'TEXT'
			examples: node and npm are missing; the TypeScript orchestrator needs them (20 or newer, or the 18 of Debian 12).
			  Debian, Ubuntu:  apt-get install --no-install-recommends nodejs npm
			  macOS:           brew install node
			  elsewhere:       https://nodejs.org
			Then run make sdk again.
		TEXT
		exit 1
	fi
	echo "examples: installing the packages of the TypeScript orchestrator with npm ci (half a minute)"
	rm -rf "$out/typescript"
	mkdir "$out/typescript"
	cp "$from"/{package.json,package-lock.json,.npmrc} "$out/typescript"
	(cd "$out/typescript" && npm ci --no-progress --ignore-scripts --loglevel=error)
	echo "$sum" >"$out/.typescript.stamp"
	rm -f "$out/.compiled.stamp"
fi

sum=$(digest "$from"/{orchestrator.ts,tsconfig.json})
if [ "$(cat "$out/.compiled.stamp" 2>/dev/null)" != "$sum" ]; then
	cp "$from"/{orchestrator.ts,tsconfig.json} "$out/typescript"
	(cd "$out/typescript" && npm run --silent build)
	echo "$sum" >"$out/.compiled.stamp"
fi

for python in python3 /usr/bin/python3; do
	if "$python" -c 'import kubernetes' 2>/dev/null; then
		exit 0
	fi
done
cat >&2 <<-'TEXT'
	examples: no python3 here has the package kubernetes; the tests of the Python orchestrator will ask for it.
	  Debian, Ubuntu:  apt-get install --no-install-recommends python3-kubernetes
	  elsewhere:       python3 -m pip install kubernetes
TEXT

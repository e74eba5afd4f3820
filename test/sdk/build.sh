#!/usr/bin/env bash
# Builds the servers on third-party A2A SDKs into OUTDIR (default: bin/sdk of this repository). What is unchanged since the
# last time is kept, so a second run takes a second.
#
#   test/sdk/build.sh [OUTDIR]
#
# The Go servers need Go only; the Node servers need node 18 or newer and npm.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../bin/sdk}
mkdir -p "$out"
out=$(cd "$out" && pwd)
export GOTOOLCHAIN=${GOTOOLCHAIN:-go1.27.3}

# Two runs at once would install over each other.
if command -v flock >/dev/null; then
	exec 9>"$out/.lock"
	flock 9
fi

digest() { cat "$@" | sha256sum | cut -d' ' -f1; }

unchanged() { [ -e "$1" ] && [ "$(cat "$2" 2>/dev/null)" = "$3" ]; } # product stamp digest

build_go() { # name
	local name=$1 start=$SECONDS sum
	sum=$(digest "$here/$name"/{main.go,go.mod,go.sum})
	if unchanged "$out/$name" "$out/.$name.stamp" "$sum"; then
		return
	fi
	echo "sdk peers: building $name (the first time a minute or so)"
	go build -C "$here/$name" -o "$out/$name" .
	echo "$sum" >"$out/.$name.stamp"
	echo "sdk peers: built $name in $((SECONDS - start)) s"
}

need_node() {
	local major
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		cat >&2 <<-'TEXT'
			sdk peers: node and npm are missing; the servers on @a2a-js/sdk need them (18 or newer).
			  Debian, Ubuntu:  apt-get install --no-install-recommends nodejs npm
			  macOS:           brew install node
			  elsewhere:       https://nodejs.org
			Then run make sdk again. The Go servers are built.
		TEXT
		return 1
	fi
	major=$(node -p 'process.versions.node.split(".")[0]')
	if [ "$major" -lt 18 ]; then
		echo "sdk peers: node $(node -v) is too old; the servers on @a2a-js/sdk need 18 or newer." >&2
		return 1
	fi
}

build_js() {
	local start=$SECONDS sum fresh=$out/.a2a-js.new
	sum=$(digest "$here"/a2a-js/{package.json,package-lock.json,.npmrc})
	if unchanged "$out/a2a-js/node_modules" "$out/.a2a-js.stamp" "$sum"; then
		cp "$here"/a2a-js/*.mjs "$out/a2a-js"
		return
	fi
	need_node
	echo "sdk peers: installing the servers on @a2a-js/sdk 1.3.0, 0.3.13 and 0.2.5 with npm ci (about a minute)"
	rm -rf "$fresh"
	mkdir "$fresh"
	cp "$here"/a2a-js/{package.json,package-lock.json,.npmrc,*.mjs} "$fresh"
	(cd "$fresh" && npm ci --no-progress --ignore-scripts --loglevel=error)
	rm -rf "$out/a2a-js"
	mv "$fresh" "$out/a2a-js"
	echo "$sum" >"$out/.a2a-js.stamp"
	echo "sdk peers: installed in $((SECONDS - start)) s"
}

build_go a2a-go-2.3.1
build_go a2a-go-0.3.15
build_js

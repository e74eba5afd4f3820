#!/usr/bin/env bash
# Builds the operator and the agentpeer command as they are shipped: for make build, the image and make reproduce alike.
# The same commit, Go release and platform give the same bytes, wherever they are built:
# -trimpath leaves out the folders, -buildvcs=false the state of the checkout, CGO_ENABLED=0 the C library.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: hack/build.sh FOLDER [VERSION]}
version=${2:-dev}

export CGO_ENABLED=0
for program in manager=./cmd agentpeer=./cmd/agentpeer; do
	# grpcnotrace leaves out a tracer that would keep the linker from dropping what nobody calls.
	go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -X main.version=$version" \
		-o "$out/${program%%=*}" "${program#*=}"
done

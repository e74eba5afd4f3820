#!/usr/bin/env bash
# Builds the operator's image with the first engine that answers. A client without its engine does not count.
set -euo pipefail
cd "$(dirname "$0")/.."
image=${1:?usage: hack/image.sh IMAGE [VERSION]}
version=${2:-dev}

for engine in docker podman buildah; do
	if command -v "$engine" >/dev/null && "$engine" info >/dev/null 2>&1; then
		echo "building $image with $engine"
		exec "$engine" build --tag "$image" --build-arg "VERSION=$version" --file Dockerfile .
	fi
done
echo "building $image: found no working docker, podman or buildah" >&2
exit 1

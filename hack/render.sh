#!/usr/bin/env bash
# Prints config/default with the operator's image replaced, without touching a file that Git tracks.
set -euo pipefail
cd "$(dirname "$0")/.."
image=${1:?usage: hack/render.sh IMAGE}

overlay=$(mktemp -d bin/deploy.XXXXXX)
trap 'rm -rf "$overlay"' EXIT
cat >"$overlay/kustomization.yaml" <<YAML
resources: [../../config/default]
patches:
- target: {kind: Deployment}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/image, value: "$image"}
YAML
bin/kustomize build "$overlay"

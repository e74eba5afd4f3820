# Everything that people and CI do here. `make help` lists it.
# Needs Go and bash; the Go release named below fetches itself. The tests of real SDK servers need Node.js too.

export GOTOOLCHAIN = go1.27.3
SHELL = bash
.SHELLFLAGS = -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL = help

# What you may set: make run ARGS="--help", make fuzz FUZZTIME=30s, make demo DEMO_EXIT=1
ARGS ?=
FUZZTIME ?= 10m
IMG ?= agentpeer/manager:dev
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
KUBECTL ?= kubectl
export DEMO_EXIT FUZZTIME

BIN := $(CURDIR)/bin
CONTROLLER_GEN := $(BIN)/controller-gen
KUSTOMIZE := $(BIN)/kustomize
GOLANGCI_LINT := $(BIN)/golangci-lint
KAL := $(BIN)/golangci-lint-kube-api-linter
GOVULNCHECK := $(BIN)/govulncheck
CYCLONEDX := $(BIN)/cyclonedx-gomod
VULNDB := $(BIN)/vulndb

# A folder with etcd and kube-apiserver, built on the first call; KUBEBUILDER_ASSETS of your own wins.
DEVCLUSTER = go run -C hack/devcluster . build
WITH_ASSETS = assets=$$($(DEVCLUSTER)); export KUBEBUILDER_ASSETS="$$assets";

##@ Use it

.PHONY: build
build: ## Build the operator and the agentpeer command into bin/.
	hack/build.sh $(BIN) $(VERSION)

.PHONY: run
run: ## Run the operator here against the cluster of your kubeconfig (ARGS="--help" for its flags).
	go run ./cmd $(ARGS)

.PHONY: demo
demo: sdk ## Show the product: operator, honest and lying agents, live verdicts (DEMO_EXIT=1 ends by itself).
	go build -o $(BIN)/demo ./hack/demo
	$(WITH_ASSETS) $(BIN)/demo

##@ Test it

.PHONY: unit
unit: ## Run the quick tests, which need no API server and no Node.js.
	go test -short ./...
	go test -C hack/devcluster .

.PHONY: test
test: sdk ## Run every test that a change must pass, on a real API server and real SDK servers.
	go test -C hack/devcluster .
	$(WITH_ASSETS) go test -race -timeout 30m ./...

.PHONY: e2e
e2e: sdk ## Run the end-to-end tests: the real operator, a real API server, lying agents.
	$(WITH_ASSETS) go test -count=1 -timeout 30m ./test/e2e/...

.PHONY: cases
cases: sdk ## Prove that the prober does not cry wolf: reported cases, fleets under faults, a simulation (ARGS="-layer fleets -seed 42").
	$(WITH_ASSETS) go run ./test/cases $(ARGS)

.PHONY: cases-mutants
cases-mutants: ## Take the guards of the prober away, one at a time: the cases must fail for each (ARGS="-only window -v").
	$(WITH_ASSETS) go run ./hack/mutants $(ARGS)

.PHONY: security
security: sdk $(GOLANGCI_LINT) vuln ## Look for what an attacker would: gosec, known vulnerabilities, all TestSecurity tests (ARGS="-only SSRF").
	$(GOLANGCI_LINT) run --enable-only gosec --tests=false ./api/... ./client/... ./cmd/... ./controllers/... ./internal/...
	$(WITH_ASSETS) go run ./test/security $(ARGS)

.PHONY: bench
bench: ## Measure speed and memory; prints one JSON object per line.
	$(WITH_ASSETS) go run ./test/bench $(ARGS)

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME each (default 10m).
	hack/fuzz.sh

##@ Change it

.PHONY: fmt
fmt: ## Format all Go code.
	git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 "$$(go env GOROOT)/bin/gofmt" -w

.PHONY: lint
lint: $(GOLANGCI_LINT) $(KAL) ## Run the linters, and the Kubernetes API linter on api/.
	$(GOLANGCI_LINT) run ./...
	cd hack/devcluster && $(GOLANGCI_LINT) run .
	# Its own golangci-lint cannot read what compilers after Go 1.26 export.
	GOTOOLCHAIN=go1.26.8 $(KAL) run --config .golangci-kal.yml ./api/...

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate deep-copy functions and apply-configurations from api/.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/v1alpha1
	$(CONTROLLER_GEN) applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./api/v1alpha1

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CRD from api/ and the manager's role from controllers/.
	$(CONTROLLER_GEN) crd paths=./api/v1alpha1 output:crd:dir=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./controllers/... output:rbac:dir=config/rbac

.PHONY: docs
docs: ## Check the docs: links lead somewhere, commands and reasons exist.
	go test -count=1 ./docs/...

.PHONY: verify
verify: $(GOLANGCI_LINT) $(KAL) $(CONTROLLER_GEN) $(KUSTOMIZE) ## Regenerate and fail on a diff; format, vet, lint, tidy and kustomize checks.
	hack/verify.sh

.PHONY: vuln
vuln: $(GOVULNCHECK) $(VULNDB)/index/db.json ## Look for known vulnerabilities in code that we call; works offline.
	$(GOVULNCHECK) -db file://$(VULNDB) ./...

##@ Ship it

.PHONY: docker-build
docker-build: ## Build the operator's image as IMG with docker, podman or buildah.
	hack/image.sh $(IMG) $(VERSION)

.PHONY: sbom
sbom: build $(CYCLONEDX) ## List what both programs are made of, in CycloneDX: bin/sbom-*.json.
	for program in manager agentpeer; do \
		$(CYCLONEDX) bin -json -std -noserial -notimestamp -version "$(VERSION)" -output $(BIN)/sbom-$$program.json $(BIN)/$$program; \
	done

.PHONY: reproduce
reproduce: ## Build both programs twice, in two folders and from nothing the second time: they must be the same (minutes).
	hack/reproduce.sh

.PHONY: install
install: $(KUSTOMIZE) ## Install the CRDs on the cluster of your kubeconfig.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: deploy
deploy: $(KUSTOMIZE) ## Install CRDs, roles and the operator (image IMG) on the cluster of your kubeconfig.
	hack/render.sh $(IMG) | $(KUBECTL) apply --server-side -f -

##@ What the others need

.PHONY: assets
assets: ## Build etcd and kube-apiserver unless they are cached, and print their folder.
	@$(DEVCLUSTER)

.PHONY: sdk
sdk: ## Build the servers on third-party A2A SDKs that the tests and the demo judge, and the examples in other languages.
	test/sdk/build.sh
	test/examples/build.sh

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The tools, pinned in hack/tools and built once into bin/. KAL has a module of its own, as it pins an older golangci-lint.
TOOLS := hack/tools/go.mod hack/tools/go.sum

$(CONTROLLER_GEN): $(TOOLS)
	go build -C hack/tools -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen
$(KUSTOMIZE): $(TOOLS)
	go build -C hack/tools -o $@ sigs.k8s.io/kustomize/kustomize/v5
$(GOLANGCI_LINT): $(TOOLS)
	@echo "building golangci-lint, once: a minute or two"
	go build -C hack/tools -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(KAL): hack/tools/kal/go.mod hack/tools/kal/go.sum
	@echo "building the Kubernetes API linter, once: a minute or two"
	go build -C hack/tools/kal -o $@ sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter
$(GOVULNCHECK): $(TOOLS)
	go build -C hack/tools -o $@ golang.org/x/vuln/cmd/govulncheck
$(CYCLONEDX): $(TOOLS)
	go build -C hack/tools -o $@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
# The vulnerability database is a Go module too, so its date is pinned in hack/tools/go.mod.
$(VULNDB)/index/db.json: $(TOOLS)
	go run -C hack/tools golang.org/x/vulndb/cmd/indexdb \
		-vulns "$$(go list -C hack/tools -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" -out $(VULNDB)

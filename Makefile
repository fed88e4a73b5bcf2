# weft: make help lists the targets.
SHELL    := /bin/bash
GO       ?= go
FUZZTIME ?= 20s

.PHONY: help build demo test lab-test bench fuzz lint docs setup

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/weft
	CGO_ENABLED=0 $(GO) build -o bin/weft ./cmd/weft

demo: build ## the main job on an embedded cluster: no root, no network
	bin/weft demo

test: setup ## every test that this machine can run
	$(GO) test ./...

setup: ## what the tests need besides Go: a real OpenSSH server
	@scripts/test-setup

lab-test: ## the virtual RDMA cluster
	@echo 'make lab-test: the lab is not built yet (issue 3)' >&2; exit 1

bench: setup ## the figures of the main paths, each beside its peer
	$(GO) test -run '^$$' -bench "Figure|Fanout" -benchtime 1x ./internal/collect ./internal/check ./internal/exec

fuzz: ## every fuzz target for FUZZTIME
	@scripts/fuzz $(FUZZTIME)

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

docs: build ## write docs/cli and docs/man anew
	rm -rf docs/cli docs/man && bin/weft docs docs

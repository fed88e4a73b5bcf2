# weft: make help lists the targets.
SHELL    := /bin/bash
GO       ?= go
FUZZTIME ?= 20s
apply    := ^TestReal(Apply|ApplyManagers|WrongPlan|Lost|NewCluster|Traps)$$

.PHONY: help build dist demo lab test lab-test apply-test bench fuzz lint docs setup

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/weft
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o bin/weft ./cmd/weft

dist: ## build weft for both architectures, for clusters that have both
	CGO_ENABLED=0 GOARCH=amd64 $(GO) build -ldflags '-s -w' -o bin/weft-linux-amd64 ./cmd/weft
	CGO_ENABLED=0 GOARCH=arm64 $(GO) build -ldflags '-s -w' -o bin/weft-linux-arm64 ./cmd/weft

demo: build ## the main job on an embedded cluster: no root, no network
	bin/weft demo

lab: build ## a virtual RDMA cluster on this machine, and weft check on it
	@scripts/lab

test: setup ## every test that this machine can run, and a short part of the lab's
	$(GO) test ./...
	WEFT_LAB_TEST=short $(GO) test -v -count=1 -timeout 60m -p 1 -run '^TestReal' ./internal/lab ./internal/lab/ib

lab-test: setup ## every fault, every trial and all bad luck, on real machines: more than two hours
	@scripts/test-setup openmpi-bin libopenmpi-dev
	WEFT_LAB_TEST=full $(GO) test -v -count=1 -timeout 240m -p 1 -run '^TestReal' -skip '$(apply)' ./internal/lab ./internal/lab/ib

apply-test: setup ## plan, apply and undo on real machines, which are lost at every point
	WEFT_LAB_TEST=full $(GO) test -v -count=1 -timeout 60m -p 1 -run '$(apply)' ./internal/lab

setup: ## what the tests need besides Go: OpenSSH, qemu, opensm and ibsim
	@scripts/test-setup

bench: setup ## the figures of the main paths, each beside its peer
	$(GO) test -run '^$$' -bench "Figure|Fanout" -benchtime 1x ./internal/collect ./internal/check ./internal/plan ./internal/trial ./internal/verbs ./internal/bench ./internal/watch ./internal/exec ./internal/cli ./internal/lab/wire

fuzz: ## every fuzz target for FUZZTIME
	@scripts/fuzz $(FUZZTIME)

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

docs: build ## write docs/cli and docs/man anew
	rm -rf docs/cli docs/man && bin/weft docs docs

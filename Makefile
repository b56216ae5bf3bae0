# rackproof: every target works on a fresh Debian 12 with Go 1.26, as root.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GOLANGCI := v2.15.0
TEMPORAL := v1.5.1
BIN := bin
TOOLS := $(CURDIR)/$(BIN)/tools
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
export CGO_ENABLED ?= 0

help: ## This list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## The static binaries for this machine, in bin/
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

cross: ## All three systems, without cgo
	for os in linux darwin windows; do \
	  GOOS=$$os GOARCH=amd64 go build -trimpath -o /dev/null ./cmd/rackproof || exit 1; echo "built for $$os"; done
	GOOS=linux GOARCH=arm64 go build -trimpath -o /dev/null ./cmd/rackproof
	GOOS=darwin GOARCH=arm64 go build -trimpath -o /dev/null ./cmd/rackproof

demo: build ## A simulated rack: twelve machines, ten faults, one repair; a minute or two after building
	rm -rf demo-out; code=0; $(BIN)/rackproof demo --keep demo-out || code=$$?; \
	if [ $$code -ne 3 ]; then echo "demo ended with $$code, wanted 3 (faults were planted)" >&2; exit 1; fi; \
	echo "Reports: demo-out/reports/index.html"

lab: lab-deps build ## A real machine in QEMU: from nothing to a test record, each stage with its time
	$(BIN)/rackproof-lab run

# Sweeps carry one act after another through code that the other tests drive under the race
# detector. It would find nothing more in them, and they would take eight times as long.
SWEEPS := ^(TestEveryFault.*|TestSpoiledEvidence|TestMissingEvidence|TestCutAmidLostAnswers|TestKilledAndResumed|TestDiskFull)$$
SWEPT := ./burnin ./redfish ./provision/simrack ./cmd/rackproof

# Its tests wait for a server; beside others, for longer than an engine has patience.
ALONE := ./provision/temporal
SERVED := ^TestTemporal

test: lab-deps lint cross temporal ## Everything CI runs: lint, builds for three systems, all tests, with the race detector but for sweeps
	CGO_ENABLED=1 go test -race -timeout 40m -count=1 -skip '$(SWEEPS)|$(SERVED)' $$(go list ./... | grep -v '$(ALONE:.%=%)$$')
	CGO_ENABLED=1 go test -race -timeout 20m -count=1 $(ALONE)
	go test -timeout 20m -count=1 -run '$(SERVED)' ./cmd/rackproof
	CGO_ENABLED=1 go test -timeout 40m -count=1 -run '$(SWEEPS)' $(SWEPT)

prove: prove-deps build temporal ## The full numbers (500 kills, longer fuzzing); writes docs/proof.md
	.ci/prove

lint: $(TOOLS)/golangci-lint ## vet, golangci-lint with the arrows between packages, file length
	go vet ./...
	$(TOOLS)/golangci-lint run ./...
	@long=$$(git ls-files '*.go' | xargs -r awk 'FNR==1{if(n>400)print f" "n; f=FILENAME} {n=FNR} END{if(n>400)print f" "n}'); \
	if [ -n "$$long" ]; then echo "files over 400 lines:"; echo "$$long"; exit 1; fi

golden: ## Rewrite golden files after a wanted change; read the diff before you commit it
	go test ./... -run 'Golden' -update

bench: ## Benchmarks, side by side
	go test -run '^$$' -bench . -benchtime 3x ./...

# What the tests need, as package:program; a package without a program is looked for by a file of it.
DEPS := openssh-server:sshd openssh-client:ssh-keygen pciutils:lspci dmidecode:dmidecode
LAB_DEPS := $(DEPS) qemu-system-x86:qemu-system-x86_64 qemu-utils:qemu-img ovmf:/usr/share/OVMF/OVMF_CODE_4M.fd ipxe:/boot/ipxe.efi \
  ipxe-qemu:/usr/lib/ipxe/qemu/efi-virtio.rom openipmi:ipmi_sim ipmitool:ipmitool dnsmasq-base:dnsmasq iproute2:ip kmod:depmod
PROVE_DEPS := $(LAB_DEPS) ansible-core:ansible \
  ansible:/usr/lib/python3/dist-packages/ansible_collections/community/general/plugins/modules/redfish_command.py

deps: ; @$(call install,$(DEPS))
lab-deps: ; @$(call install,$(LAB_DEPS))
prove-deps: ; @$(call install,$(PROVE_DEPS))

define install
need=""; for p in $(1); do case $${p#*:} in /*) [ -e $${p#*:} ] ;; *) PATH=$$PATH:/usr/sbin:/sbin command -v $${p#*:} >/dev/null ;; esac || need="$$need $${p%%:*}"; done; \
if [ -n "$$need" ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$need >/dev/null; fi
endef

$(TOOLS)/golangci-lint: Makefile
	GOBIN=$(TOOLS) CGO_ENABLED=0 go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@touch $@

# A Temporal server for the tests of that engine, which are skipped without one. It is built in two or three minutes.
temporal: $(TOOLS)/temporal-$(TEMPORAL)
	@ln -sf temporal-$(TEMPORAL) $(TOOLS)/temporal

$(TOOLS)/temporal-$(TEMPORAL):
	GOBIN=$(TOOLS)/new CGO_ENABLED=0 go install -ldflags '-s -w' github.com/temporalio/cli/cmd/temporal@$(TEMPORAL)
	@mv $(TOOLS)/new/temporal $@ && rmdir $(TOOLS)/new

.PHONY: help build cross demo lab test prove lint golden bench temporal deps lab-deps prove-deps

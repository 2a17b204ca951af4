SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

STACK := deploy/dev/stack.sh

# Pinned here and nowhere else; `go run` fetches it, go.mod stays the product's own.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Passed on to the program that demo or bench runs: make bench ARGS="-rounds 3"
ARGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: up
up: ## start PostgreSQL, RabbitMQ and Redis privately under .dev/, installing what is missing
	@$(STACK) up

.PHONY: down
down: ## stop what `make up` started; the data stays
	@$(STACK) down

.PHONY: status
status: ## say which services are ready, and where
	@$(STACK) status

.PHONY: wipe
wipe: ## stop the services and delete their data
	@$(STACK) wipe

.PHONY: build
build: ## build coupond and couponctl into bin/
	go build -trimpath -o bin/ ./cmd/...

# The longest first, so that the others run beside them; and three at a time even on two processors, because they
# mostly wait for services.
LONGEST := ./internal/e2e ./internal/store ./internal/amqp

.PHONY: test
test: vet format ## run every test against real services, starting them if needed
	$(STACK) tools
	$(STACK) run timeout -k 30s 30m go test -p 3 -timeout 15m $(LONGEST) ./...
	@echo "make test: passed"

.PHONY: test-race
test-race: ## run every test with the race detector
	$(STACK) tools
	$(STACK) run timeout -k 30s 60m go test -race -timeout 30m ./...
	@echo "make test-race: passed"

# Built first and run directly: `go run` would not pass on the signal that ends them.
.PHONY: demo
demo: ## show the product at work on real services, from nothing, and end
	go build -buildvcs=false -o bin/couponctl ./cmd/couponctl
	$(STACK) run bin/couponctl demo $(ARGS)

.PHONY: bench
bench: ## run all arms of the benchmark and print their ratios
	go build -buildvcs=false -o bin/bench ./internal/bench
	$(STACK) run bin/bench $(ARGS)

.PHONY: vet
vet: ## run go vet
	go vet ./...

.PHONY: format
format: ## fail if a Go file is not formatted
	@files=$$(gofmt -l .); [[ -z $$files ]] || { printf 'not formatted, run gofmt -w on:\n%s\n' "$$files"; exit 1; }

.PHONY: lint
lint: vet format ## run go vet, gofmt and staticcheck
	go run $(STATICCHECK) ./...

.PHONY: gen
gen: ## regenerate schemas, diagrams and other checked-in output
	go generate ./...

.PHONY: verify
verify: ## fail if `make gen` would change anything
	@state() { git status --porcelain && git diff && git ls-files -o --exclude-standard -z | xargs -0r cksum; }; \
	before=$$(state); $(MAKE) --no-print-directory gen; after=$$(state); \
	[[ $$before == "$$after" ]] || { echo 'make gen changed files; commit them:'; git status --short; exit 1; }

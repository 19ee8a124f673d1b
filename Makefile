# People and CI run the same targets. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
KEPT   := $(BIN)/python tools/kept_packages.py
UV     := $(BIN)/uv pip compile --quiet pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --no-strip-extras

.DEFAULT_GOAL := help
.PHONY: help install install-dev page dev-page peers system run test test-all check format lint types docs changelog bench bench-web mutants lock clean ci

help: ## Show this list
	@test ! -t 1 || on=$$(printf '\033[1m') off=$$(printf '\033[0m'); \
	awk -F':.*## ' -v on="$$on" -v off="$$off" '/^[a-z-]+:.*## /{printf "  %s%-12s%s %s\n", on, $$1, off, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@tools/make-venv "$(PYTHON)" "$(VENV)"

$(VENV)/.installed: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing Duetty into $(VENV) ..."
	@$(KEPT) take requirements.lock
	@$(PIP) install --require-hashes -r requirements.lock
	@$(KEPT) keep requirements.lock
	@test -z "$$($(BIN)/python hatch_build.py --needs)" || $(PIP) install --require-hashes -r requirements-node.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	@echo "Installing what tests and checks need into $(VENV) ..."
	@$(KEPT) take requirements-dev.lock
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(KEPT) keep requirements-dev.lock
	@touch $@

install: $(VENV)/.installed ## Create .venv and install Duetty into it

install-dev: $(VENV)/.installed-dev ## The same, with what tests and checks need

system: ## Install the shells and tmux that tests use (apt, when root or with sudo)
	@tools/install-test-packages

page: install ## Build the browser page, if its source changed since
	@test -z "$$($(BIN)/python hatch_build.py --needs)" || $(PIP) install --require-hashes -r requirements-node.lock
	@$(BIN)/python hatch_build.py

run: install page ## Start the server; prints address, browser link and MCP configuration
	@$(BIN)/duetty server

peers: ## Install the real MCP peers that tests speak to (npm; skipped where there is none)
	@tools/install-peers

test: ## Run the tests, but for the slow ones (docs/testing.md)
	@$(MAKE) --no-print-directory --jobs=3 dev-page system peers
	@tools/run-tests -m "not slow"

test-all: ## Run every test: also full shell matrices, long fuzz, corpora, soak
	@$(MAKE) --no-print-directory --jobs=3 dev-page system peers
	@tools/run-tests

dev-page: install-dev # after it: both may use pip
	@$(MAKE) --no-print-directory page

check: install-dev lint types ## Everything that needs no real shell: lint, imports, types, fast tests
	@$(BIN)/python -m pytest -q --numprocesses auto -m "not pty and not shells and not tmux and not root and not browser and not slow"

format: install-dev ## Format the code
	@$(BIN)/ruff format src tests benchmarks
	@$(BIN)/ruff check --fix src tests benchmarks

lint: install-dev ## ruff, import contracts, spelling
	@$(BIN)/ruff format --check src tests benchmarks
	@$(BIN)/ruff check src tests benchmarks
	@$(BIN)/lint-imports
	@$(BIN)/codespell src tests benchmarks docs README.md CHANGELOG.md

types: install-dev ## pyright, strict
	@$(BIN)/pyright --pythonpath $(BIN)/python

docs: install-dev ## Write the reference pages from the code
	@$(BIN)/python tools/generate_docs.py docs
	@$(BIN)/python tools/generate_page_types.py
	@$(BIN)/python tools/generate_first_answers.py

changelog: install-dev ## Move what changes/ holds into CHANGELOG.md (VERSION=0.2.0)
	@$(BIN)/towncrier build --yes --version $(VERSION)

bench: install-dev system ## Measure side by side; writes docs/benchmarks.md
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.jobs

bench-web: install-dev page system ## Measure the page in a browser; writes its part of docs/benchmarks.md
	@$(BIN)/python -m benchmarks.web

mutants: install-dev page system peers ## Break each promise on purpose and see its test fail (slow)
	@$(BIN)/python tools/mutants.py

lock: $(BIN)/python ## Renew the hash-pinned lock files
	@$(PIP) install uv
	@$(UV) --all-extras --group pyproject.toml:build --output-file requirements.lock
	@$(UV) --all-extras --group pyproject.toml:build --group pyproject.toml:dev --output-file requirements-dev.lock
	@$(subst pyproject.toml,,$(UV)) --group pyproject.toml:node --output-file requirements-node.lock

clean: ## Remove what make made
	@rm -rf $(VENV) .bootstrap dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache

ci: test lint types ## What .ci/run runs

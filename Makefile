# Needs Python 3.11 or newer, a Rust toolchain and make; everything else is installed into .venv by the first command.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
PYTHON ?= python3
BIN := .venv/bin
# Cargo uses all cores, however many targets make runs at a time.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo
# On all cores; one that is done takes tests from one that is not.
PYTEST := $(BIN)/python -m pytest --numprocesses logical --dist worksteal
export PYTHON
export VIRTUAL_ENV := $(CURDIR)/.venv
unexport PYTHONHOME PYTHONPATH

.PHONY: help environment development build try demo test test-fast test-all test-browser test-rust fuzz mutants check lint bench wheel wheel-manylinux release pages docs docs-rust playground generate lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 20

# What builds, runs and draws; the demonstration needs no more.
environment:
	@tools/environment.sh

# Besides, what tests, lints and documents.
development:
	@tools/environment.sh development

build: environment ## builds everything; the command is then at .venv/bin/xoff
	@tools/build.sh

try: environment ## compiles a core for trying a changed line, for the command .venv/bin/xoff-try
	@tools/try.sh

demo: build ## runs a 3-to-1 incast and its victim under four mechanisms
	@$(BIN)/python tools/demo.py

lint: development ## only lint, formatting, types, and where cargo-deny is installed what the crates of others may be
	@rustfmt --edition 2024 --check $$(find crates -name '*.rs')  # cargo fmt does not find modules that a registry names
	@$(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --log-level error check; else \
	   echo "cargo-deny is not installed: licences and advisories of the crates are not checked (cargo install cargo-deny)"; fi

test: development ## builds everything and runs every check, and every test that is not slow
	@$(MAKE) --jobs=2 build check
	@$(BIN)/python tools/generate.py --check
	@$(PYTEST) -m "not slow"

# Of the crates only the tests of the library of models, which has the mechanisms.
test-fast: development try ## compiles a changed line and runs the tests that notice most mistakes (tests/fast.txt)
	@$(CARGO) test --locked --quiet --package xoff-models --lib
	@XOFF_PLUGINS=$(CURDIR)/.venv/share/xoff/try $(PYTEST) --quiet -m "not slow" $$(grep -v '^#' tests/fast.txt)

test-all: development build ## runs the slow tests, which make test leaves out: skeletons of every kind, killed studies, published claims
	@$(PYTEST) -m slow

fuzz: development build ## for MINUTES (10): damaged files of all kinds, and mixed runs on several threads; what fails is kept in out/fuzz
	@$(BIN)/python -W ignore -m tests.fuzz --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

mutants: development ## changes a copy of the core in 40 places, and says for each change which test fails first; 2.2 CPU-hours
	@$(BIN)/python tools/mutants.py $(if $(SEED),--seed $(SEED))

test-rust:
	@$(CARGO) test --workspace --locked --quiet

# Beside the build, whose crates are compiled one after another for much of the time; Rust tests need no environment.
check: test-rust development
	@$(MAKE) lint

test-browser: development playground ## checks the page of a report and the playground in a headless Chromium, if one is installed
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	   echo "No Chromium is installed: pages are not checked in a browser (Debian: apt-get install chromium)"
	@$(BIN)/python -m pytest tests/browser -rs

bench: build ## measures data packet-hops per CPU-second on the bench cases
	@$(BIN)/xoff bench

wheel: environment ## builds wheels of xoff and of the experiments into dist/, which need neither Rust nor this checkout
	@$(BIN)/python tools/crates.py >/dev/null
	@$(BIN)/python tools/documentation.py >/dev/null
	@$(BIN)/maturin build --release --locked --quiet --out dist
	@$(BIN)/python -m flit_core.wheel --outdir dist experiments >/dev/null
	@ls dist/*.whl

wheel-manylinux: environment ## builds wheels into dist/ that also run on Linux of 2014, by Zig
	@$(BIN)/python tools/crates.py >/dev/null
	@$(BIN)/python tools/documentation.py >/dev/null
	@tools/wheel.sh
	@ls dist/*.whl

release: environment ## writes the last commit as a release into dist/: ADDRESS=https://… of the repository, DOCS=https://…
	@tools/release.sh "$(ADDRESS)" "$(DOCS)"

# An archive is unpacked without a build.
pages: $(if $(ARCHIVE),environment,build) ## builds figures and rows of docs/experiments: RUNS=DIR of finished runs, ARCHIVE=FILE of a release, or RUN=1
	@$(BIN)/python tools/pages.py $(DOCUMENTS) $(if $(ARCHIVE),--archive "$(ARCHIVE)") $(if $(RUNS),--runs "$(RUNS)") \
	   $(if $(RUN),--run) $(if $(QUICK),--quick)

docs: development build ## builds the documentation into site/, with the playground
	@$(BIN)/python tools/site_build.py
	@$(CARGO) doc --workspace --no-deps --locked --quiet --exclude xoff-wasm
	@cp -r "$${CARGO_TARGET_DIR:-target}/doc" site/rust
	@tools/playground.sh site/playground ../playground.html
	@echo "The documentation is in site/index.html"

docs-rust: ## builds the documentation of the crates into target/doc/, and fails at a warning
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet --exclude xoff-wasm

playground: build ## compiles the core to WebAssembly, and writes a page to try xoff in a browser into out/playground/
	@tools/playground.sh

generate: development build ## writes the JSON Schema, the typed Python classes and the parameter reference anew
	@$(BIN)/python tools/generate.py

lock: ## writes requirements.lock and requirements-dev.lock anew with the newest versions
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --group build "pyarrow>=16" "typer>=0.16" "rich>=13" "Jinja2>=3.1" "tomlkit>=0.13"
	@{ echo "# Exact versions of what builds, runs and draws; 'make lock' writes this file anew."; \
	   $(BIN)/python -m pip freeze --exclude xoff --exclude xoff-experiments; } > requirements.lock
	@$(BIN)/python -m pip install --quiet --group development --constraint requirements.lock
	@{ echo "# Exact versions of everything the development environment needs; 'make lock' writes this file anew."; \
	   $(BIN)/python -m pip freeze --exclude xoff --exclude xoff-experiments; } > requirements-dev.lock

clean: ## removes everything that was built
	@cargo clean --quiet
	@rm -rf .venv site out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find python -name '*.so' -delete

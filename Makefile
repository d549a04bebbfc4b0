# Everything the project does, one target each. `make` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

# Tests and the demo start many processes. Without cached bytecode each of them compiles the whole
# package again, which triples the time of the test suite.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install dev run demo test test-long check check-versions fix lock reference docs bench-queue bench-sitemaps bench-storing bench-rescans bench-hosts bench-tar-pits bench-contacts bench-tables bench-dashboard bench-places bench-entities bench-startup chaos wheel clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

# A half-finished install must not look like a finished one, so each step ends by touching its stamp.
$(VENV)/made:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is missing: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; say which with: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made requirements.lock pyproject.toml
	$(PIP) install --quiet --require-hashes --requirement requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/developing: $(VENV)/installed requirements-dev.lock
	$(PIP) install --quiet --require-hashes --requirement requirements-dev.lock
	@touch $@

$(VENV)/benchmarking: $(VENV)/developing requirements-bench.lock
	$(PIP) install --quiet --require-hashes --requirement requirements-bench.lock
	@touch $@

$(VENV)/documenting: $(VENV)/installed requirements-docs.lock
	$(PIP) install --quiet --require-hashes --requirement requirements-docs.lock
	@touch $@

install: $(VENV)/installed ## make .venv with .venv/bin/scrapersky

dev: $(VENV)/developing ## the same with the tools for tests and checks

run: install ## serve the API with its schedulers on http://127.0.0.1:8000
	$(BIN)/scrapersky serve

demo: install ## take a town of sites on this machine to their contacts, offline, and show them
	$(BIN)/scrapersky demo

# Debian's packages that single tests need. Root gets them; others are told by the tests they skip.
$(VENV)/packages: $(VENV)/made
	@missing=""; for each in pgbouncer chromium faketime; do PATH="$$PATH:/usr/sbin" command -v $$each >/dev/null || missing="$$missing $$each"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "apt-get install$$missing"; \
	  DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; \
	  apt-get install -y -qq --no-install-recommends $$missing >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }; \
	fi
	@touch $@

test: check $(VENV)/packages ## everything: lint, types, import rules, all tests
	$(BIN)/pytest -n $${TEST_WORKERS:-3} --dist worksteal --durations=15

test-long: check $(VENV)/packages ## the same with thousands of generated cases, more faults and larger tables
	TEST_LONG=1 $(BIN)/pytest -n $${TEST_WORKERS:-3} --dist worksteal --durations=15

check: dev ## lint, types and import rules only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Without pyupgrade's rules, which would have us write what Python 3.11 cannot read.
check-versions: dev ## lint and types as the newer supported versions of Python see them
	for version in 12 13; do \
	  $(BIN)/ruff check --ignore UP --target-version py3$$version . && $(BIN)/mypy --python-version 3.$$version || exit 1; \
	done

fix: dev ## format, and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: dev ## make docs/reference and .env.example anew from the program
	$(BIN)/python -m scripts.make_reference

# The pages are copied with their folders, so that their links hold, and files they link to are added.
SITE_PAGES := README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md benchmarks/README.md docs
SITE_FILES := .env.example Dockerfile

docs: $(VENV)/documenting ## build the documentation as a static site into build/site
	rm -rf build/docs build/site
	mkdir -p build/docs
	cp --recursive --parents $(SITE_PAGES) build/docs
	$(BIN)/zensical build --clean --strict
	cp $(SITE_FILES) build/site

lock: ## pin the dependencies anew (needs uv on PATH)
	uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra build pyproject.toml -o requirements.lock
	uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra build --extra dev pyproject.toml -o requirements-dev.lock
	uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra build --extra dev --extra bench pyproject.toml -o requirements-bench.lock
	uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra build --extra docs pyproject.toml -o requirements-docs.lock

bench-queue: $(VENV)/benchmarking ## jobs per second and latency beside pgqueuer and procrastinate
	$(BIN)/python -m benchmarks.queue

bench-sitemaps: $(VENV)/benchmarking ## parsing and scanning beside lxml and scrapy, memory, loop holds, bombs
	$(BIN)/python -m benchmarks.sitemaps

bench-storing: dev ## a million URLs into PostgreSQL beside a bare COPY, and looking again
	$(BIN)/python -m benchmarks.storing

bench-rescans: dev ## ninety virtual days of rescans: freshness against looks spent
	$(BIN)/python -m benchmarks.rescans

bench-hosts: dev ## claims host by host beside claims in plain order
	$(BIN)/python -m benchmarks.host_claims

bench-tar-pits: dev ## pages of good hosts alone and beside 500 hosts that hardly answer
	$(BIN)/python -m benchmarks.tar_pits

bench-contacts: $(VENV)/benchmarking ## contacts found beside extract-emails and plain patterns, and their time
	$(BIN)/python -m benchmarks.contacts

bench-tables: dev ## a million contacts: lists, decisions and exports beside the bare SQL
	$(BIN)/python -m benchmarks.tables

bench-dashboard: dev ## pages of tables over a million rows beside the same over a thousand
	$(BIN)/python -m benchmarks.dashboard

bench-places: dev ## what a search of a thousand places pays for, beside the fewest requests possible
	$(BIN)/python -m benchmarks.place_search

bench-entities: dev ## labelled pairs of businesses: precision and recall of taking two for one
	$(BIN)/python -m benchmarks.entity_resolution

bench-startup: dev ## imports, the command line and the first start beside the frameworks and initdb
	$(BIN)/python -m benchmarks.startup

chaos: dev $(VENV)/packages ## everything goes wrong at once for MINUTES=n (CHAOS_SEED repeats a schedule)
	CHAOS_SECONDS=$$(( $${MINUTES:-20} * 60 )) $(BIN)/pytest tests/chaos -s -x

wheel: dev ## build the wheel into dist/
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean: ## remove the virtual environment and caches (data folders stay)
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis build

# make demo       the console, with four things to try; no key   make check      lint, format and types, also the console's
# make test-fast  the tests that start no process; two minutes   make test       all tests (ARGS="-k name" narrows both)
# make crash      the long crash campaigns                       make bench      speed, beside the raw SQLite floor
# make setup      the development environment, into .venv        make clean      remove everything that was built
# make docs       the documentation, into site/                  make console    the web console, into the package
# make lock       pin the requirements again (needs uv)          make release    wheel and sdist, checked and tried out
# make test-pythons  test-fast on every Python that is here      make bench-peers, performance   beside other frameworks
# make fleet-campaign  kill workers, engines and databases       make bench-fleet   PostgreSQL and engines; the page of capacity

PYTHON ?= python3
ARGS   ?=
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
MOCK   := tests/models
MCP    := tests/mcp
ENGINES := tests/engines
FRONTS := tests/front_ends

# What is compiled is kept, also where a shell says otherwise: hundreds of tests start processes.
unexport PYTHONDONTWRITEBYTECODE
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export NO_MKDOCS_2_WARNING := 1

.PHONY: setup demo test test-fast test-pythons crash fleet-campaign check lint types check-console format release
.PHONY: conformance bench bench-fleet bench-peers performance docs pictures console lock clean

setup: $(VENV)/.dev console

# The demo needs the package's own dependencies and the server's; a development environment has them too.
demo: $(if $(wildcard $(VENV)/.dev),$(VENV)/.dev,$(VENV)/.run) console
	$(BIN)/adjourn demo

# A third process uses the time in which two wait for a browser or a database. What is compiled first is compiled once.
# A process that dies is replaced, three times at most: its test is red, and the others are run.
test: $(VENV)/.dev mock console browser postgres programs
	$(BIN)/python -m compileall -q -j 0 src tests
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 3 --alone $(ARGS)

# Nothing but the environment is needed: no Node, no browser, no network.
test-fast: $(VENV)/.dev
	$(BIN)/python -m compileall -q -j 0 src
	$(BIN)/python -m pytest -q -n 3 --dist worksteal --max-worker-restart 0 --fast $(ARGS)

# Each in an environment of its own, .venv-pythons/3.11 and so on.
test-pythons:
	@.ci/test-pythons $(ARGS)

crash: $(VENV)/.dev postgres
	$(BIN)/python -m pytest -q tests --ignore tests/engines --ignore tests/stores/postgres -m crash $(ARGS)

# 200 runs over four workers of each engine on each store, while workers, engines and databases are killed; a cluster of
# Restate that loses its nodes; 500 connections to PostgreSQL that are cut.
fleet-campaign: $(VENV)/.dev postgres mock
	ADJOURN_KEEP_FIGURES=1 $(BIN)/python -m pytest -q tests/engines tests/stores/postgres -m crash $(ARGS)
	$(BIN)/python bench/report.py

# The protocol's own conformance kit, over our MCP server and client. Its Node is newer than most systems', so it is PyPI's.
conformance: $(VENV)/.dev $(MCP)/conformance/node_modules/.installed
	$(PIP) install --quiet --require-hashes -r requirements/console.txt
	$(BIN)/python -m tests.mcp.conformance.campaign $(BIN)/node

check: lint types check-console

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/pyright

check-console: console
	$(if $(shell command -v npm),cd $(CONSOLE) && npm run --silent check,@echo "no npm here: the console is not checked")

# Builds wheel and sdist into dist/, and tries both in fresh environments. Publishes nothing.
release: $(VENV)/.dev console
	$(BIN)/python .ci/release.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python bench/run.py $(ARGS)

# The same turn in other frameworks, each in an environment of its own.
PEERS := $(patsubst bench/peers/requirements/%.txt,%,$(wildcard bench/peers/requirements/*.txt))

bench-peers: $(VENV)/.dev $(PEERS:%=.venv-peers/%/.installed)
	$(BIN)/python bench/run.py --peers $(ARGS)

# PostgreSQL and engines, beside a raw commit of the same server; then the page about capacity is made of it.
bench-fleet: $(VENV)/.dev postgres mock
	$(BIN)/python bench/run.py --fleet $(ARGS)
	$(BIN)/python bench/report.py

.venv-peers/%/.installed: bench/peers/requirements/%.txt
	$(PYTHON) -m venv .venv-peers/$*
	.venv-peers/$*/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@touch $@

# The documentation's pages of what they found.
performance: $(VENV)/.dev
	$(BIN)/python bench/report.py

# The pictures of the documentation: the browser tests make them.
pictures: $(VENV)/.dev console browser
	ADJOURN_PICTURES=1 $(BIN)/python -m pytest -q tests/browser/test_pictures.py tests/browser/test_tasks.py

docs: $(VENV)/.dev
	$(BIN)/python -m tests.house.house_page
	$(BIN)/python -m tests.docs.api_pages
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv .venv-peers .venv-pythons site build dist docs/reference/api .pytest_cache .ruff_cache .hypothesis
	rm -rf tests/deploy/programs $(MOCK)/node_modules $(MCP)/node_modules $(ENGINES)/node_modules $(FRONTS)/node_modules $(CONSOLE)/node_modules $(STATIC)
	find src tests examples bench -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# --- the environment -------------------------------------------------------------------------------------------------

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adjourn needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet --require-hashes -r requirements/run.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $(VENV)/.run $@

# The console. Where the system has no npm, PyPI's is put into the environment.
CONSOLE := console
STATIC  := src/adjourn/server/static

console: $(STATIC)/index.html

$(STATIC)/index.html: $(shell find $(CONSOLE) \( -name node_modules -o -name generated \) -prune -o -type f -print) $(wildcard src/adjourn/views/*.py) hatch_build.py | $(VENV)/bin/python
	$(if $(shell command -v npm),,$(PIP) install --quiet --require-hashes -r requirements/console.txt)
	$(BIN)/python hatch_build.py

# Chromium for the browser tests, from the system's packages.
.PHONY: browser
browser:
	@tests/browser/install.sh

# A PostgreSQL server for its tests, which start their own, from the system's packages.
.PHONY: postgres
postgres:
	@tests/stores/postgres/install.sh

# What checks the files of deploy/, from the system's packages.
.PHONY: programs
programs:
	@tests/deploy/install.sh

# What tests talk to and npm has: the mock provider server, servers of tools, Restate, and clients of front ends. Without npm those tests say why they are skipped.
.PHONY: mock
ifeq ($(shell command -v npm),)
mock:
else
mock: $(MOCK)/node_modules/.installed $(MCP)/node_modules/.installed $(ENGINES)/node_modules/.installed $(FRONTS)/node_modules/.installed
endif

# Not every registry has what vite's bundler needs on other systems, and `npm ci` refuses a lock without it.
$(FRONTS)/node_modules/.installed $(MCP)/conformance/node_modules/.installed: %/node_modules/.installed: %/package.json %/package-lock.json
	cd $* && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

%/node_modules/.installed: %/package.json %/package-lock.json
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# --- the pins --------------------------------------------------------------------------------------------------------

UV      ?= uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
           --no-emit-index-url --no-emit-find-links

lock:
	$(COMPILE) $(ARGS) pyproject.toml requirements/dev.in -o requirements/dev.txt
	$(COMPILE) pyproject.toml requirements/run.in -c requirements/dev.txt -o requirements/run.txt
	$(COMPILE) requirements/console.in -o requirements/console.txt
	$(foreach peer,$(PEERS),$(COMPILE) bench/peers/requirements/$(peer).in -o bench/peers/requirements/$(peer).txt &&) true

# make demo       the console, with four things to try; no key   make check      lint, format and types, also the console's
# make test-fast  the tests that start no process; two minutes   make test       all tests (ARGS="-k name" narrows both)
# make crash      the long crash campaigns                       make bench      speed, beside the raw SQLite floor
# make setup      the development environment, into .venv        make clean      remove everything that was built
# make docs       the documentation, into site/                  make console    the web console, into the package
# make lock       pin the requirements again (needs uv)          make release    wheel and sdist, checked and tried out
# make test-pythons  test-fast on every Python that is here      make bench-peers, performance   beside other frameworks

PYTHON ?= python3
ARGS   ?=
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
MOCK   := tests/models

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export NO_MKDOCS_2_WARNING := 1

.PHONY: setup demo test test-fast test-pythons crash check lint types check-console format release
.PHONY: bench bench-peers performance docs pictures console lock clean

setup: $(VENV)/.dev console

# The demo needs the package's own dependencies and the server's; a development environment has them too.
demo: $(if $(wildcard $(VENV)/.dev),$(VENV)/.dev,$(VENV)/.run) console
	$(BIN)/adjourn demo

test: $(VENV)/.dev mock console browser postgres
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --alone $(ARGS)

# Nothing but the environment is needed: no Node, no browser, no network.
test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --max-worker-restart 0 --fast $(ARGS)

# Each in an environment of its own, .venv-pythons/3.11 and so on.
test-pythons:
	@.ci/test-pythons $(ARGS)

crash: $(VENV)/.dev postgres
	$(BIN)/python -m pytest -q tests/crash tests/runtime/test_soak.py -m crash $(ARGS)

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

.venv-peers/%/.installed: bench/peers/requirements/%.txt
	$(PYTHON) -m venv .venv-peers/$*
	.venv-peers/$*/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@touch $@

# The documentation's page of what they found.
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
	rm -rf $(MOCK)/node_modules $(CONSOLE)/node_modules $(STATIC)
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

# The mock provider server. Without npm the tests that talk to it say why they are skipped.
.PHONY: mock
ifeq ($(and $(wildcard $(MOCK)/package.json),$(shell command -v npm)),)
mock:
else
mock: $(MOCK)/node_modules/.installed
endif

NPM_LOCK := $(wildcard $(MOCK)/package-lock.json)

$(MOCK)/node_modules/.installed: $(wildcard $(MOCK)/package.json) $(NPM_LOCK)
	cd $(MOCK) && npm $(if $(NPM_LOCK),ci,install --no-package-lock) --ignore-scripts --no-audit --no-fund --loglevel=error
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

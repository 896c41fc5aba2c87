# Three commands matter, and each sets everything up by itself: `make demo`; `make fast`, a minute, while
# you work; `make test`, all, before a change goes on.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

# Compiled files are kept, whatever the environment says: without them every process that a test starts
# compiles all of Spoor again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo fast test lint types layers unit wheel release-check bench attacks docs paper-figures paper-figures-full paper-cost leaderboard lock clean

setup: $(STAMP)

# The lock names all that is needed, so that no dependencies are looked for; and what is never imported is never
# compiled: that would be most of it. uv unpacks it in a third of pip's time: what it has kept of an earlier set-up
# first, which needs no index. It does not read pip's configuration: where it reaches no index, pip does the same.
# Where pip reaches none at once, the uv of the machine will do.
LOCKED := --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes
UV_LOCKED := $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements/dev.lock
$(STAMP): requirements/installer.lock requirements/dev.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(LOCKED) --retries 1 -r requirements/installer.lock || \
	    { uv=$$(command -v uv) && ln -sf "$$uv" $(BIN)/uv; }
	$(UV_LOCKED) --offline 2> /dev/null || $(UV_LOCKED) || \
	    $(BIN)/python -m pip install $(LOCKED) -r requirements/dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $(STAMP)

demo: setup
	$(BIN)/spoor demo --out demo

# Types and layers are checked beside the tests; their output is shown after that of the tests.
define with_checks
@mkdir -p build
@$(MAKE) --no-print-directory types layers > build/checks.txt 2>&1 & checks=$$!; \
$(1); tests=$$?; \
wait $$checks; checks=$$?; cat build/checks.txt; exit $$((tests | checks))
endef

fast: lint
	$(call with_checks,$(BIN)/pytest -n 2 -m "not server and not long" tests/unit tests/golden)

test: lint
	$(call with_checks,$(MAKE) --no-print-directory unit)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

# Four processes, a file of tests to one of them: many wait for a server or a delay. In the order of
# tests/conftest.py. What fails beside others is tried once more by itself, and shown as such: on a loaded
# machine a server may answer too late. What fails twice has failed, and so has what could not be collected:
# tried once more, that would be all tests, one after another. In a clean clone one process compiles the
# tests first: four at once would each compile all of them.
# Their files lie in memory where that has four gigabytes for them and runs programs: most tests wait for the
# disk. They are gone once a test has passed.
SHARED := /dev/shm
IN_MEMORY := $(shell df -Pk $(SHARED) 2> /dev/null | awk 'NR == 2 && $$4 > 4000000 { print "yes" }')
ifneq ($(shell findmnt -no OPTIONS $(SHARED) 2> /dev/null | grep -c noexec),0)
IN_MEMORY :=
endif
PYTEST := $(if $(IN_MEMORY),TMPDIR=$(SHARED) )$(BIN)/pytest

unit: setup
	@test -d tests/__pycache__ || $(BIN)/pytest -n 0 --collect-only -qq > /dev/null || true
	$(PYTEST) -n 4 --dist loadfile --no-loadscope-reorder || { \
	    grep -q :: .pytest_cache/v/cache/lastfailed && \
	    echo "--- once more, each by itself ---" && \
	    $(BIN)/pytest -n 0 --last-failed --last-failed-no-failures none; }

# The package as an index would give it: its wheel and, downloaded, what that asks for. `make test` tries
# the same, and every extra, without a download (tests/e2e/test_distribution.py).
wheel: setup
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check \
	    --constraint requirements/constraints.txt build/wheel/*.whl
	cd build/wheel && venv/bin/spoor --version && venv/bin/spoor policies --json > /dev/null

RELEASE := build/release
PYTHONS := python3.11 python3.12 python3.13 python3.14

# What a release is made of, in $(RELEASE)/dist: wheel and sdist, built twice and byte-equal, that an index
# would take, and that install on every Python of $(PYTHONS) that is here, where a crawl, its report and an
# export pass without a warning; and the list of all that the wheel asks for (CycloneDX).
release-check: setup
	rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	$(BIN)/python -m hatchling build -d $(RELEASE)/dist
	$(BIN)/python -m hatchling build -d $(RELEASE)/again
	diff -r $(RELEASE)/dist $(RELEASE)/again
	$(PYTHON) -m venv $(RELEASE)/tools
	$(RELEASE)/tools/bin/python -m pip install --quiet --disable-pip-version-check twine cyclonedx-bom
	$(RELEASE)/tools/bin/twine check --strict $(RELEASE)/dist/*
	for python in $(PYTHONS); do \
	    $$python -c "" 2> /dev/null || { echo "$$python is not here: left out"; continue; }; \
	    $$python -m venv $(RELEASE)/$$python && \
	    $(RELEASE)/$$python/bin/python -m pip install --quiet --disable-pip-version-check \
	        --constraint requirements/constraints.txt $(RELEASE)/dist/*.whl && \
	    $(RELEASE)/$$python/bin/spoor --version && \
	    $(RELEASE)/$$python/bin/spoor policies --json > /dev/null && \
	    PYTHONWARNINGS=error $(RELEASE)/$$python/bin/spoor demo --pages 60 --out $(RELEASE)/demo-$$python > /dev/null && \
	    PYTHONWARNINGS=error $(RELEASE)/$$python/bin/spoor export $(RELEASE)/demo-$$python/trail \
	        $(RELEASE)/demo-$$python.jsonl > /dev/null && \
	    test -s $(RELEASE)/demo-$$python.jsonl -a -s $(RELEASE)/demo-$$python/trail/report.html && \
	    $(RELEASE)/tools/bin/cyclonedx-py environment --output-reproducible \
	        --output-file $(RELEASE)/dist/sbom-$$python.cdx.json $(RELEASE)/$$python || exit 1; \
	done
	ls $(RELEASE)/dist/sbom-*.cdx.json

bench: setup
	@echo "Each benchmark says its own command in its first lines; benchmarks/README.md lists them:"
	@sed -n 's/^    \(\.venv.*\)/  \1/p' benchmarks/README.md

# Every attack of tests/attacks and its siblings, in full: attack, bound, measured. Minutes.
attacks: setup
	PYTHONPATH=tests $(BIN)/python tests/attacks

PAPERS := rennie1999 grigoriadis2004 palotai2005 han2018
LAB := lab-out
KEPT := rennie1999 grigoriadis2004 han2018/fig3

# The papers' experiments (what is finished in $(LAB) is not run again), their pages in docs/papers, the files
# that the tables of cards are made from, and those tables. `paper-figures` runs short forms where there are any.
# A second run gives the same bytes.
paper-figures: FORM := --short
paper-figures paper-figures-full: setup
	for paper in $(PAPERS); do rm -rf $(LAB)/$$paper && $(BIN)/spoor lab run $$paper --out $(LAB) $(FORM) || exit 1; \
	    $(BIN)/spoor lab report $(LAB)/$$paper --docs docs/papers || exit 1; done
	$(BIN)/python -m spoor.lab.card_tables keep $(addprefix $(LAB)/,$(KEPT)) docs
	$(BIN)/python -m spoor.lab.card_tables fill docs

# CPU times of Han et al. (2018): no two runs give the same, so it is not part of the above.
paper-cost: setup
	$(BIN)/spoor lab run han2018-cost --out $(LAB) --jobs 1
	$(BIN)/spoor lab report $(LAB)/han2018-cost --docs docs/papers

leaderboard: setup
	$(BIN)/spoor lab run leaderboard --out $(LAB)
	$(BIN)/spoor lab report $(LAB)/leaderboard --docs docs

docs: setup
	$(BIN)/zensical build --clean --strict

# The locks are for every supported Python at once.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header
lock: setup
	echo uv | $(COMPILE) --generate-hashes --output-file requirements/installer.lock -
	$(COMPILE) --generate-hashes --all-extras --group dev --output-file requirements/dev.lock pyproject.toml
	$(COMPILE) --no-annotate --constraint requirements/dev.lock --extra pdf --extra language \
	    --output-file requirements/constraints.txt pyproject.toml

clean:
	rm -rf .venv build dist site demo bench-out .mypy_cache .pytest_cache .ruff_cache .hypothesis

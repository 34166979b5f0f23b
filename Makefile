# Every verb works from a fresh clone: it makes .venv and installs what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Numba's cache does not notice an edit in a callee of another file, so the cache carries a hash of all.
# The same hash is computed in tests/conftest.py.
define KERNEL_HASH
import glob, hashlib; h = hashlib.sha256(); \
[h.update(open(f, "rb").read()) for f in sorted(glob.glob("src/bayou/kernels/**/*.py", recursive=True))]; \
print(h.hexdigest()[:16])
endef
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/$(shell $(PYTHON) -c '$(KERNEL_HASH)')

define PYTHON_CHECK
import sys; v = sys.version_info; \
sys.exit(0 if v >= (3, 11) else "bayou needs Python 3.11 or newer, but $(PYTHON) is %d.%d. \
Name a newer one: make PYTHON=python3.12" % v[:2])
endef

# The tests of a module share what is fitted for them, so a worker gets neighbours and gives away its last
# ones to an idle one. Each compiles or reads the kernels it needs: more than eight gain nothing.
PARALLEL := -n auto --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup demo fmt lint types imports registry architecture test browser slow generic bounds fuzz coverage bench docs clean

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.dev  ## make .venv with everything a developer needs

demo: $(VENV)/.core  ## fit topics to the documentation of the installed Python libraries
	$(BIN)/bayou demo

fmt: $(VENV)/.dev  ## format the code and apply safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(VENV)/.dev  ## style and formatting, changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## mypy, strict
	$(BIN)/mypy

imports: $(VENV)/.dev  ## imports go to a lower layer only
	$(BIN)/lint-imports

registry: $(VENV)/.dev  ## write what is generated from src/bayou/registry.py
	$(BIN)/python docs/from_registry.py

architecture: $(VENV)/.dev  ## class depth, layers, sizes and names, each with its target
	$(BIN)/python -m tests.architecture.measure

test: $(VENV)/.dev  ## all tests but the slow ones, on all cores
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow and not browser"

browser: $(VENV)/.browser  ## open the report in Chromium; BAYOU_SCREENSHOTS=folder keeps the pictures
	$(BIN)/python -m pytest -q -m browser tests/browser

slow: $(VENV)/.dev  ## the statistical tests that take minutes, then the others as of another machine
	$(BIN)/python -m pytest -q -m slow
	$(MAKE) generic

# Sums of floats are taken in another order by wider registers, and fused where the machine can: what holds
# on this machine and on the least one of its kind does not rest on last bits.
LEAST := NUMBA_CPU_NAME=generic $(if $(filter x86_64,$(shell uname -m)),OPENBLAS_CORETYPE=Prescott)
generic: $(VENV)/.dev  ## all tests but the slow ones, for the least machine of this kind
	$(LEAST) NUMBA_CACHE_DIR=$(NUMBA_CACHE_DIR)-generic \
		$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow and not browser"

bounds: $(VENV)/.dev  ## the tests of kernels and inference with every index checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.numba_cache/bounds $(BIN)/python -m pytest -q \
		-m "not slow and not browser" tests/kernels tests/inference

# make fuzz CASES=50000 SEED=20 is the whole run; FIRST=25000 goes on with a later case.
CASES ?= 1000
SEED ?= 0
FIRST ?= 0
fuzz: $(VENV)/.dev  ## changed model files, loaded and asked; CASES=50000 for the whole run
	$(BIN)/python -m tests.fuzz.run --cases $(CASES) --seed $(SEED) --first $(FIRST)

# Coverage cannot see into machine code, so the kernels run once as plain Python. 64-bit hashing wraps
# around by design, and only plain NumPy scalars remark on it. Left out are statistics of more draws
# than plain Python makes in reasonable time, and alias tables of float32 weights, whose sums are
# double precision in machine code alone.
TOO_MANY_DRAWS := neighbouring or laplace_transform or 39.999 or gamma_moments[ or against and (0.3] or 2.5] or 20.0])
coverage: $(VENV)/.dev  ## the kernels' tests as plain Python, with line coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --source=src/bayou/kernels \
		-m pytest -q -m "not slow" tests/kernels -k "not (float32 or $(TOO_MANY_DRAWS))" \
		-W "ignore:overflow encountered:RuntimeWarning"
	$(BIN)/python -m coverage report --show-missing --skip-covered

bench: $(VENV)/.bench  ## compare speed and held-out likelihood with other libraries
	$(BIN)/python benchmarks/lda.py
	$(BIN)/python benchmarks/lda.py --corpus arxiv_big --topics 100 --seeds 1 --only level
	$(BIN)/python benchmarks/max_margin.py
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/multilabel.py
	$(BIN)/python benchmarks/online_labels.py
	$(BIN)/python benchmarks/hdp.py
	$(BIN)/python benchmarks/online_hdp.py
	$(BIN)/python benchmarks/med_hdp.py
	$(BIN)/python benchmarks/tracking.py
	$(BIN)/python benchmarks/ingest.py
	$(BIN)/python benchmarks/spectral.py

docs: $(VENV)/.docs  ## build the documentation into docs/_build; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build

clean:  ## remove what the verbs have made, .venv included
	rm -rf $(VENV) .numba_cache docs/_build .pytest_cache .mypy_cache .ruff_cache \
		.import_linter_cache .hypothesis .coverage bayou-demo.bayou bayou-demo.html

$(BIN)/python:
	@$(PYTHON) -c '$(PYTHON_CHECK)'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment; on Debian install python3-venv" >&2; exit 1; }

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $(VENV)/.core $@

$(VENV)/.browser: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev,browser]'
	@touch $(VENV)/.core $(VENV)/.dev $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $(VENV)/.core $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[bench]'
	@touch $(VENV)/.core $@

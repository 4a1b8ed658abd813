# Every target works in a fresh clone: it creates .venv, installs what it needs with pinned versions, and runs.
# Options: PYTHON=python3.12 (interpreter), VENV=.venv (where), WORKERS=2 (test processes), ORDER=46 (of test files),
# PIP_OPTIONS=... (for pip install).

VENV ?= .venv
RLLIB ?= .venv-rllib
WORKERS ?= 2
ORDER ?= $(shell date +%s)
PARTS ?= 12
MARKED ?= not exhaustive
PYTHON ?=
PIP_OPTIONS ?=

BIN := $(abspath $(VENV))/bin
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3.11 python3.12 python3.13 python3.14 python3 python)
SUITABLE := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))
# Exactly this torch: a range would take the newest, with gigabytes of CUDA libraries.
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt torch==2.13.0
# In parts, since a process keeps what it has compiled: it stays below 1.5 GB. A failed part stops no other.
RUN_TESTS = $(MAKE) --no-print-directory --jobs=$(WORKERS) --keep-going $(TOGETHER) ORDER=$(ORDER) $(1) \
	$(patsubst %,part-%,$(shell seq $(PARTS)))
TOGETHER := $(if $(filter output-sync,$(.FEATURES)),--output-sync)
TREE := build/tree

# One thread per process: numerical libraries that spin on two busy cores are several times slower.
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-all rllib coverage compiled lint format-check spelling notebooks-stripped types-and-imports check bench paper docs format clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' Makefile | awk -F '\t' '{ printf "make %-8s %s\n", $$1, $$2 }'

demo: $(VENV)/.train  ## train an agent on Artemis, compare it with the heuristics, draw the result
	$(BIN)/flowsched demo

test: compiled  ## run the tests
	@$(RUN_TESTS)

test-all: compiled  ## run the tests, and those that are exhaustive
	@$(call RUN_TESTS,MARKED=)

part-%: $(VENV)/.dev
	@$(BIN)/python -m pytest -m '$(MARKED)' --order $(ORDER) --part $*/$(PARTS)

rllib: $(RLLIB)/.made  ## run the examples on RLlib and TorchRL, in an environment of their own
	$(RLLIB)/bin/python -m flowsched_gym.baselines.ppo_on_rllib --iterations 2 --episodes 2
	$(RLLIB)/bin/python -m flowsched_gym.baselines.ppo_on_torchrl --iterations 2 --episodes 2
	$(RLLIB)/bin/python -m pytest -n 0 -m '' tests/baselines/test_other_trainers.py

# Rules run as plain functions until they are compiled; machine code that is on disk already would hide them.
coverage: $(VENV)/.dev  ## run the tests, and tell which statements of the package Python ran
	rm -rf build/coverage
	NUMBA_CACHE_DIR=$(CURDIR)/build/coverage $(BIN)/python -m pytest -p pytest_cov -n $(WORKERS) --cov --cov-report=term

lint: format-check spelling notebooks-stripped types-and-imports  ## check format, style, spelling, types and imports

check: $(VENV)/.dev  ## what CI runs: lint and test
	$(MAKE) --jobs=2 --output-sync lint compiled
	@$(RUN_TESTS)

bench: $(VENV)/.train  ## measure the speed beside CartPole-v1
	$(BIN)/python -m benchmarks.speed.run
	$(BIN)/python -m benchmarks.speed.vector
	$(BIN)/python -m benchmarks.speed.network
	$(BIN)/python -m benchmarks.speed.transports
	$(BIN)/python -m benchmarks.speed.training

paper: $(VENV)/.train  ## make the tables and figures beside the papers' figures
	$(BIN)/python -m benchmarks.paper.merp
	$(BIN)/python -m benchmarks.paper.auto
	$(BIN)/python -m benchmarks.paper.qcluster
	$(BIN)/python -m benchmarks.paper.tafe
	$(BIN)/python -m benchmarks.paper.run
	$(BIN)/python -m benchmarks.paper.closeness

docs: $(VENV)/.dev  ## build the documentation into docs/_build/html, without warnings
	FLOWSCHED_QUIET=1 $(BIN)/sphinx-build -W --keep-going -q -c docs . docs/_build/html
	@echo "Open docs/_build/html/index.html"

format: $(VENV)/.dev  ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what was built and cached, but not the environment
	rm -rf build dist docs/_build docs/catalogue flowsched_gym.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find flowsched_gym baselines configs tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

compiled: $(VENV)/.dev
	$(BIN)/python -m tests.compile $(WORKERS)

format-check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

spelling: $(VENV)/.dev
	$(BIN)/codespell

notebooks-stripped: $(VENV)/.dev
	$(BIN)/nbstripout --verify notebooks/*.ipynb

# The import package as a wheel lays it out: the checkers see baselines/ and configs/ where users import them.
types-and-imports: $(VENV)/.dev
	@rm -rf $(TREE) && mkdir -p $(TREE)/flowsched_gym
	@ln -s $(CURDIR)/flowsched_gym/* $(CURDIR)/baselines $(CURDIR)/configs $(TREE)/flowsched_gym/
	@ln -s $(CURDIR)/tests $(CURDIR)/benchmarks $(TREE)/
	cd $(TREE) && $(BIN)/mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache \
		-p flowsched_gym -p tests -p benchmarks
	cd $(TREE) && $(BIN)/lint-imports --config $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.import_linter_cache

$(VENV)/.created:
	@for candidate in $(CANDIDATES); do \
		if $$candidate -c '$(SUITABLE)' > /dev/null 2>&1; then \
			echo "Creating $(VENV) with $$candidate"; \
			$$candidate -m venv $(VENV) && touch $@; \
			exit; \
		fi; \
	done; \
	echo "flowsched-gym needs Python 3.11 to 3.14 with the venv module; tried: $(CANDIDATES)." >&2; \
	echo "Install one of them, or name one: make PYTHON=/path/to/python3.12 ..." >&2; \
	exit 1

$(VENV)/.train: $(VENV)/.created pyproject.toml constraints.txt
	$(INSTALL) -e '.[train]'
	@touch $@

# RLlib asks for another Gymnasium than the one that everything else is tested with.
$(RLLIB)/.made: pyproject.toml constraints.txt
	$(MAKE) VENV=$(RLLIB) $(RLLIB)/.created
	grep -v '^gymnasium==' constraints.txt > $(RLLIB)/constraints.txt
	$(RLLIB)/bin/python -m pip install --disable-pip-version-check $(PIP_OPTIONS) -c $(RLLIB)/constraints.txt \
		torch==2.13.0 -e '.[rllib,torchrl]' hypothesis pytest pytest-timeout pytest-xdist
	@touch $@

$(VENV)/.dev: $(VENV)/.created pyproject.toml constraints.txt
	$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.train $@

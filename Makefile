# `make` lists the targets. Everything that needs the environment makes it first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types tests slow format benchmarks figures constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

setup: $(READY) ## make .venv and install the package with its tools

demo: $(READY) ## cluster the digits from 500 links and write demo/report.html
	$(BIN)/s3c2 demo -o demo

test: $(READY) lint types tests ## lint, types and tests; CI runs the slow ones, too

lint: $(READY) ## ruff, the check and the format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy --strict on src
	MYPY_NUM_WORKERS=auto $(BIN)/mypy

tests: $(READY) ## the tests alone, but for the slow ones
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow'

slow: $(READY) ## the tests that start clusters and kill processes, or take long for another reason
	$(BIN)/python -m pytest -n auto --dist loadgroup -m slow tests

format: $(READY) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmarks: $(READY) ## speed, memory and agreement with plain torch, into benchmarks/results
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/products.py
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/ranks.py
	$(BIN)/python benchmarks/stacks.py --repeats 9
	$(BIN)/python benchmarks/asking.py

figures: $(READY) ## the paper's figures, into experiments/results; FLAGS=--quick for minutes
	$(BIN)/python -m experiments all $(FLAGS)

constraints: $(READY) ## write constraints.txt anew from what is installed
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > constraints.txt

clean: ## remove the environment and what was made
	rm -rf $(VENV) demo build dist experiments/quick experiments/pretrained experiments/results/*unfinished-* experiments/results/.unfinished-* .mypy_cache .pytest_cache .ruff_cache .hypothesis

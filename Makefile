# Two commands do everything on a machine that has only Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench bench-mixed bench-selection docs clean

demo: .venv/demo.stamp  ## compare the family on penguins, print the table, write two pictures
	$(BIN)/python examples/penguins.py

test: .venv/test.stamp  ## all tests, slow ones too, and all doctests
	$(BIN)/python -m pytest -n auto

lint: .venv/test.stamp .venv/lint.stamp  ## style, types, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/test.stamp  ## ratios to scikit-learn, measured in one run
	$(BIN)/python benchmarks/core.py

bench-mixed: .venv/test.stamp  ## mixed tables and missing values: time, memory, log loss
	$(BIN)/python benchmarks/mixed.py

bench-selection: .venv/test.stamp  ## one comparison of the whole family beside GridSearchCV: time, log loss, memory
	$(BIN)/python benchmarks/selection.py

docs: .venv/docs.stamp  ## the documentation, every example executed
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

.venv/%.stamp: pyproject.toml | .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

.venv:
	$(PYTHON) -m venv .venv

clean:
	rm -rf .venv docs/_build build dist

# Two commands do everything on a machine that has only Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
CHECKED := arrays bayes decision evaluation laws leave_one_out mixed_laws naive_bayes projection schema \
	statistics worked_examples

RELEASE ?= bare cli

.PHONY: demo check test lint release bench bench-speed bench-mixed bench-selection bench-columns bench-sql bench-database bench-scale bench-gpu bench-studio bench-text docs clean

demo: .venv/demo.stamp  ## compare the family on penguins, print the table, write a report with pictures
	$(BIN)/classwise datasets penguins -o penguins.csv --force
	$(BIN)/classwise compare penguins.csv --target species --drop year --save penguins.cw --html report.html --force

test: .venv/test.stamp  ## all tests, slow ones too, and all doctests
	$(BIN)/python -m pytest -n logical --dist loadgroup --durations=20

check: .venv/test.stamp  ## the tests to run between two edits: under a minute
	$(BIN)/python -m pytest -q -n logical -m "not slow" $(addprefix tests/test_,$(addsuffix .py,$(CHECKED)))

lint: .venv/test.stamp .venv/lint.stamp  ## style, types (also of a user's script), import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports

release: .venv/release.stamp  ## wheel and sdist, checked, and installed in clean environments: RELEASE="bare cli all"
	$(BIN)/python scripts/check_release.py $(RELEASE)

bench: .venv/test.stamp  ## ratios to scikit-learn, measured in one run
	$(BIN)/python benchmarks/core.py

bench-speed: .venv/bench.stamp  ## all of docs/speed.md but the tables of the other benchmarks; takes half an hour
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/speed_page.py

bench-mixed: .venv/test.stamp  ## mixed tables and missing values: time, memory, log loss
	$(BIN)/python benchmarks/mixed.py

bench-selection: .venv/test.stamp  ## one comparison of the whole family beside GridSearchCV: time, log loss, memory
	$(BIN)/python benchmarks/selection.py

bench-columns: .venv/test.stamp  ## all sets of 15 columns, beside scikit-learn on some of them
	$(BIN)/python benchmarks/columns.py

bench-sql: .venv/test.stamp  ## rows scored in DuckDB by a query, beside rows fetched and scored in Python
	$(BIN)/python benchmarks/sql.py

bench-database: .venv/test.stamp  ## statistics that a database computes itself, beside rows read from it
	$(BIN)/python benchmarks/in_database.py

bench-scale: .venv/bench.stamp  ## files larger than memory: learning beside merely reading; Dask and Spark beside their own
	$(BIN)/python benchmarks/scale.py --clusters

bench-gpu: .venv/test.stamp  ## rows on a CUDA device, beside the memory floor and plain torch; torch has to be there
	$(BIN)/python benchmarks/gpu.py
bench-studio: .venv/test.stamp  ## a dial's redraw in Chromium with a million rows, and the first view of a large file
	$(BIN)/python benchmarks/studio.py

bench-text: .venv/test.stamp  ## sparse counts of words: fit and predict beside scikit-learn's naive Bayes
	$(BIN)/python benchmarks/text.py

docs: .venv/docs.stamp  ## the documentation, every example executed
	$(BIN)/sphinx-build -j auto -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_pages.py docs/_build/html

.venv/%.stamp: pyproject.toml | .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

.venv:
	$(PYTHON) -m venv .venv

clean:
	rm -rf .venv docs/_build build dist

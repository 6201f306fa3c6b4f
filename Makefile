# make install | run | test | test-quick | test-ddp | test-kill | test-mutate | lint | type | bench | bench-methods
#      | docs | docs-serve | notebooks | evidence | evidence-page | clean
PYTHON ?= python3
BIN := .venv/bin
DATA ?= shortcut
SETTING ?= 3
SIZE ?= full
TABLES ?= ../shared/data
TWO := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: install run test test-quick test-ddp test-kill test-mutate lint type bench bench-methods evidence evidence-page \
	docs docs-serve notebooks clean

install: .venv/installed

# torch first, by itself, so that no other package chooses its build.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python tests/helpers/torchvision_operators.py
	touch $@

# One thread: two only get in each other's way on networks as small as these.
run: install
	OMP_NUM_THREADS=1 $(BIN)/python examples/quickstart.py $(DATA) --setting $(SETTING)

# All tests, each file in one of two processes.
test: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(TWO)

# What one runs while working: no test that starts processes or trains for longer.
test-quick: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(TWO) -m "not slow"

# Several processes; also part of `make test`.
test-ddp: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/processes --deselect tests/processes/test_kill.py

# Some minutes; the short form in tests/processes/test_kill.py is part of `make test`.
test-kill: install
	$(BIN)/python tests/helpers/kill.py --kills 30 --signals 30 --study-stops 6

# Damages each file of a run and a study in 200 ways each, and names harmful classes by every route; tests/cli has the
# short forms.
test-mutate: install
	PYTHONPATH=. OMP_NUM_THREADS=1 $(BIN)/python tests/helpers/mutate.py --times 200 --study 2> /dev/null
	EVERY_ROUTE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 tests/cli/test_trusted.py -k any_route

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: install
	$(BIN)/mypy

# Times, as one table that is also put into benchmarks/RESULTS.md; under ten minutes on two cores.
bench: install
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py

# How the methods do, and how often intervals hold.
bench-methods: install
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/trial.py shortcut --seeds 5

# The documentation as a site, in site/; any broken link or anchor stops it.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

docs-serve: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# Three of the tutorials as notebooks, run anew; a minute.
notebooks: install
	OMP_NUM_THREADS=1 $(BIN)/python docs/site/notebooks.py

# All experiments of docs/evidence.md, with the real data in TABLES: hours, and it goes on where it stopped. With
# SIZE=small all of them in small, in minutes, below studies/.
evidence: install
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.evidence.train --size $(SIZE) --data $(TABLES)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.evidence.choosing --size $(SIZE)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.evidence.page --size $(SIZE)

# The page from what is kept, without training.
evidence-page: install
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.evidence.page

clean:
	rm -rf .venv runs site .pytest_cache .mypy_cache .ruff_cache .hypothesis

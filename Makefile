# make demo      sets up what the demo needs and compares every rung on built-in data
# make test      sets up the rest; lint, and the first tier of the tests (at most 10 CPU-minutes)
# make test-all  every test: full products, both languages, fuzzing, kills, browsers, two processes
# make test-processors  the contract's first tier with three instruction sets and numbers of threads
# make quick     while you work: lint, a part of the contract, the tests of what changed since main
# make lint      ruff (rules and format), import-linter, mypy on catalog, options and errors
# make report    prints counts of the code that a maintainer may want to look at; none can fail
# make soak      long runs: training killed, a server under load for WENMAI_SOAK_MINUTES (30)
# make readme    puts what the last demo found into the READMEs
# make mutants   mutation testing: which wrong programs no test notices; about an hour
# make locale    brings the Chinese catalogue up to date with the messages in the code
# make stubs     tells editors every option of every estimator
PYTHON ?= python3
VENV := .venv
SMALLEST := tables or ((padding or same_seed or answers_as_it_did) and not chosen)
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
TEST := $(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile
# Numba's cache belongs to whole folders: the version of one is a digest of all of its files.
COMPILED = $(shell grep -rlE '^@(njit|c_function)' src | xargs -n1 dirname | sort -u | sed 's:$$:/*.py:')
# Tests start hundreds of processes, so bytecode is kept even where the environment turns that off.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo readme test test-all test-processors quick lint report locale stubs soak mutants bench clean

demo: $(VENV)/demo-ready
	$(VENV)/bin/wenmai demo

readme: $(VENV)/demo-ready
	$(VENV)/bin/python tools/demo_table.py

lint: $(VENV)/test-ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy

report: $(VENV)/test-ready
	$(VENV)/bin/python tools/report.py

test: lint $(VENV)/kernels-ready
	$(TEST) --tier first

test-all: lint $(VENV)/kernels-ready
	$(TEST)

test-processors: $(VENV)/kernels-ready
	OMP_NUM_THREADS=2 $(VENV)/bin/python -m pytest --tier first tests/test_contract.py
	OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX2 $(TEST) --tier first tests/test_contract.py
	OMP_NUM_THREADS=1 ATEN_CPU_CAPABILITY=default $(TEST) --tier first tests/test_contract.py

quick: lint $(VENV)/kernels-ready
	$(TEST) --tier first -k "$(SMALLEST)" tests/test_contract.py
	touched=$$($(VENV)/bin/python tools/touched.py) && { test -z "$$touched" || $(TEST) --tier first $$touched; }

locale: $(VENV)/demo-ready
	$(VENV)/bin/python tools/catalogue.py

mutants: $(VENV)/test-ready
	$(VENV)/bin/python tools/mutants.py --bugs
	$(VENV)/bin/python tools/mutants.py

stubs: $(VENV)/demo-ready
	$(VENV)/bin/python tools/stubs.py

soak: $(VENV)/test-ready
	$(VENV)/bin/python -m pytest -m soak

bench: $(VENV)/bench-ready
	$(VENV)/bin/python benchmarks/startup.py
	$(VENV)/bin/python benchmarks/softmax.py
	$(VENV)/bin/python benchmarks/transformer.py
	$(VENV)/bin/python benchmarks/tagging.py
	$(VENV)/bin/python benchmarks/ngram.py
	$(VENV)/bin/python benchmarks/trust.py
	$(VENV)/bin/python benchmarks/rungs.py
	$(VENV)/bin/python benchmarks/language_models.py
	$(VENV)/bin/python benchmarks/translation.py
	$(VENV)/bin/python benchmarks/serving.py

$(VENV)/demo-ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wenmai needs Python 3.11 or newer; name one: make PYTHON=python3.11 demo")'
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch==2.13.0
	$(PIP) --editable .
	touch $@

$(VENV)/test-ready: $(VENV)/demo-ready
	$(PIP) --editable '.[dev]'
	$(PIP) kenlm || echo 'kenlm, which some tests compare with, needs a C++ compiler and cmake; those tests are skipped.'
	touch $@

# Numba compiles in one process what all workers then find in the cache.
$(VENV)/kernels-ready: $(VENV)/test-ready tools/compile_kernels.py $(wildcard $(COMPILED))
	$(VENV)/bin/python tools/compile_kernels.py
	touch $@

$(VENV)/bench-ready: $(VENV)/test-ready
	$(PIP) --editable '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) runs reports build .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis

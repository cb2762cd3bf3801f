# make demo   sets up what the demo needs and compares every rung on built-in data
# make test   sets up the rest and runs the tests
# make locale brings the Chinese catalogue up to date with what the code says
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test locale soak bench clean

demo: $(VENV)/demo-ready
	$(VENV)/bin/wenmai demo

test: $(VENV)/test-ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile

locale: $(VENV)/demo-ready
	$(VENV)/bin/python tools/catalogue.py

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

$(VENV)/bench-ready: $(VENV)/test-ready
	$(PIP) --editable '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) runs reports build .pytest_cache .ruff_cache .hypothesis

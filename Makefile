# Each target makes .venv when it is missing; nothing needs to be installed by hand but Python 3.11.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=

.PHONY: serve test lint laws fuzz bench lock

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

serve: .venv/ready  ## fetch the embedded model once and serve it on 127.0.0.1:8080
	$(BIN)/untemplate serve $(ARGS)

test: .venv/ready  ## all tests but the long ones; without the model its tests are skipped
	-$(BIN)/untemplate models pull smollm2
	$(BIN)/pytest -m "not laws" $(ARGS)

lint: .venv/ready  ## format, lint, and both type checkers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright

laws: .venv/ready  ## the long runs of the laws
	UNTEMPLATE_DRAW=1 $(BIN)/pytest -m laws $(ARGS)

fuzz: .venv/ready  ## breed inputs for the reader by coverage; ARGS=-runs=-1 goes on without an end
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group fuzz
	$(BIN)/python tests/reader/coverage_guided.py .cache/fuzz -max_len=400 $(or $(ARGS),-runs=1000000)

.venv/peers: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

bench: .venv/peers  ## every table of docs/benchmarks.md
	$(BIN)/python -m bench $(ARGS)

lock:  ## renew requirements.lock from pyproject.toml
	$(PYTHON) -m venv .cache/lock && .cache/lock/bin/pip install --quiet uv
	.cache/lock/bin/uv pip compile pyproject.toml --group dev --extra hf --extra server --extra local \
	  --extra tools --extra client --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-annotate --quiet --custom-compile-command "make lock" -o requirements.lock

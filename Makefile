# Two commands do everything: `make study` and `make test`. Both set up .venv on first use and reuse it afterwards.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# with it set, every process would translate every file again, and both workers of pytest every test
export PYTHONDONTWRITEBYTECODE :=

.PHONY: study lab test test-fast test-all coverage lint format docs bench clean help

study: $(VENV)/.ready-viz       ## set up and study the three-point dataset
	$(BIN)/reluflow study three-points --out out/three-points

lab: $(VENV)/.ready-lab         ## set up and open the laboratory in the browser
	$(BIN)/reluflow lab

test: $(VENV)/.ready-test       ## set up and run the tests (the long ones excepted)
	$(BIN)/python -m pytest -q -n 2

test-fast: $(VENV)/.ready-test  ## the inner loop: under a minute once kernels are compiled; no browser, documents, papers, sweeps
	$(BIN)/python -m pytest -q -n 2 -m "not slow and not thorough"

test-all: $(VENV)/.ready-test   ## run every test
	$(BIN)/python -m pytest -q -n 2 -m "slow or not slow"

coverage: $(VENV)/.ready-dev    ## run the tests and measure which lines they reach (machine code is not seen)
	$(BIN)/python -m pytest -q -n 2 --cov --cov-report=term:skip-covered --cov-report=xml

lint: $(VENV)/.ready-dev        ## ruff, the type checker, the import direction
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

docs: $(VENV)/.ready-docs       ## build the documentation into site/
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.ready-test      ## side-by-side timings, as ratios
	$(BIN)/reluflow bench --history benchmarks/history.jsonl

clean:
	rm -rf $(VENV) out site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/'

# uv when it is there, else venv + pip. A stamp per extra, so that a second call installs nothing. Without --no-compile pip
# translates all packages, one file after the other (26 s of processor time); as with uv, what is imported is translated.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "reluflow needs Python 3.11 or newer, got $$($(PYTHON) --version 2>&1); try: make PYTHON=python3.12"; exit 2; }
	@if command -v uv >/dev/null 2>&1; then uv venv --quiet --python $(PYTHON) $(VENV); \
	else $(PYTHON) -m venv $(VENV); fi

$(VENV)/.ready-%: pyproject.toml | $(BIN)/python
	@echo "Installing reluflow[$*] into $(VENV) (once)"
	@if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(BIN)/python -e '.[$*]'; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[$*]'; fi
	@touch $@

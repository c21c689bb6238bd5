# SPDX-License-Identifier: Apache-2.0
# Each target works alone, first, and again: what it needs is made, what is up to date is left.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SANITIZED := .venv-sanitize
# What the extension is made of: a change here, and here only, calls for a new build.
ENGINE := setup.py pyproject.toml gigastream/engine/build_native.py \
	$(shell find csrc -name '*.[ch]' 2>/dev/null)
INSTALL := -m pip install --quiet --disable-pip-version-check
C_FILES = $(shell find csrc bench -name '*.[ch]' 2>/dev/null)
# Which tests: make test TESTS=tests/cli PYTEST_OPTIONS=-x
TESTS ?= tests
PYTEST_OPTIONS ?=
# How many at once; the tests of a file stay together
JOBS ?= 2
PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile
# How many times chaos kills
N ?= 50

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-spark chaos lint format bench bench-spark sanitize dist clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/installed ## answer three questions about demo/demo.pcap, one on Spark too
	@PATH="$(CURDIR)/$(BIN):$$PATH" demo/run.sh

test: $(VENV)/installed ## run the tests that take seconds, two at a time (JOBS=2)
	@$(PYTEST) $(PYTEST_OPTIONS) $(TESTS)

test-all: $(VENV)/installed ## run all tests: the slow ones, and those that need root if you are
	@$(PYTEST) --slow $(PYTEST_OPTIONS) $(TESTS)

test-spark: $(VENV)/installed ## run every query of the tests on Spark, streaming too
	@$(PYTEST) --slow $(PYTEST_OPTIONS) tests/answers tests/spark* -k spark

chaos: $(VENV)/installed ## kill the driver, workers and the writer N times: make chaos N=50
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.chaos --kills $(N)

lint: $(VENV)/installed ## ruff, mypy, and clang-format if it is installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@if command -v clang-format >/dev/null; then clang-format --dry-run -Werror $(C_FILES); fi

format: $(VENV)/installed ## put Python and C into the house's form
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .
	@if command -v clang-format >/dev/null; then clang-format -i $(C_FILES); fi

bench: $(VENV)/installed ## measure against the hand-written loops and the peers (minutes)
	@$(MAKE) --no-print-directory -C bench PYTHON="$(CURDIR)/$(BIN)/python"

bench-spark: $(VENV)/installed ## measure Spark's source and state (minutes)
	@$(BIN)/python bench/spark/run.py

sanitize: $(SANITIZED)/installed ## run the tests on an engine built with ASan and UBSan
	@LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(SANITIZED)/bin/pytest -q $(PYTEST_OPTIONS) $(TESTS)

dist: $(VENV)/installed ## make the wheel and the source archive in dist/
	@$(BIN)/python $(INSTALL) build
	@$(BIN)/python -m build --outdir dist . | tail -n 1

clean: ## remove the virtual environments and all that was built
	rm -rf $(VENV) $(SANITIZED) build dist gigastream.egg-info gigastream/engine/_native.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/installed: $(ENGINE)
	@echo "setting up $(VENV) (a minute or two, once)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(INSTALL) --editable '.[spark,test]'
	@touch $@

# An installed copy, not the working tree: its extension must not get in the other's way.
$(SANITIZED)/installed: $(ENGINE) $(shell find gigastream configs -name '*.py' -o -name '*.gsql')
	@test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	@GIGASTREAM_SANITIZE=address,undefined \
	$(SANITIZED)/bin/python $(INSTALL) --force-reinstall --no-deps .
	@$(SANITIZED)/bin/python $(INSTALL) '.[test]'
	@touch $@

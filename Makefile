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
C_FILES = $(shell find csrc bench tests -name '*.[ch]' 2>/dev/null)
# Other versions break lines elsewhere.
CLANG_FORMAT = $(shell for name in clang-format-14 clang-format; do \
	$$name --version 2>/dev/null | grep -q 'version 14\.' && echo $$name && break; done)
# Which tests: make test TESTS=tests/cli PYTEST_OPTIONS=-x
TESTS ?= tests
PYTEST_OPTIONS ?=
# Those that run the engine, without the ones that take long to say nothing new of its lines
OF_ENGINE := $(addprefix tests/,engine capture decode output functions live answers/test_golden.py \
	answers/test_star.py sanitize/test_allocations.py test_library_packets.py)
# How many at once; the tests of a file stay together
JOBS ?= 2
PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile
# How many seconds each target is fuzzed: with inputs of that time, with SEED=1 from the same ones on
TIME ?= 60
# The C compiler leaks too, in modules that are gone by then: leaks are counted in Python alone.
# There __tls_get_addr is left alone: of GCC before 13 the interceptor takes some blocks for those of
# an old glibc, and the search for leaks, which reads them, ends with "Tracer caught signal 11".
LEAKS_OF_PYTHON = detect_leaks=0:include_if_exists=\"$(CURDIR)/tests/sanitize/options/%b\"
# How many times chaos kills; how many pools of queries are made, of which family, from which seed on, and
# who is asked: here, spark, spark-stream
N ?= 50
FAMILY ?= packets
SEED ?= 1
ON ?= here

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-spark chaos fuzz queries lint format bench bench-spark papers sanitize sanitize-threads coverage dist deb clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/installed ## answer three questions about demo/demo.pcap, one on Spark too
	@PATH="$(CURDIR)/$(BIN):$$PATH" demo/run.sh

test: $(VENV)/installed ## run the tests that take seconds, two at a time (JOBS=2)
	@$(PYTEST) $(PYTEST_OPTIONS) $(TESTS)

test-all: $(VENV)/installed ## run all tests: the long and the slow ones, and those that need root if you are
	@$(PYTEST) --slow $(PYTEST_OPTIONS) $(TESTS)

test-spark: $(VENV)/installed ## run every query of the tests on Spark, streaming too
	@$(PYTEST) --slow $(PYTEST_OPTIONS) tests/answers tests/spark* -k spark

chaos: $(VENV)/installed ## kill the driver, workers, the writer and its server N times: make chaos N=50
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.chaos --kills $(N)

fuzz: $(VENV)/installed ## try random inputs on every target, each for TIME=60 seconds, two at a time
	@$(BIN)/python -m tests.fuzz --seconds $(TIME) --jobs $(JOBS) \
	$(if $(filter file,$(origin SEED)),,--seed $(SEED))

queries: $(VENV)/installed ## ask N pools of forty queries at random: make queries FAMILY=joins SEED=7 N=50
	@PYTHONPATH=.:tests $(BIN)/python -m tests.answers.by_hand $(FAMILY) $(SEED) $(N) --on $(ON)

lint: $(VENV)/installed ## ruff, mypy, and clang-format 14 if it is installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@if [ -n "$(CLANG_FORMAT)" ]; then $(CLANG_FORMAT) --dry-run -Werror $(C_FILES); \
	else echo "SKIPPED, for want of clang-format 14: the form of the C files"; fi

format: $(VENV)/installed ## put Python and C into the house's form
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .
	@if [ -n "$(CLANG_FORMAT)" ]; then $(CLANG_FORMAT) -i $(C_FILES); fi

bench: $(VENV)/installed ## say which bounds hold beside loops by hand and the peers, with pictures (ten minutes)
	@$(BIN)/python bench/run.py

bench-spark: $(VENV)/installed ## measure Spark's source and state (minutes)
	@$(BIN)/python bench/spark/run.py

papers: $(VENV)/installed ## repeat the papers' experiments: tables and plots in build/papers (half an hour)
	@$(BIN)/python bench/papers/run.py

sanitize: $(SANITIZED)/installed ## run the tests on an engine built with ASan, UBSan and LSan
	@LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS="$(LEAKS_OF_PYTHON):malloc_context_size=2:abort_on_error=1" \
	LSAN_OPTIONS="suppressions=\"$(CURDIR)/tests/sanitize/leaks.supp\":print_suppressions=0" \
	UBSAN_OPTIONS=print_stacktrace=1 GIGASTREAM_TEST_LIMIT=7200 \
	$(SANITIZED)/bin/pytest -q --long $(PYTEST_OPTIONS) $(TESTS)

sanitize-threads: $(VENV)/installed ## run the sessions of several threads under TSan
	@$(PYTEST) --slow $(PYTEST_OPTIONS) tests/sanitize/test_threads.py

coverage: $(VENV)/installed ## say which lines of the engine the tests run (a quarter of an hour)
	@$(BIN)/python -m tests.coverage --long -n $(JOBS) --dist loadfile $(PYTEST_OPTIONS) \
	$(if $(filter file,$(origin TESTS)),$(OF_ENGINE),$(TESTS))

dist: $(VENV)/installed ## make the wheel and the source archive in dist/
	@$(BIN)/python $(INSTALL) build
	@$(BIN)/python -m build --outdir dist . | tail -n 1

deb: ## make the Debian package in dist/: a service, and its environment in /opt/gigastream
	@packaging/deb/build.sh dist

clean: ## remove the virtual environments and all that was built
	rm -rf $(VENV) $(SANITIZED) build dist gigastream.egg-info gigastream/engine/_native.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/installed: $(ENGINE)
	@echo "setting up $(VENV) (a minute or two, once)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(INSTALL) --editable '.[bench,daemon,delta,duckdb,iceberg,postgres,spark,test]'
	@# Images of containers often set PYTHONDONTWRITEBYTECODE: each start would compile all it imports.
	@$(BIN)/python -m compileall -q gigastream spark_sink
	@touch $@

# An installed copy, not the working tree: its extension must not get in the other's way.
$(SANITIZED)/installed: $(ENGINE) $(shell find gigastream configs -name '*.py' -o -name '*.gsql')
	@test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	@GIGASTREAM_SANITIZE=address,undefined \
	$(SANITIZED)/bin/python $(INSTALL) --force-reinstall --no-deps .
	@$(SANITIZED)/bin/python $(INSTALL) '.[test]'
	@touch $@

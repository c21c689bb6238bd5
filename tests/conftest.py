# SPDX-License-Identifier: Apache-2.0
"""Which tests run where: long and slow ones when asked for, privileged ones for root."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
import time_limit
from day import day_of_run
from spark_session import spark  # noqa: F401
from tried_examples import choose_examples

_NOT_ASKED_FOR = pytest.mark.skip(reason="slow: run by `make test-all` (pytest --slow)")
_NOT_LONG = pytest.mark.skip(reason="long: run by .ci/run and `make test-all` (pytest --long)")
_NOT_ROOT = pytest.mark.skip(reason="privileged: makes network interfaces, which needs root")

_LONG = 30
"""So many short tests take about the time of one that is marked long."""

# What runs without a terminal hands ignored signals down to all that it starts, which do not take
# them up again: SIGHUP (nohup), SIGINT (a shell's &). Tests send them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test leaves a process behind that makes an archive of Java's classes; its own turn it on.
os.environ.setdefault("GIGASTREAM_SPARK_ARCHIVE", "off")

# Captures of tests are small; the code that they test is that of large ones.
os.environ.setdefault("GIGASTREAM_OPTIMIZE", "always")

# Workers inherit it.
day_of_run()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")
    parser.addoption("--slow", action="store_true", help="run the tests marked long or slow, too")


def pytest_configure(config: pytest.Config) -> None:
    time_limit.watch(config)
    choose_examples(at_random=config.getoption("--slow"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    is_slow = config.getoption("--slow")
    is_long = is_slow or config.getoption("--long")
    for item in items:
        if "slow" in item.keywords and not is_slow:
            item.add_marker(_NOT_ASKED_FOR)
        elif "long" in item.keywords and not is_long:
            item.add_marker(_NOT_LONG)
        if "privileged" in item.keywords and os.geteuid() != 0:
            item.add_marker(_NOT_ROOT)
    if hasattr(config, "workerinput"):
        _put_long_files_first(items)


def _put_long_files_first(items: list[pytest.Item]) -> None:
    """So that no worker begins a file of minutes while the others run out of files."""
    weights = Counter[Path]()
    for item in items:
        if next(item.iter_markers("skip"), None) is None:
            weights[item.path] += _LONG if "long" in item.keywords else 1
    items.sort(key=lambda item: -weights[item.path])

# SPDX-License-Identifier: Apache-2.0
"""A limit for each test: one that hangs fails, by its name and with the stacks of its threads.

The process of a test that is blocked anywhere ends itself: what watches is a thread of C, which
waits neither for Python nor for a signal to be minded. Under xdist that process is a worker: what
it had started is killed, and another goes on with the tests behind.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

LIMIT_S = 900
SLOW_S = 7200
"""Of a test that is marked slow: some take what a night has."""


def watch(config: pytest.Config) -> None:
    """Give each test a limit: in this process, and in the workers that it has."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        config.pluginmanager.register(Workers())
        stacks: IO[Any] = os.fdopen(os.dup(2), "wb", buffering=0)
    else:
        stacks = _stacks_of(worker["testrunuid"], worker["workerid"]).open("wb", buffering=0)
    config.pluginmanager.register(TimeLimit(stacks))


def _stacks_of(run: str, worker: str) -> Path:
    return Path(tempfile.gettempdir()) / f"{run}-{worker}.stacks"


def _file_of(node: WorkerController) -> Path:
    return _stacks_of(node.workerinput["testrunuid"], node.workerinput["workerid"])


class TimeLimit:
    """In the process that runs tests."""

    def __init__(self, stacks: IO[Any]) -> None:
        self._stacks = stacks

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._begin(item)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector) -> None:
        """Pytest ends the watch where a test fails; its fixtures may hang all the same."""
        if isinstance(node, pytest.Item):
            self._begin(node)

    def _begin(self, item: pytest.Item) -> None:
        limit_s = SLOW_S if "slow" in item.keywords else LIMIT_S
        limit_s = float(os.environ.get("GIGASTREAM_TEST_LIMIT", limit_s))
        faulthandler.dump_traceback_later(limit_s, exit=True, file=self._stacks)


class Workers:
    """In the process that hands tests to workers."""

    def __init__(self) -> None:
        self._stacks: dict[str, str] = {}
        self._files: list[Path] = []

    @pytest.hookimpl
    def pytest_configure_node(self, node: WorkerController) -> None:
        """Know its file before there is one."""
        self._files.append(_file_of(node))

    def pytest_unconfigure(self) -> None:
        """Of workers that a run which is broken off ends (Ctrl-C) nobody is told."""
        for file in self._files:
            file.unlink(missing_ok=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Producer
    ) -> LoadFileScheduling | None:
        return OnceEach(config, log) if config.getoption("dist") == "loadfile" else None

    def pytest_testnodedown(self, node: WorkerController) -> None:
        """What a worker leaves behind may hold what others wait for."""
        run, worker = node.workerinput["testrunuid"], node.workerinput["workerid"]
        with suppress(FileNotFoundError):  # it has not come so far
            self._stacks[worker] = _file_of(node).read_text()
            _file_of(node).unlink()
        _kill_all_with(f"PYTEST_XDIST_TESTRUNUID={run}", f"PYTEST_XDIST_WORKER={worker}")

    def pytest_handlecrashitem(self, report: Any) -> None:
        """Say where it hung; of what else ends a worker there are no stacks."""
        stacks = self._stacks.get(report.node.workerinput["workerid"], "")
        report.longrepr = f"{report.longrepr}\n{stacks}"
        print(f"\n{report.longrepr}", file=sys.stderr)  # at once: the run may yet be broken off


def _kill_all_with(*variables: str) -> None:
    """Every process that was started with all of them in its environment."""
    wanted = {variable.encode() for variable in variables}
    for process in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):  # it is gone, or another user's
            if wanted <= set(Path(f"/proc/{process}/environ").read_bytes().split(b"\0")):
                os.kill(int(process), signal.SIGKILL)


class OnceEach(LoadFileScheduling):
    """Files in the order in which they are collected, not the fullest first.

    A test that takes its worker with it is not handed to the next one.
    """

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a worker; return the test that it was at, if it has not done all of its own."""
        units = self.assigned_work.pop(node)
        left = [(scope, test) for scope, unit in units.items() for test in unit if not unit[test]]
        if not left:
            return None
        scope, ended = left[0]
        units[scope][ended] = True
        self.workqueue.update({scope: units[scope] for scope, test in left if test != ended})
        for other in self.assigned_work:
            self._reschedule(other)
        return ended

    def _reschedule(self, node: WorkerController) -> None:
        """One that replaces another is asked for nothing before it knows the tests."""
        if node in self.registered_collections:
            super()._reschedule(node)

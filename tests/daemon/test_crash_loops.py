# SPDX-License-Identifier: Apache-2.0
"""A set that crashes the capture process takes no other along."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from gigastream.daemon.hangs import HANGS
from tests.daemon.resident import COUNTS, Daemon, end, started
from tests.daemon.test_losses import sending
from tests.live.namespace import Namespace
from tests.processes import descendants
from tests.waiting import wait_until

DECLARED = "uint FUN [LFTA_LEGAL] broken(uint);\n"
HEADER = """#include "gs_functions.h"
static inline uint32_t gs_function_broken_uint(uint32_t x)
{ if (x > 0) __builtin_trap(); return x; }
"""
BROKEN = "DEFINE { query_name broken; } SELECT time, broken(len) AS b FROM PKT"
pytestmark = [pytest.mark.privileged, pytest.mark.long]


def test_a_set_that_crashes_at_once_is_sought_out(space: Namespace, common_folder: Path) -> None:
    """After three times, and left out; the others are there, and have packets."""
    (common_folder / "own.gsql").write_text(DECLARED)
    (common_folder / "own.h").write_text(HEADER)
    config = common_folder / "gigastream.toml"
    sets = {"first": COUNTS, "broken": BROKEN, "last": COUNTS}
    tables = "".join(f"[[query]]\nname = '{n}'\ntext = '''{t}'''\n" for n, t in sets.items())
    head = f"definitions = ['own.gsql']\n[[link]]\ndevice = '{space.near}'\n"
    config.write_text(head + tables)
    daemon = started(space, common_folder, "-c", config)
    try:
        with sending(space):
            wait_until(lambda: "broken" not in daemon.status().sets, "that it is left out")
            crashes = daemon.status().restarts
            wait_until(lambda: len(daemon.report().sets) == len(sets) - 1, "the others")
            before = daemon.read()
            wait_until(lambda: daemon.read() > before, "packets")
        assert list(daemon.status().sets) == ["first", "last"]
        assert "the set broken is left out: the capture process has crashed" in daemon.told()
        assert daemon.status().restarts == crashes
        assert daemon.stop() == 0
    finally:
        end(daemon)


def test_a_set_that_hangs_is_sought_out(space: Namespace, common_folder: Path) -> None:
    """By whose turn it was when the watchdog ended the process, three times in a row."""
    (common_folder / "own.gsql").write_text(DECLARED)
    loop = "volatile int on = 1; while (x > 0 && on) ;"
    (common_folder / "own.h").write_text(HEADER.replace("if (x > 0) __builtin_trap();", loop))
    config = common_folder / "gigastream.toml"
    sets = {"broken": BROKEN, "last": COUNTS}
    tables = "".join(f"[[query]]\nname = '{n}'\ntext = '''{t}'''\n" for n, t in sets.items())
    head = "watchdog = '5s'\ndefinitions = ['own.gsql']\n"
    config.write_text(f"{head}[[link]]\ndevice = '{space.near}'\n{tables}")
    daemon = started(space, common_folder, "-c", config)
    try:
        with sending(space):
            wait_until(lambda: "broken" not in daemon.status().sets, "that it is left out")
            wait_until(lambda: [s.name for s in daemon.report().sets] == ["last"], "the other")
        hangs = daemon.told().count("the capture process hung in the turn of the set broken")
        assert hangs == daemon.status().restarts == HANGS
        assert "the set broken is left out: the capture process hung in its turn" in daemon.told()
        assert "to find whose" not in daemon.told()
        assert daemon.stop() == 0
    finally:
        end(daemon)


def grandchildren(process: int) -> list[int]:
    """Of a daemon: what its launcher has forked."""
    return [each for child in descendants(process) for each in descendants(child)]


def reports(daemon: Daemon) -> int | None:
    """Which capture process has reported last."""
    report = daemon.status().report
    return None if report is None else report.incarnation


def test_one_that_is_killed_before_it_reads_is_followed(
    space: Namespace, common_folder: Path
) -> None:
    """That somebody killed it is no reason to end."""
    daemon = started(space, common_folder, waits=False)
    try:
        while not (found := grandchildren(daemon.process.pid)):  # the launcher's child
            assert daemon.process.poll() is None
        os.kill(found[0], signal.SIGKILL)
        wait_until(lambda: "running:" in daemon.told(), "that it runs")
        wait_until(lambda: "signal 9 (SIGKILL); the next one begins" in daemon.told(), "a word")
        wait_until(lambda: reports(daemon) == 1, "the next one to read")
        assert daemon.stop() == 0
    finally:
        end(daemon)

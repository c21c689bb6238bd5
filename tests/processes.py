# SPDX-License-Identifier: Apache-2.0
"""Processes found by who started them, and killed by their number."""

from __future__ import annotations

import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.waiting import wait_until

_PROGRAM = """import runpy, sys
sys.path.append(sys.argv.pop(1))
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)"""
"""What is installed stands before the tree, whose package may have no engine, or another one."""


def program(module: str) -> list[str]:
    """The command that runs a module of the tests with the package that is installed."""
    return [sys.executable, "-P", "-c", _PROGRAM, str(Path(__file__).parents[1]), module]


def descendants(root: int) -> list[int]:
    """A process's children and theirs, parents first."""
    children = defaultdict(list)
    for process, parent in _parents():
        children[parent].append(process)
    found = list(children[root])
    for process in found:
        found += children[process]
    return found


def parts_of(process: int) -> list[str]:
    """Its program and arguments; none once it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def kill(*processes: int) -> int:
    """Send SIGKILL, to all at once; return how many there were to kill."""
    return sum(_kill(process) for process in processes)


def wait_until_gone(*processes: int) -> None:
    """A process that waits for its parent to notice is gone, too."""
    wait_until(lambda: not any(map(is_alive, processes)), f"the end of {processes}")


def is_alive(process: int) -> bool:
    """Whether it runs."""
    state = _status(process)
    return state is not None and state[0] != "Z"


def catches(process: int, number: signal.Signals) -> bool:
    """Whether it has a handler for a signal, which before would end it at once; or it is gone."""
    return _has_among(process, number, "SigCgt")


def holds_back(process: int, number: signal.Signals) -> bool:
    """Whether a signal waits until it looks; or it is gone."""
    return _has_among(process, number, "SigBlk")


def _has_among(process: int, number: signal.Signals, name: str) -> bool:
    lines = _lines_of(Path(f"/proc/{process}/status"))
    if lines is None:
        return True
    found = next(line for line in lines if line.startswith(name))
    return bool(int(found.split(":")[1], 16) >> (number - 1) & 1) or not is_alive(process)


def threads_of(*processes: int) -> Iterator[dict[str, str]]:
    """What /proc/N/status says of each of their threads; of one that ends meanwhile nothing."""
    for process in processes:
        with suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                if (lines := _lines_of(thread / "status")) is not None:
                    pairs = (line.split(":", 1) for line in lines if ":" in line)
                    yield {name: value.strip() for name, value in pairs}


def _lines_of(path: Path) -> list[str] | None:
    try:
        return path.read_text().splitlines()
    except OSError:
        return None


def _kill(process: int) -> bool:
    was_alive = is_alive(process)
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return was_alive


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        status = _status(int(name)) if name.isdecimal() else None
        if status is not None:
            yield int(name), int(status[1])


def _status(process: int) -> list[str] | None:
    """What follows the name in /proc/N/stat: the state, the parent and more."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None

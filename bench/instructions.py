# SPDX-License-Identifier: Apache-2.0
"""Instructions of a process: by perf where the machine has counters, else by callgrind."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence

from measure import RunError

PERF = ("perf", "stat", "-x,", "-e", "instructions:u", "--")
CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--")
Counter = Callable[[Sequence[str], str], int]
"""Given a command and its standard input, how many instructions it took. RunError."""


def counter() -> tuple[str, Counter]:
    """Return what counts here, and its name. RunError."""
    if shutil.which("perf") and re.search(r"^\d+,", _messages((*PERF, "true"), ""), re.M):
        return "perf", _counting(PERF, r"^(\d+),[^,]*,instructions")
    if shutil.which("valgrind"):
        return "callgrind", _counting(CALLGRIND, r"Collected : (\d+)")
    raise RunError("neither hardware counters nor valgrind here")


def _counting(tool: tuple[str, ...], pattern: str) -> Counter:
    def count(command: Sequence[str], text: str) -> int:
        messages = _messages((*tool, *command), text)
        found = re.search(pattern, messages, re.M)
        if found is None:
            raise RunError((messages.strip().splitlines() or ["no count"])[-1])
        return int(found.group(1))

    return count


def _messages(words: tuple[str, ...], text: str) -> str:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode == 0 else f"failed: {done.stderr}"

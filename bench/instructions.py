# SPDX-License-Identifier: Apache-2.0
"""Instructions of a process: by perf where the machine has counters, else by callgrind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence

from build import HERE
from measure import RunError

PERF = ("perf", "stat", "-x,", "-e", "instructions:u", "--")
CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--")
Counter = Callable[[Sequence[str], str], int]
"""Given a command and its standard input, how many instructions it took. RunError."""


def counter() -> tuple[str, Counter]:
    """Return what counts here, and its name. RunError."""
    if shutil.which("perf") and _counts((*PERF, "true"), r"^\d+,"):
        return "perf", _counting(PERF, r"^(\d+),[^,]*,instructions", {})
    if shutil.which("valgrind"):
        compiler = {"CC": str(HERE / "cc-for-valgrind")}
        return "callgrind", _counting(CALLGRIND, r"Collected : (\d+)", compiler)
    raise RunError("neither hardware counters nor valgrind here")


def _counts(words: Sequence[str], pattern: str) -> bool:
    try:
        return re.search(pattern, _messages(words, "", {}), re.M) is not None
    except RunError:
        return False


def _counting(tool: tuple[str, ...], pattern: str, environment: Mapping[str, str]) -> Counter:
    def count(command: Sequence[str], text: str) -> int:
        _messages(command, text, environment)  # compiles what is to be counted
        messages = _messages((*tool, *command), text, environment)
        found = re.search(pattern, messages, re.M)
        if found is None:
            raise RunError(_last_line(messages))
        return int(found.group(1))

    return count


def _messages(words: Sequence[str], text: str, environment: Mapping[str, str]) -> str:
    """What a tool says; RunError where what it ran failed, whatever was counted up to there."""
    settings = {**os.environ, **environment}
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, env=settings, check=False
    )
    if done.returncode != 0:
        raise RunError(f"{words[0]} ended with {done.returncode}: {_last_line(done.stderr)}")
    return done.stderr


def _last_line(messages: str) -> str:
    return (messages.strip().splitlines() or ["no message"])[-1]

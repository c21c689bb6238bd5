# SPDX-License-Identifier: Apache-2.0
"""What a person can use of what Java and Python print when they fail: the cause, and no frames."""

from __future__ import annotations

import re
from pathlib import Path

_FRAME = re.compile(r'\s+at |\s*\.\.\. \d+ (more|common frames)|\s+File "')
_LOGGED = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d [A-Z]+ \S+: ")
"""What Spark puts before a message in its log."""
_THROWN = re.compile(
    r'(?:: |Caused by: |Exception in thread "[^"]*" )?'
    r"(?:[\w$]+\.)+([\w$]*(?:Exception|Error|Throwable))(?:: |$)"
)
_CAUSED_BY = "Caused by: "


def cause_of(text: str) -> str:
    """Return the innermost cause, else what was thrown last, else the last sentence; else ''."""
    lines = [line for line in text.splitlines() if line.strip() and not _FRAME.match(line)]
    thrown = [line for line in lines if _THROWN.match(line)]
    return innermost_cause(text) or _plain((thrown or lines or [""])[-1])


def innermost_cause(text: str) -> str:
    """Return what the last "Caused by" says; '' where there is none."""
    causes = [line for line in text.splitlines() if line.startswith(_CAUSED_BY)]
    return _plain(causes[-1]) if causes else ""


def cause_in(log: Path, since: int = 0) -> str:
    """Return the cause that was written to a log behind its first `since` bytes."""
    return cause_of(text_of(log, since))


def text_of(log: Path, since: int = 0) -> str:
    """Return what a log has behind its first bytes. Raises OSError."""
    with log.open("rb") as stream:
        stream.seek(since)
        return stream.read().decode(errors="replace")


def _plain(line: str) -> str:
    """Without when, where and of which class; a class without words stands for itself."""
    line = _LOGGED.sub("", line.strip(), count=1)
    thrown = _THROWN.match(line)
    if thrown is None:
        return line
    return line[thrown.end() :].strip() or thrown[1]

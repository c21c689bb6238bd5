# SPDX-License-Identifier: Apache-2.0
"""The first line of a list that FROM names by its file alone: it names the columns."""

from __future__ import annotations

import os
import stat

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.source import Span
from gigastream.gsql.watchlists import LONGEST_LINE, names_in


def named_columns(path: str, span: Span, sink: DiagnosticSink) -> tuple[str, ...] | None:
    """The names; None after errors, which never say what else stands in the file."""
    try:
        names = first_line(path)
    except OSError as error:
        message = f"cannot read the list {path}: {error.strerror}"
        sink.error("unreadable", message, span)
        return None
    except ValueError as error:
        hint = "names of letters, digits and _, with commas between; WATCHLIST declares other lists"
        sink.error("bad-list", f"{path}: {error}", span, hint)
        return None
    return names


def first_line(path: str) -> tuple[str, ...]:
    """The names of the columns. Raises OSError, and ValueError where there are none."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise ValueError("it is no regular file")
        start = os.read(number, LONGEST_LINE)
    finally:
        os.close(number)
    line, end, _ = start.partition(b"\n")
    if not end and len(start) == LONGEST_LINE:
        raise ValueError("its first line is too long to name columns")
    names = names_in(line)
    if names is None:
        raise ValueError("its first line does not name columns")
    return names

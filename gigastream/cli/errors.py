# SPDX-License-Identifier: Apache-2.0
"""Errors as text for a person, never as a traceback."""

from __future__ import annotations

import os
import sys

from gigastream.cli.stderr import say

_TRACEBACK_VARIABLE = "GIGASTREAM_TRACEBACK"
_OURS = ("gigastream.", "spark_sink.")


class UsageError(Exception):
    """The command line or a configuration file asks for something that is not there."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def report(error: Exception) -> int:
    """Write what is wrong to stderr and return the exit code.

    Errors in a query carry their places with them. An error of a class of ours is meant for a
    person; it may have an `exit_code` other than 1, and a `hint`. Everything else is a fault of
    ours, and is called so.
    """
    from gigastream.gsql.diagnostics import GsqlError

    if isinstance(error, GsqlError):
        say(str(error))
        return 2
    if type(error).__module__.startswith(_OURS):
        # of one that reaches other programs as well, the text has the hint in it
        complain(getattr(error, "message", str(error)), getattr(error, "hint", None))
        return int(getattr(error, "exit_code", 1))
    if isinstance(error, MemoryError):
        complain(
            "there is no memory left", "--memory SIZE bounds what tables and groups take of it"
        )
        return 1
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        complain(f"{error.filename}: {what}" if error.filename else what)
        return 1
    return _report_fault(error)


def complain(message: str, hint: str | None = None) -> None:
    """Write one error to stderr."""
    say(f"gigastream: {message}" + (f"\nhint: {hint}" if hint is not None else ""))


def silence_stdout() -> None:
    """Let whatever is still buffered for a reader that has left go nowhere.

    Into a pipe of our own, which holds it until we end: a capture can open no file any more.
    """
    _, nowhere = os.pipe()
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _report_fault(error: Exception) -> int:
    if os.environ.get(_TRACEBACK_VARIABLE):
        import traceback

        say("".join(traceback.format_exception(error)))
    complain(
        f"a fault in Gigastream itself: {type(error).__name__}: {error}",
        f"please report it, with what {_TRACEBACK_VARIABLE}=1 adds",
    )
    return 1

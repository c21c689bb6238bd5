# SPDX-License-Identifier: Apache-2.0
"""What the source says to a person: an error that ends the query, or a sentence on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SKIP_HINT = 'with .option("onDamage", "skip") it is left out, and the rest is read'


class SpoolSourceError(Exception):
    """A spool or an option that cannot be what was meant; the hint says what to do."""

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 2) -> None:
        # Spark hands on the text alone, so the hint is part of it.
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.message = message
        self.hint = hint
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type[SpoolSourceError], tuple[str, str | None, int]]:
        return SpoolSourceError, (self.message, self.hint, self.exit_code)


class HostAwayError(SpoolSourceError):
    """The host that serves a spool does not answer now."""


class FunctionError(Exception):
    """A function in Python that ends the query."""


def tell(sentence: str) -> None:
    """Write a sentence to stderr: the worker's, which is in Spark's log.

    `gigastream spark` hands it on (spark_sink/sentences.py), and counts it as a loss unless it
    begins with `note: `. So does it with what the driver itself meets.
    """
    if _hearers:
        _hearers[-1](sentence)
        return
    print(f"gigastream: {sentence}", file=sys.stderr, flush=True)


_hearers: list[Callable[[str], None]] = []
"""Of this process: the job that runs in it."""


@contextmanager
def heard_by(hearer: Callable[[str], None]) -> Iterator[None]:
    """Let `hearer` have what any thread of this process tells, instead of stderr."""
    _hearers.append(hearer)
    try:
        yield
    finally:
        _hearers.remove(hearer)

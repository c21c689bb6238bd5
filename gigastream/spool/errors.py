# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a spool, as values for the user: a message, a hint, an exit code."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

RAN_OUT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Error numbers of a full disk, a quota, a limit."""


class SpoolError(Exception):
    """A spool that cannot be written: `exit_code` 2 for a wrong place, 1 if it failed later."""

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 2) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code


class SpoolReadError(Exception):
    """What is given as a spool and is none, or cannot be read."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class SpoolAwayError(SpoolReadError):
    """The host of a spool does not answer now: nothing is known of what it holds.

    The same command may do later, so whoever watches over it is to start it again.
    """

    exit_code = 1


class SegmentDamage(Exception):  # noqa: N818 - the name of the state, not of a failure
    """A listed segment whose rows cannot be read: missing, torn or changed.

    `is_retired`: its rows were deleted on purpose, by retention.
    """

    exit_code = 1
    hint: str | None = None

    def __init__(self, message: str, segment: int, rows: int, is_retired: bool = False) -> None:
        super().__init__(message)
        self.segment = segment
        self.rows = rows
        self.is_retired = is_retired


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Turn an OSError met while `what` is written into a SpoolError."""
    try:
        yield
    except OSError as error:
        raise _spool_error(what, error) from error


def _spool_error(what: str, error: OSError) -> SpoolError:
    # pyarrow's messages repeat the number and the path; the system's own text is enough.
    reason = error.strerror or str(error)
    if error.errno is not None:
        reason = errno_text(error.errno)
    if error.errno in RAN_OUT:
        return SpoolError(
            f"{what}: {reason}",
            "what the manifest lists is safe; make room, or have old segments deleted",
            exit_code=1,
        )
    return SpoolError(f"{what}: {reason}", exit_code=1 if error.errno == errno.EIO else 2)


def errno_text(number: int) -> str:
    """Return the system's text for an error number, in lower case as our messages are."""
    text = os.strerror(number)
    return text[:1].lower() + text[1:]


def printable(text: str) -> str:
    """Return a text with what would steer a terminal written out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )

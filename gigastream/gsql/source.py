# SPDX-License-Identifier: Apache-2.0
"""Source texts and places in them: what every message about a query points at."""

from __future__ import annotations

import errno
import os
import re
import stat
from bisect import bisect_right
from pathlib import Path

from gigastream.late_dataclass import dataclass

MAX_CHARACTERS = 1 << 18
"""A longer text is refused: no query needs it, and a wrong file must not keep anyone waiting."""


MOST_BYTES = 4 * MAX_CHARACTERS
"""What is read of a file of text: whatever is longer has too many characters."""


def read_text(path: str | Path, *, is_regular: bool = False) -> str:
    """The text of a file of queries, definitions or settings: no more is read than it may have.

    OSError says why there is none. `is_regular`: nobody is waited for who writes into a pipe.
    """
    with open(path, "rb", opener=_open_at_once if is_regular else None) as stream:
        found = os.fstat(stream.fileno())
        if is_regular and not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "this is no regular file", str(path))
        if found.st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, TOO_LONG, str(path))
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, TOO_LONG, str(path))
    return decode(data)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


TOO_LONG = f"longer than {MOST_BYTES >> 20} MiB, which is no text of this kind"


class SourceFile:
    """One GSQL text and the name by which messages call it.

    Line starts are computed when a message is rendered, never for a query that has no errors.
    """

    __slots__ = ("_line_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._line_starts: list[int] | None = None

    def __repr__(self) -> str:
        return f"SourceFile({self.name!r}, {len(self.text)} characters)"

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column (both from 1, in characters) of a character offset."""
        starts = self._starts()
        line = bisect_right(starts, min(offset, len(self.text)))
        return line, min(offset, len(self.text)) - starts[line - 1] + 1

    def line_bounds(self, line: int) -> tuple[int, int]:
        """Return the offsets between which a line (from 1) lies, its line end excluded."""
        starts = self._starts()
        start = starts[line - 1]
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        if end > start and self.text[end - 1] == "\r":
            end -= 1
        return start, end

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            starts, find = [0], self.text.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._line_starts = starts
        return self._line_starts


def decode(data: bytes) -> str:
    """Return the text of a file's bytes.

    A byte that is not UTF-8 becomes a lone surrogate, as in the words of a command line, and is
    reported with its place where the text is read. A byte order mark at the start, which some
    editors write, is no part of the text.
    """
    return data.decode("utf-8-sig", errors="surrogateescape")


UNDECODED = re.compile("[\ud800-\udfff]+")
"""What `decode` leaves of bytes that are not UTF-8."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters [start, end) of one source text."""

    file: SourceFile
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line (from 1) in which the range begins."""
        return self.file.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column (from 1, in characters) at which the range begins."""
        return self.file.position(self.start)[1]

    @property
    def text(self) -> str:
        """The characters of the range."""
        return self.file.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """Return the range from the start of this one to the end of the other."""
        return Span(self.file, self.start, max(self.end, other.end))


NOWHERE = Span(SourceFile("<generated>", ""), 0, 0)
"""The place of nodes that no text was written for: those that the planner makes."""

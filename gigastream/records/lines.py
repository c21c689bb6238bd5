# SPDX-License-Identifier: Apache-2.0
"""Lines of bounded length; a longer one is passed over without ever being held."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.records.record_input import RecordInput

MAX_LINE_BYTES = 1 << 20
_TOO_LONG = f"it is longer than {MAX_LINE_BYTES:,} bytes"
_BROKEN_OFF = "it breaks off before its line ends"


def lines(source: RecordInput) -> Iterator[bytes | str]:
    """Yield lines with their ends, the last one perhaps without; a text says why one is none."""
    rest = bytearray()  # grows by what comes, be it a byte at a time
    data = source.some()
    while data:
        *whole, tail = data.split(b"\n")
        if whole and rest:
            whole[0] = bytes(rest) + whole[0]
            rest.clear()
        for line in whole:
            yield line + b"\n" if len(line) <= MAX_LINE_BYTES else _TOO_LONG
        rest += tail
        if len(rest) > MAX_LINE_BYTES:
            yield _TOO_LONG
            rest.clear()
            data = _behind_line(source)
        else:
            data = source.some()
    if rest:
        yield _BROKEN_OFF if source.is_cut() else bytes(rest)


def _behind_line(source: RecordInput) -> bytes:
    """Pass over the rest of a line; return what comes behind it."""
    while data := source.some():
        _, end, behind = data.partition(b"\n")
        if end:
            return behind or source.some()
    return b""

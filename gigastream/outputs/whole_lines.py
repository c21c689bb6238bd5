# SPDX-License-Identifier: Apache-2.0
"""Where the last whole line of a text ends, which may have been cut anywhere."""

from __future__ import annotations

import os

_BLOCK_BYTES = 1 << 20


def whole_lines_end(descriptor: int, *, has_quotes: bool) -> tuple[int, int]:
    """The offset behind the last whole line of a file, and how many lines there are to it.

    `has_quotes`: a newline between double quotes ends no line, as csv has it. OSError.
    """
    at = end = lines = 0
    is_quoted = False
    while block := os.pread(descriptor, _BLOCK_BYTES, at):
        for number, piece in enumerate(block.split(b'"') if has_quotes else [block]):
            if number:
                is_quoted = not is_quoted
                at += 1
            if not is_quoted and (newline := piece.rfind(b"\n")) >= 0:
                end = at + newline + 1
                lines += piece.count(b"\n")
            at += len(piece)
    return end, lines

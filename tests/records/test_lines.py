# SPDX-License-Identifier: Apache-2.0
"""Lines are the same, however few bytes come at a time."""

from __future__ import annotations

import os

import pytest

from gigastream.records import lines as lines_module
from gigastream.records.record_input import RecordInput

LONG = "it is longer than 8 bytes"


@pytest.mark.parametrize("size", range(1, 30))
def test_pieces_of_any_size_are_the_same_lines(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 8)
    monkeypatch.setattr(lines_module, "_TOO_LONG", LONG)
    data = b"a\n\n12345678\n123456789\nb\n" + b"x" * 20 + b"\nc\n" + b"y" * 9 + b"\nlast"
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    source = RecordInput(reader, reader)
    monkeypatch.setattr(source, "_read", lambda _size: os.read(reader, size))
    found = list(lines_module.lines(source))
    os.close(reader)
    good = (b"a\n", b"\n", b"12345678\n")
    assert found == [*good, LONG, b"b\n", LONG, b"c\n", LONG, b"last"]

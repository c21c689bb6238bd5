# SPDX-License-Identifier: Apache-2.0
"""Reading a manifest while it grows, torn and hostile ones; and mending what a crash left."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigastream.spool import Entry
from gigastream.spool.entry import MAX_LINE_BYTES, encode
from gigastream.spool.layout import MANIFEST
from gigastream.spool.manifest import ManifestReader, ManifestWriter, mend_tail, read_roll


def punctuation(sequence: int) -> Entry:
    return Entry("punctuation", None, 0, 0, 0, (sequence,), sequence, sequence, sequence, 1)


def reader_over(text: bytearray, reader: ManifestReader, most: int = 1 << 30) -> list[Entry]:
    """Poll bytes in memory, and see that no call asks for more than is bounded."""

    def read_at(offset: int, size_bytes: int) -> bytes:
        assert size_bytes <= 4 * MAX_LINE_BYTES
        return bytes(text[offset : offset + min(size_bytes, most)])

    return list(reader.poll(read_at))


@given(st.lists(st.integers(1, 400), max_size=30))
def test_whole_lines_come_once_however_the_file_grows(steps: list[int]) -> None:
    lines = b"".join(encode(punctuation(n)) for n in range(20))
    reader, text, found = ManifestReader(), bytearray(), list[Entry]()
    for step in [*steps, len(lines)]:
        text += lines[len(text) : len(text) + step]
        found += reader_over(text, reader)
        assert len(found) == text.count(b"\n")
    assert found == [punctuation(n) for n in range(20)]
    assert reader.damage == []


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_hostile_bytes_cost_only_their_own_lines(before: bytes, between: bytes) -> None:
    good = encode(punctuation(1)), encode(punctuation(2))
    text = bytearray(before + b"\n" + good[0] + between + b"\n" + good[1])
    reader = ManifestReader()
    assert reader_over(text, reader) == [punctuation(1), punctuation(2)]
    assert len(reader.damage) == (before + between).count(b"\n") + 2
    assert reader.offset == len(text)


def test_damage_has_a_place_and_a_reason() -> None:
    reader = ManifestReader()
    reader_over(bytearray(encode(punctuation(1)) + b"rubbish\n"), reader)
    place = len(encode(punctuation(1))) + 7
    assert reader.damage == [
        f"{MANIFEST} line 2, which ends at byte {place}, is skipped: its checksum does not fit"
    ]


@pytest.mark.parametrize("size", [MAX_LINE_BYTES - 1, MAX_LINE_BYTES, MAX_LINE_BYTES + 1, 9 << 20])
@pytest.mark.parametrize("filler", [b"\0", b"x"])
def test_an_overlong_line_is_passed_over_in_bounded_memory(size: int, filler: bytes) -> None:
    text = bytearray(encode(punctuation(1)) + filler * size)
    reader = ManifestReader()
    assert reader_over(text, reader) == [punctuation(1)]
    text += b"\n" + encode(punctuation(2))
    assert reader_over(text, reader) == [punctuation(2)]
    assert len(reader.damage) == 1


def test_the_end_of_an_overlong_line_is_no_line() -> None:
    text = bytearray(bytes(4 * MAX_LINE_BYTES) + encode(punctuation(1)) + encode(punctuation(2)))
    reader = ManifestReader()
    assert reader_over(text, reader) == [punctuation(2)]
    assert len(reader.damage) == 1


def test_a_torn_tail_is_cut_off_and_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / MANIFEST
    whole = encode(punctuation(1))
    path.write_bytes(whole + whole[:40])
    entries, reader = read_roll(path)
    assert entries == [punctuation(1)]
    assert mend_tail(path, reader) == 40
    assert path.read_bytes() == whole
    with path.open("ab") as stream:
        stream.write(encode(punctuation(2)))
    assert reader_over(bytearray(path.read_bytes()), reader) == [punctuation(2)]
    assert reader.damage == []


def test_a_tail_longer_than_any_line_is_ended(tmp_path: Path) -> None:
    path = tmp_path / MANIFEST
    path.write_bytes(encode(punctuation(1)) + bytes(2 << 20))
    _, writers = read_roll(path)
    _, readers = read_roll(path)
    assert mend_tail(path, writers) == 2 << 20
    with path.open("ab") as stream:
        stream.write(encode(punctuation(2)))
    assert reader_over(bytearray(path.read_bytes()), readers) == [punctuation(2)]
    assert len(readers.damage) == 1


def test_lines_are_added_behind_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / MANIFEST
    for sequence in range(3):
        writer = ManifestWriter(tmp_path)
        writer.append(punctuation(sequence))
        writer.sync()
    assert read_roll(path)[0] == [punctuation(n) for n in range(3)]

# SPDX-License-Identifier: Apache-2.0
"""Tables for people: short times below their day, digits in threes, no row too wide."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

import pytest

from gigastream.outputs import OutputQuery
from gigastream.outputs.table import open_writer
from tests.terminals import read_terminal

KINDS = {"time": (False, True, False), "quantity": (True, False, True)}
KINDS |= {"number": (True, False, False), "text": (False, False, False)}
DAY = "2026-11-21T"


@dataclass(frozen=True)
class Rows:
    """What the table needs of a batch."""

    cells: tuple[tuple[str, ...], ...]
    memory_bytes = 0
    is_partial = False
    missing = ()

    @property
    def row_count(self) -> int:
        return len(self.cells)

    def csv(self) -> bytes:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.cells)
        return text.getvalue().encode()

    def json(self, query_name: str | None) -> bytes:
        raise NotImplementedError

    def to_arrow(self) -> Any:
        raise NotImplementedError


def query(**columns: str) -> OutputQuery:
    numeric, times, quantities = zip(*(KINDS[kind] for kind in columns.values()), strict=True)
    return OutputQuery("q", tuple(columns), numeric, times, quantities, lambda: None)


def shown(asked: OutputQuery, *batches: tuple[tuple[str, ...], ...]) -> list[str]:
    stream = io.BytesIO()
    writer = open_writer(stream, (asked,))
    for batch in batches:
        writer.write(asked, Rows(batch))
    writer.close()
    return stream.getvalue().decode().splitlines()


def test_times_are_short_below_their_day() -> None:
    rows = ((f"{DAY}09:08:00.000000000Z", "1"), ("2026-11-22T00:00:00.000000000Z", "2"))
    assert shown(query(minute="time", n="number"), rows)[2:] == [
        "2026-11-21 UTC",
        "09:08:00  1",
        "2026-11-22 UTC",
        "00:00:00  2",
    ]


def test_a_time_of_another_day_than_the_first_tells_it() -> None:
    rows = ((f"{DAY}23:59:00.000000000Z", "2026-11-22T00:00:01.000000000Z"),)
    lines = shown(query(minute="time", last="time"), rows)
    assert lines[2:] == ["2026-11-21 UTC", "23:59:00  2026-11-22 00:00:01"]


@pytest.mark.parametrize(
    ("fractions", "digits"),
    [(("000000000",), 0), (("500000000",), 3), (("000001000",), 6), (("1", "000000001"), 9)],
)
def test_fractions_have_as_many_digits_as_the_column_needs(
    fractions: tuple[str, ...], digits: int
) -> None:
    rows = tuple((f"{DAY}09:08:00.{fraction:0<9}Z",) for fraction in fractions)
    wanted = ["09:08:00" + f".{f:0<9}"[: digits + 1 if digits else 0] for f in fractions]
    assert shown(query(at="time"), rows)[3:] == wanted


def test_a_day_is_told_once_for_many_batches_and_null_tells_none() -> None:
    batches = (((f"{DAY}09:08:00.000000000Z",),), (("",),), ((f"{DAY}09:09:00.000000000Z",),))
    lines = shown(query(at="time"), *batches)
    assert lines[2:] == ["2026-11-21 UTC", "09:08:00", "", "09:09:00"]


@pytest.mark.parametrize(
    ("cell", "quantity"),
    [
        ("999", "999"),
        ("1000", "1,000"),
        ("-1234567", "-1,234,567"),
        ("18446744073709551615", "18,446,744,073,709,551,615"),
        ("39331.5", "39,331.5"),
        ("1e+300", "1e+300"),
        ("", ""),
    ],
)
def test_what_says_how_much_is_grouped_and_what_says_which_is_not(cell: str, quantity: str) -> None:
    line = shown(query(port="number", n="quantity"), ((cell, cell),))[2]
    assert line.split() == [part for part in (cell, quantity) if part]


# ---- at a terminal ----

Draw = Callable[[int, OutputQuery, tuple[tuple[str, ...], ...]], list[str]]


@pytest.fixture
def at_terminal() -> Draw:
    """Draws a table at a terminal of so many columns."""

    def draw(columns: int, asked: OutputQuery, rows: tuple[tuple[str, ...], ...]) -> list[str]:
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        stream: BinaryIO = open(terminal, "wb", buffering=0)  # noqa: SIM115
        with stream:
            writer = open_writer(stream, (asked,))
            writer.write(asked, Rows(rows))
            writer.close()
        try:
            return read_terminal(controller).decode().replace("\r\n", "\n").splitlines()
        finally:
            os.close(controller)

    return draw


WIDE = query(minute="time", name="text", server="text", bytes="quantity")
ROW = (f"{DAY}09:08:00.000000000Z", "n" * 50, "10.20.0.53", "1234567")


@pytest.mark.parametrize("columns", [1, 2, 20, 40, 60, 84, 200, 0])
def test_no_row_is_wider_than_the_terminal(at_terminal: Draw, columns: int) -> None:
    lines = at_terminal(columns, WIDE, (ROW,))
    rows = [line for line in lines if not line.endswith("UTC") and "no room" not in line]
    assert all(len(line) <= (columns or 1000) for line in rows)


def test_the_widest_text_is_cut_and_nothing_else(at_terminal: Draw) -> None:
    row = at_terminal(60, WIDE, (ROW,))[-1]
    assert row.split() == ["09:08:00", "n" * 26 + "…", "10.20.0.53", "1,234,567"]
    assert len(row) == 60


FLOW = query(minute="time", server="text", first="time", packets="quantity", bytes="quantity")
FLOW_ROW = (f"{DAY}09:08:00.000000000Z", "s" * 30, f"{DAY}09:08:25.165820000Z", "12345", "1234567")


@pytest.mark.parametrize(
    ("columns", "row", "left_out"),
    [
        (56, ("s" * 8 + "…", "09:08:25.165820", "12,345", "1,234,567"), ""),
        (55, ("s" * 7 + "…", "09:08:25.165820", "12,345", "1,234,567"), ""),
        (54, ("s" * 14 + "…", "09:08:25.165820", "12,345", "…"), "bytes"),
        (38, ("s" * 7 + "…", "09:08:25.165820", "…"), "packets, bytes"),
        (37, ("s" * 23 + "…", "…"), "first, packets, bytes"),
        (12, ("…",), "server, first, packets, bytes"),
    ],
)
def test_columns_without_room_are_left_out_whole_and_named(
    at_terminal: Draw, columns: int, row: tuple[str, ...], left_out: str
) -> None:
    lines = at_terminal(columns, FLOW, (FLOW_ROW,))
    assert lines[3].split() == ["09:08:00", *row]
    assert lines[4:] == ([f"no room for: {left_out} (-o csv has all)"] if left_out else [])


def test_what_fits_is_not_cut(at_terminal: Draw) -> None:
    assert "n" * 50 in at_terminal(200, WIDE, (ROW,))[-1]
    assert not [line for line in at_terminal(200, WIDE, (ROW,)) if "no room" in line]
    assert "n" * 50 in shown(WIDE, (ROW,))[-1]

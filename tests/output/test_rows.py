# SPDX-License-Identifier: Apache-2.0
"""Whole rows: separators, names, quoting, and what a standard reader makes of them."""

from __future__ import annotations

import csv
import io
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.output.driver import Column, Printer

SOME = settings(max_examples=60)

ROWS = [
    Column("time", "uint", [60, 120, 180]),
    Column("srcIP", "IP", ["10.0.0.1", None, "10.0.0.3"]),
    Column('na"me, x', "string", ["a", "", None]),
]


def test_csv(printer: Printer) -> None:
    assert printer.text("csv", ROWS) == ('60,10.0.0.1,a\n120,,""\n180,10.0.0.3,\n')


def test_json(printer: Printer) -> None:
    assert printer.text("json", ROWS) == (
        '{"time":60,"srcIP":"10.0.0.1","na\\"me, x":"a"}\n'
        '{"time":120,"srcIP":null,"na\\"me, x":""}\n'
        '{"time":180,"srcIP":"10.0.0.3","na\\"me, x":null}\n'
    )


def test_json_with_the_name_of_the_query(printer: Printer) -> None:
    text = printer.text("json", [Column("x", "uint", [1])], query='q"1')
    assert text == '{"query":"q\\"1","x":1}\n'


def test_no_rows(printer: Printer) -> None:
    nothing = [Column("x", "uint", []), Column("y", "string", [])]
    assert printer.text("csv", nothing) == ""
    assert printer.text("json", nothing) == ""


def test_more_rows_than_the_first_buffer_holds(printer: Printer) -> None:
    rows = [Column("x", "uint", range(50000)), Column("y", "string", [b"\xff" * 10] * 50000)]
    lines = printer.text("csv", rows).split("\n")
    assert lines[0] == "0," + "\\xff" * 10
    assert lines[49999] == "49999," + "\\xff" * 10
    assert printer.text("json", rows).count("\n") == 50000


def test_the_longest_string(printer: Printer) -> None:
    rows = [Column("y", "string", [b"\x00" * 65536, b'"' * 65536])]
    values = [json.loads(line)["y"] for line in printer.text("json", rows).splitlines()]
    assert values == ["\0" * 65536, '"' * 65536]


strings = st.lists(st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode))


@SOME
@given(strings)
def test_json_strings_read_back(printer: Printer, values: list[bytes | None]) -> None:
    text = printer.text("json", [Column("x", "string", values)])
    read = [json.loads(line)["x"] for line in text.split("\n")[:-1]]
    assert read == [None if v is None else v.decode(errors="backslashreplace") for v in values]


@SOME
@given(strings)
def test_csv_strings_read_back(printer: Printer, values: list[bytes | None]) -> None:
    columns = [Column("n", "uint", range(len(values))), Column("x", "string", values)]
    text = printer.text("csv", columns)
    read = [row[1] for row in csv.reader(io.StringIO(text, newline=""))]
    assert read == [(v or b"").decode(errors="backslashreplace") for v in values]

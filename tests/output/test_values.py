# SPDX-License-Identifier: Apache-2.0
"""values.tsv: a type, a value as a Python literal, and what csv and json make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.output.driver import Column, Printer

ROWS = [
    line.split("\t") for line in Path(__file__).with_name("values.tsv").read_text().splitlines()[1:]
]


@pytest.mark.parametrize(("type_name", "value", "csv", "json"), ROWS)
def test_value(printer: Printer, type_name: str, value: str, csv: str, json: str) -> None:
    columns = [Column("x", type_name, [eval(value)])]
    assert printer.text("csv", columns) == f"{csv}\n"
    assert printer.text("json", columns) == f'{{"x":{json}}}\n'

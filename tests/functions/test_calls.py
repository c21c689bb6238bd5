# SPDX-License-Identifier: Apache-2.0
"""calls.tsv: a call, written with the C name's suffix and Python literals, and its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functions.declarations import declarations
from tests.functions.driver import Driver

HERE = Path(__file__).parent
PAN_KEY = "1522178d33a4cf80130a5b1649907d10d8988f837979652762574c2d2a842202"
"""The key of the sample trace that comes with Crypto-PAn 1.0."""
ROWS = [line.split("\t") for line in (HERE / "calls.tsv").read_text().splitlines()[1:]]


@pytest.mark.parametrize(("call", "expected"), ROWS, ids=[call[:60] for call, _ in ROWS])
def test_call(driver: Driver, call: str, expected: str) -> None:
    suffix, _, arguments = call.partition("(")
    names = {"PREFIXES": str(HERE / "prefixes.csv"), "PAN": PAN_KEY}
    values = eval(f"({arguments.removesuffix(')')},)", names)
    assert driver.call(suffix, *values) == eval(expected)


def test_every_function_has_a_row() -> None:
    tested = {call.partition("(")[0] for call, _ in ROWS}
    untested = {d.suffix for d in declarations()} - tested - {"string_hash_string"}
    assert not untested

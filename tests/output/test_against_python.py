# SPDX-License-Identifier: Apache-2.0
"""Numbers, addresses and times against Python's own text of them, many in a batch."""

from __future__ import annotations

import datetime
import ipaddress
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.output.driver import Printer

SOME = settings(max_examples=60)
EPOCH = datetime.datetime(1970, 1, 1)

floats = st.floats() | st.floats(0, 1e6) | st.decimals(0, 1000, places=3).map(float)
int64s = st.integers(-(2**63), 2**63 - 1)
groups = st.lists(
    st.sampled_from([0, 0, 1, 0xFFFF]) | st.integers(0, 0xFFFF), min_size=8, max_size=8
)


@SOME
@given(st.lists(floats, max_size=100))
def test_float(printer: Printer, values: list[float]) -> None:
    assert printer.cells("float", values) == list(map(repr, values))


def test_powers_of_two_and_their_neighbours(printer: Printer) -> None:
    powers = [2.0**n for n in range(-1074, 1024)]
    values = [math.nextafter(x, to) for x in powers for to in (0.0, x, math.inf)]
    assert printer.cells("float", values) == list(map(repr, values))


def test_powers_of_ten_and_their_neighbours(printer: Printer) -> None:
    powers = [float(f"{digits}e{n}") for n in range(-324, 309) for digits in ("1", "9.99", "1.797")]
    values = [x for x in powers if x < float("inf")]
    assert printer.cells("float", values) == list(map(repr, values))


@pytest.mark.long
@SOME
@given(st.lists(int64s, max_size=100))
def test_integers(printer: Printer, values: list[int]) -> None:
    assert printer.cells("llong", values) == list(map(str, values))
    unsigned = [x % 2**64 for x in values]
    assert printer.cells("ullong", unsigned) == list(map(str, unsigned))


@SOME
@given(st.lists(groups, max_size=100))
def test_ipv6(printer: Printer, values: list[list[int]]) -> None:
    addresses = [ipaddress.IPv6Address(b"".join(g.to_bytes(2, "big") for g in v)) for v in values]
    expected = [str(a.ipv4_mapped or a) for a in addresses]
    assert printer.cells("INET", list(map(str, addresses))) == expected


@SOME
@given(st.lists(int64s, max_size=100))
def test_timestamp(printer: Printer, values: list[int]) -> None:
    assert printer.cells("timestamp", values) == list(map(iso_8601, values))


def test_every_day(printer: Printer) -> None:
    values = [day * 86_400_000_000_000 for day in range(-106_751, 106_751)]
    assert printer.cells("timestamp", values) == list(map(iso_8601, values))


def iso_8601(timestamp_ns: int) -> str:
    seconds, fraction_ns = divmod(timestamp_ns, 10**9)
    moment = EPOCH + datetime.timedelta(seconds=seconds)
    return f"{moment.isoformat()}.{fraction_ns:09}Z"

# SPDX-License-Identifier: Apache-2.0
"""What expressions cost, and where they may be evaluated."""

from __future__ import annotations

import pytest
from plan.planned import checked

from gigastream.gsql.expressions import ColumnRef, Expression
from gigastream.plan.costs import (
    columns_of,
    cost,
    fields_of,
    is_low_legal,
    is_total_and_cheap,
    why_not_low,
)


def expression(text: str, protocol: str = "TCP") -> Expression:
    """The checked form of a value or condition over packets."""
    return checked(f"SELECT {text} AS x FROM {protocol}")[0].outputs[0].expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("len", 1),
        ("len + 1", 2),
        ("len / 60", 6),
        ("len % 60", 6),
        ("len / 60 + srcPort / 2", 13),
        ("str_match_start[TCP_data, 'GET']", 11),
        ("str_exists_substr[TCP_data, 'GET']", 101),
        ("str_regex_match(TCP_data, 'GET')", 1001),
        ("CASE WHEN len > 9 THEN len END", 3),
    ],
)
def test_cost_counts_loads_operations_and_functions(text: str, expected: int) -> None:
    assert cost(expression(text)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("len / 60", ""),
        ("str_exists_substr[TCP_data, 'GET']", ""),
        ("str_regex_match(TCP_data, 'GET')", "str_regex_match is expensive"),
        ("str_regex_match(TCP_data, 'GET') AND len > 9", "str_regex_match is expensive"),
    ],
)
def test_what_is_expensive_stays_high(text: str, reason: str) -> None:
    assert why_not_low(expression(text)) == reason
    assert is_low_legal(expression(text)) == (not reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("len > 100", True),
        ("srcPort = destPort", True),
        ("len IN [64, 128]", True),
        ("srcIP IN IP_VAL'10.0.0.0/8'", True),
        ("NOT syn", True),
        ("len & 3 = 1", True),
        # a division may have no value, a function costs or has none, NULL is no bit
        ("len / 60 = 1", False),
        ("100 % len = 1", False),
        ("str_match_start[TCP_data, 'GET']", False),
        ("CASE WHEN len > 9 THEN TRUE END", False),
        # strings are not kept in a column of the burst
        ("interface = 'eth0'", False),
    ],
)
def test_the_prefilter_takes_what_is_total_and_cheap(text: str, expected: bool) -> None:
    assert is_total_and_cheap(expression(text)) is expected


def test_fields_are_distinct_by_accessor_in_order_of_appearance() -> None:
    found = fields_of(expression("len + caplen"), expression("time + len + systemTime"))
    assert [field.field for field in found] == ["len", "caplen", "time"]


def test_columns_are_those_that_are_read() -> None:
    text = "SELECT time, len, caplen FROM PKT; DEFINE { query_name b; }"
    query = checked(f"{text} SELECT caplen + caplen AS x FROM query")[1]
    read = query.outputs[0].expression
    assert columns_of(read, port=0) == {2}
    assert any(isinstance(child, ColumnRef) for child in read.children[0].children or (read,))

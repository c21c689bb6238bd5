# SPDX-License-Identifier: Apache-2.0
"""What stands in a record as a value of a field, and why something is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest

from gigastream.gsql.catalog.catalog import RecordField
from gigastream.gsql.types import Type
from gigastream.records.values import MISSING, Instant, converter

SECOND = 10**9
GOOD: list[tuple[Type, Any, Any]] = [
    (Type.BOOL, True, 1),
    (Type.BOOL, " False", 0),
    (Type.BOOL, "1", 1),
    (Type.USHORT, "65535", 65535),
    (Type.USHORT, 0, 0),
    (Type.INT, "-2147483648", -(2**31)),
    (Type.INT, " +7 ", 7),
    (Type.ULLONG, "18446744073709551615", 2**64 - 1),
    (Type.LLONG, -(2**63), -(2**63)),
    (Type.FLOAT, "1e3", 1000.0),
    (Type.FLOAT, ".5", 0.5),
    (Type.FLOAT, 2, 2.0),
    (Type.STRING, "é", "é".encode()),
    (Type.STRING, b"\xff", b"\xff"),
    (Type.STRING, "\udcff", b"\xff"),
    (Type.STRING, "x" * 65535, b"x" * 65535),
    (Type.IP, "10.0.0.1", 0x0A000001),
    (Type.IP, "::ffff:10.0.0.1", 0x0A000001),
    (Type.IP, 5, 5),
    (Type.IP, IPv4Address("1.2.3.4"), 0x01020304),
    (Type.IPV6, "2001:DB8::1", IPv6Address("2001:db8::1").packed),
    (Type.IPV6, b"\0" * 16, b"\0" * 16),
    (Type.INET, "1.2.3.4", IPv6Address("::ffff:1.2.3.4").packed),
    (Type.INET, b"\1\2\3\4", IPv6Address("::ffff:1.2.3.4").packed),
    (Type.INET, " ::1 ", IPv6Address("::1").packed),
    (Type.TIMESTAMP, "1970-01-01", 0),
    (Type.TIMESTAMP, "1970-01-01T00:00:01", SECOND),
    (Type.TIMESTAMP, "1970-01-01 00:01Z", 60 * SECOND),
    (Type.TIMESTAMP, "1970-01-01T01:00:00.000000001+01:00", 1),
    (Type.TIMESTAMP, "1969-12-31T23:59:59.5Z", -SECOND // 2),
    (Type.TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), SECOND),
    (Type.TIMESTAMP, datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
    (Type.TIMESTAMP, Instant(7), 7),
]
BAD: list[tuple[Type, Any, str]] = [
    (Type.BOOL, "maybe", "'maybe' is no bool: true or false"),
    (Type.BOOL, 1, "1 is no bool: true or false"),
    (Type.USHORT, "65536", "'65536' is beyond what ushort holds"),
    (Type.USHORT, -1, "-1 is beyond what ushort holds"),
    (Type.UINT, "1.0", "'1.0' is no uint"),
    (Type.UINT, 1.0, "1.0 is no uint"),
    (Type.UINT, True, "True is no uint"),
    (Type.UINT, "", "'' is no uint"),
    (Type.UINT, "１", r"'\uff11' is no uint"),
    (Type.UINT, "1_0", "'1_0' is no uint"),
    (Type.ULLONG, "9" * 100, f"'{'9' * 40}' is no ullong"),
    (Type.FLOAT, "nan", "'nan' is no float"),
    (Type.FLOAT, "1e999", "'1e999' is not finite"),
    (Type.FLOAT, float("inf"), "inf is not finite"),
    (Type.FLOAT, 10**400, " is not finite"),
    (Type.STRING, 5, "5 is no string"),
    (Type.STRING, "x" * 65536, "65,536 bytes are more than a string has"),
    (Type.IP, "2001:db8::1", "'2001:db8::1' is no address of IPv4"),
    (Type.IP, "10.0.0.256", "'10.0.0.256' is no address"),
    (Type.IP, "010.0.0.1", "'010.0.0.1' is no address"),
    (Type.IPV6, "10.0.0.1", "'10.0.0.1' is no address of IPv6"),
    (Type.IPV6, "fe80::1%eth0", "'fe80::1%eth0' has a zone, which only its host knows"),
    (Type.INET, 7, "7 is no address"),
    (Type.TIMESTAMP, "yesterday", "'yesterday' is no timestamp: 2026-01-31T12:00:00.5Z"),
    (Type.TIMESTAMP, "2026-02-30", "'2026-02-30' is no timestamp"),
    (Type.TIMESTAMP, "9999-01-01", "'9999-01-01' is beyond what a timestamp holds"),
    (Type.TIMESTAMP, 1e300, "is beyond what a timestamp holds"),
    (Type.TIMESTAMP, float("nan"), "is beyond what a timestamp holds"),
    (Type.TIMESTAMP, True, "True is no timestamp"),
    (Type.UINT, None, "f is NULL"),
    (Type.UINT, MISSING, "there is no column f"),
]


def _converted(type_: Type, value: Any, unit: str = "ns", *, is_time: bool = False) -> Any:
    return converter(RecordField("f", type_, 0, unit, is_time))(value)


@pytest.mark.parametrize(("type_", "given", "expected"), GOOD)
def test_a_value(type_: Type, given: Any, expected: Any) -> None:
    assert _converted(type_, given) == expected


@pytest.mark.parametrize(("type_", "given", "reason"), BAD)
def test_what_is_none(type_: Type, given: Any, reason: str) -> None:
    with pytest.raises(ValueError, match="f") as caught:
        _converted(type_, given)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 120


def test_what_is_none_may_be_as_deep_as_json_can_be_read() -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="a dict of too many levels is no uint"):
        _converted(Type.UINT, deep)


@pytest.mark.parametrize(
    ("given", "unit", "expected"),
    [
        ("1700000000.5", "s", 1_700_000_000_500_000_000),
        (1_700_000_000, "s", 1_700_000_000 * SECOND),
        (1_700_000_000.123456, "s", 1_700_000_000_123_456_000),
        ("1700000000123", "ms", 1_700_000_000_123_000_000),
        ("1.5e3", "us", 1_500_000),
        (Decimal("0.0000000019"), "s", 1),
        (Decimal("1000000000.000000000" + "9" * 40), "s", 10**18),
        (Decimal("1E-999999"), "s", 0),
        ("-1", "ns", -1),
    ],
)
def test_a_number_is_a_time_in_the_unit_of_its_clock(given: Any, unit: str, expected: int) -> None:
    assert _converted(Type.TIMESTAMP, given, unit) == expected


def test_a_whole_number_that_is_the_time_may_be_written_as_one() -> None:
    text = "2026-11-21T09:08:00.999Z"
    assert _converted(Type.UINT, text, "s", is_time=True) == 1_795_252_080
    assert _converted(Type.LLONG, text, "ms", is_time=True) == 1_795_252_080_999
    assert _converted(Type.UINT, Instant(5 * SECOND), "s", is_time=True) == 5
    with pytest.raises(ValueError, match="is no uint"):
        _converted(Type.UINT, text, "s")

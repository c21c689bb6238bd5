# SPDX-License-Identifier: Apache-2.0
"""Checked arithmetic and casts against Python's integers, which never wrap."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.functions.driver import Driver

MANY = settings(max_examples=200)

LIMITS = {
    "ushort": (0, 2**16 - 1),
    "uint": (0, 2**32 - 1),
    "int": (-(2**31), 2**31 - 1),
    "ullong": (0, 2**64 - 1),
    "llong": (-(2**63), 2**63 - 1),
}


def near_limits(type_name: str) -> st.SearchStrategy[int]:
    """Integers of a type, many of them near a power of two."""
    low, high = LIMITS[type_name]
    powers = st.builds(
        lambda sign, n, off: sign * 2**n + off,
        st.sampled_from([1, -1]),
        st.integers(0, 64),
        st.integers(-2, 2),
    )
    return (powers | st.integers(-20, 20) | st.integers(low, high)).filter(
        lambda x: low <= x <= high
    )


def truncated_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def exact(operation: str, a: int, b: int) -> int | None:
    """The mathematical result, or None where there is none."""
    if operation in ("divide", "modulo"):
        if b == 0:
            return None
        quotient = truncated_quotient(a, b)
        return quotient if operation == "divide" else a - b * quotient
    return {"add": a + b, "subtract": a - b, "multiply": a * b}[operation]


def within(type_name: str, value: int | None) -> int | None:
    low, high = LIMITS[type_name]
    return value if value is not None and low <= value <= high else None


@pytest.mark.long
@pytest.mark.parametrize("type_name", ["llong", "ullong"])
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply", "divide", "modulo"])
@MANY
@given(data=st.data())
def test_operation(driver: Driver, operation: str, type_name: str, data: st.DataObject) -> None:
    a, b = data.draw(near_limits(type_name)), data.draw(near_limits(type_name))
    expected = within(type_name, exact(operation, a, b))
    assert driver.call(f"checked_{operation}_{type_name}", a, b) == expected


def test_the_division_that_traps(driver: Driver) -> None:
    assert driver.call("checked_divide_llong", -(2**63), -1) is None
    assert driver.call("checked_modulo_llong", -(2**63), -1) == 0


@pytest.mark.parametrize("type_name", ["llong", "ullong"])
@MANY
@given(data=st.data())
def test_shifts(driver: Driver, type_name: str, data: st.DataObject) -> None:
    a, bits = data.draw(near_limits(type_name)), data.draw(st.integers(0, 70))
    left = within(type_name, a << bits)
    assert driver.call(f"checked_shift_left_{type_name}", a, bits) == left
    assert driver.call(f"shift_right_{type_name}", a, bits) == a >> bits


def test_shifts_by_absurd_numbers(driver: Driver) -> None:
    assert driver.call("checked_shift_left_llong", 1, 2**64 - 1) is None
    assert driver.call("checked_shift_left_llong", 0, 2**64 - 1) == 0
    assert driver.call("shift_right_llong", -5, 2**64 - 1) == -1
    assert driver.call("shift_right_ullong", 5, 2**64 - 1) == 0


@pytest.mark.parametrize("source", ["llong", "ullong"])
@pytest.mark.parametrize("target", list(LIMITS))
@MANY
@given(data=st.data())
def test_integer_cast(driver: Driver, source: str, target: str, data: st.DataObject) -> None:
    x = data.draw(near_limits(source))
    assert driver.call(f"cast_{source}_{target}", x) == within(target, x)


@pytest.mark.parametrize("target", list(LIMITS))
@MANY
@given(x=st.floats() | near_limits("llong").map(float) | near_limits("int").map(lambda i: i - 0.5))
@example(x=2.0**64)
@example(x=-(2.0**63))
@example(x=math.nextafter(-(2.0**63), -math.inf))
@example(x=-0.9)
@example(x=-1.0)
def test_float_cast(driver: Driver, target: str, x: float) -> None:
    expected = within(target, math.trunc(x)) if math.isfinite(x) else None
    assert driver.call(f"cast_float_{target}", x) == expected


def test_float_division(driver: Driver) -> None:
    assert driver.call("checked_divide_float", 1.0, 4.0) == 0.25
    assert driver.call("checked_divide_float", 1.0, -0.0) is None
    assert driver.call("checked_modulo_float", -7.5, 2.0) == -1.5
    assert driver.call("checked_modulo_float", 1.0, 0.0) is None


@MANY
@given(near_limits("llong"))
def test_negation(driver: Driver, x: int) -> None:
    assert driver.call("checked_negate_llong", x) == within("llong", -x)


@MANY
@given(near_limits("llong").filter(lambda x: x > 0), near_limits("llong"))
def test_time_bucket(driver: Driver, width_ns: int, timestamp_ns: int) -> None:
    start = timestamp_ns // width_ns * width_ns
    assert driver.call("time_bucket", width_ns, timestamp_ns) == within("llong", start)
    assert driver.call("floor_divide_llong", timestamp_ns, width_ns) == timestamp_ns // width_ns

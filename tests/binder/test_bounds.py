# SPDX-License-Identifier: Apache-2.0
"""Steps of bounds against their definitions: sound, tight, the inverse least, C equal to Python."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.gsql.order import bounds
from gigastream.gsql.order.bounds import END, NONE, Step
from gigastream.paths import include_directory


def _truncated(x: int, c: int) -> int:
    return abs(x) // c if x >= 0 else -(abs(x) // c)


FUNCTIONS: dict[type[Step], Callable[[int, int], int]] = {
    bounds.Add: lambda x, c: x + c,
    bounds.Multiply: lambda x, c: x * c,
    bounds.Divide: _truncated,
    bounds.FloorDivide: lambda x, c: x // c,
    bounds.CeilingDivide: lambda x, c: -(-x // c),
    bounds.FloorMultiple: lambda x, c: x // c * c,
    bounds.CeilingMultiple: lambda x, c: -(-x // c) * c,
    bounds.AtLeast: max,
    bounds.AtMost: min,
    bounds.NegativeReciprocal: lambda x, c: -(c // max(x, 1)),
    bounds.Reciprocal: lambda x, c: c // max(-x, 1),
}
"""What each step computes, written as a definition."""

OF_ANY_SIGN = (bounds.Add, bounds.AtLeast, bounds.AtMost)

small = st.integers(-300, 300)
wide = st.one_of(small, st.integers(NONE, END), st.sampled_from([NONE, NONE + 1, END - 1, END]))


@st.composite
def steps(draw: st.DrawFn, most: int = 50) -> Step:
    kind = draw(st.sampled_from(sorted(FUNCTIONS, key=lambda kind: kind.__name__)))
    least = -most if kind in OF_ANY_SIGN else 1
    return kind(draw(st.integers(least, most)))


@given(steps(), small)
def test_forward_is_the_function_of_the_bound(step: Step, bound: int) -> None:
    """Sound, as the function never falls, and tight, as the bound itself may be a value."""
    function = FUNCTIONS[type(step)]
    assert step.forward(bound) == function(bound, step.constant)
    assert function(bound + 1, step.constant) >= function(bound, step.constant)


@given(steps(), small)
def test_inverse_is_the_least_that_reaches_the_value(step: Step, value: int) -> None:
    function = FUNCTIONS[type(step)]
    least = step.inverse(value)
    if least == NONE:
        assert all(function(x, step.constant) >= value for x in range(-400, 400))
    elif least == END:
        assert all(function(x, step.constant) < value for x in range(-400, 400))
    else:
        assert function(least, step.constant) >= value
        assert function(least - 1, step.constant) < value


@given(steps(most=END - 1), wide)
def test_saturation_never_promises_more(step: Step, bound: int) -> None:
    found = step.forward(bound)
    if bound in (NONE, END):
        assert found == bound
    else:
        exact = FUNCTIONS[type(step)](bound, step.constant)
        assert NONE <= found < END
        assert found <= exact or found == NONE
        assert found == exact or exact >= END or exact <= NONE


@given(steps(most=END - 1), wide)
def test_inverse_of_any_value_reaches_it(step: Step, value: int) -> None:
    least = step.inverse(value)
    if NONE < least < END and NONE < value < END:
        function = FUNCTIONS[type(step)]
        assert function(least, step.constant) >= value > function(least - 1, step.constant)


@pytest.mark.parametrize(
    ("left", "right", "sum_"),
    [(1, 2, 3), (NONE, 2, NONE), (NONE, END, END), (END, 1, END), (END - 1, END - 1, END - 1)],
)
def test_total(left: int, right: int, sum_: int) -> None:
    assert bounds.total(left, right) == sum_
    assert bounds.total(right, left) == sum_


# C

_C_PROGRAM = """
#include "gs_bounds.h"
#include <inttypes.h>
#include <stdio.h>
int main(void)
{
    const gs_bound b[] = {%(bounds)s};
    for (unsigned i = 0; i < sizeof b / sizeof *b; i++) {
%(steps)s
    }
    return 0;
}
"""

_VALUES = [NONE, NONE + 1, -(1 << 62), -61, -60, -59, -1, 0, 1, 59, 60, 61, 1 << 40, END - 1, END]
_CONSTANTS = [1, 2, 60, 64, (1 << 62), END - 1]


def _compiled(tmp_path: Path, calls: list[str]) -> list[int]:
    steps_text = "".join(f'        printf("%" PRId64 "\\n", {call});\n' for call in calls)
    values = ", ".join(bounds.c_integer(value) for value in _VALUES)
    source = tmp_path / "bounds.c"
    source.write_text(_C_PROGRAM % {"bounds": values, "steps": steps_text})
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    flags += ["-fno-sanitize-recover=all", f"-I{include_directory()}"]
    program = tmp_path / "bounds"
    subprocess.run(["cc", *flags, "-o", str(program), str(source)], check=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]


def test_c_is_the_same(tmp_path: Path) -> None:
    steps_of_all = [
        kind(constant)
        for kind in FUNCTIONS
        for constant in [*_CONSTANTS, *([-7, 0, NONE + 1] if kind in OF_ANY_SIGN else [])]
    ]
    found = _compiled(tmp_path, [step.c("b[i]") for step in steps_of_all])
    expected = [step.forward(value) for value in _VALUES for step in steps_of_all]
    assert found == expected


def test_c_of_two_bounds_is_the_same(tmp_path: Path) -> None:
    functions = {"sum": bounds.total, "min": min, "max": max}
    pairs = [(name, value) for name in functions for value in _VALUES]
    calls = [f"gs_bound_{name}(b[i], {bounds.c_integer(value)})" for name, value in pairs]
    found = _compiled(tmp_path, calls)
    assert found == [functions[name](left, right) for left in _VALUES for name, right in pairs]


@settings(max_examples=30)
@given(st.integers(-(1 << 31), 1 << 31))
def test_a_step_back_and_forth(value: int) -> None:
    """Time carried to minutes and asked back for is the first second of the minute."""
    minutes = bounds.Divide(60)
    assert minutes.forward(minutes.inverse(value)) == value


def test_c_of_values_that_fall(tmp_path: Path) -> None:
    """An ullong's negative may be below all bounds, an llong's above them."""
    values = {
        "INT64_MAX": -END,
        "UINT64_C(1) << 63": NONE,
        "UINT64_MAX": NONE,
        "INT64_MIN": END - 1,
    }
    found = _compiled(tmp_path, [f"gs_bound_neg({value})" for value in values])
    assert found[: len(values)] == list(values.values())

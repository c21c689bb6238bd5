# SPDX-License-Identifier: Apache-2.0
"""How far the values of a monotone expression are apart: 60 of `time/60*60`, 1 of `time/60`."""

from __future__ import annotations

from math import gcd

from gigastream.gsql.order import bounds
from gigastream.gsql.order.functions import BoundFunction, Extreme, Leaf, Part, Stepped

_DIVIDING = (bounds.Divide, bounds.FloorDivide, bounds.CeilingDivide)
_ROUNDING = (bounds.FloorMultiple, bounds.CeilingMultiple)
_LIMITING = (bounds.AtLeast, bounds.AtMost)


def step_of(function: BoundFunction) -> int:
    """What divides the distance of any two values, over inputs that are whole numbers."""
    found: list[int] = []
    for part in function.parts:
        found.append(_step(part, found))
    return found[-1]


def _step(part: Part, earlier: list[int]) -> int:
    if isinstance(part, Leaf):
        return 1
    if isinstance(part, Stepped):
        return _stepped(part.step, earlier[part.inner])
    if isinstance(part, Extreme):
        return 1  # of two that are as far apart, each at places of its own
    return gcd(*(earlier[number] for number in part.over))


def _stepped(step: bounds.Step, inner: int) -> int:
    constant = step.constant
    if isinstance(step, bounds.Add):
        return inner
    if isinstance(step, _LIMITING):
        return 1  # the constant may stand between two values
    if isinstance(step, bounds.Multiply):
        return inner * constant
    if isinstance(step, _ROUNDING):
        return inner if inner % constant == 0 else constant
    divides = isinstance(step, _DIVIDING) and inner % constant == 0
    return inner // constant if divides else 1

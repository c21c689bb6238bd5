# SPDX-License-Identifier: Apache-2.0
"""Between which values columns lie whose bounds are these values themselves.

A window is known by the values of its group variables, none of which is beyond bounds. What is
computed of them in unsigned numbers of 64 bits may be, from 2^63 on, where bounds saturate: these,
and those of what is computed of it in turn, are of another window then. Signed numbers that go
beyond have no value.
"""

from __future__ import annotations

from gigastream.gsql.expressions import ColumnRef, Expression, GroupRef
from gigastream.gsql.order.ranges import Known, Range, fits, range_of, within
from gigastream.gsql.order.rules import rule_of
from gigastream.gsql.types import Type


def window_range(expression: Expression, known: Known = ()) -> Range | None:
    """Of a group variable that makes windows: a row beyond bounds is in none. None for others."""
    if not expression.temporal.is_temporal:
        return None
    return within(range_of(expression, known), Type.LLONG.limits)


def exact_range(expression: Expression, known: Known) -> Range | None:
    """Of a temporal expression over what is known; None where its bounds may not be its values."""
    if not expression.temporal.is_temporal:
        return None
    rule = rule_of(expression)
    if rule is None:
        return _known(expression, known)
    if any(exact_range(operand, known) is None for operand in rule.operands):
        return None
    values = range_of(expression, known)
    return values if fits(values, Type.LLONG) else None


def _known(leaf: Expression, known: Known) -> Range | None:
    if isinstance(leaf, ColumnRef | GroupRef) and leaf.index < len(known):
        return known[leaf.index]
    return None

# SPDX-License-Identifier: Apache-2.0
"""`x = a OR x = b OR …` is `x IN [a, b, …]`, and `x <> a AND x <> b AND …` is NOT IN.

Generated text compares as people do: with thousands of constants a list is a sorted table, a chain
of comparisons is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.expressions import Constant, Expression, Operation
from gigastream.gsql.types import Type

LIST_FROM = 5
"""So many comparisons of one value are a list; fewer stay as they were written."""

_COMPARISON = {"OR": "=", "AND": "<>"}


def lists_of_constants(operator: str, operands: Sequence[Expression]) -> list[Expression]:
    """The operands of AND or OR; where the first of a long list stood, the list stands."""
    members = [_member(_COMPARISON[operator], operand) for operand in operands]
    lists: dict[Expression, list[Constant]] = {}
    for member in members:
        if member is not None:
            lists.setdefault(member[0], []).append(member[1])
    kept: dict[Expression | int, Expression] = {}
    for index, (operand, member) in enumerate(zip(operands, members, strict=True)):
        if member is None or len(lists[member[0]]) < LIST_FROM:
            kept[index] = operand
        elif member[0] not in kept:
            kept[member[0]] = _list(operator, member[0], lists[member[0]], operand)
    return list(kept.values())


def _member(comparison: str, operand: Expression) -> tuple[Expression, Constant] | None:
    """What is compared with which constant; None for every other condition."""
    if not (isinstance(operand, Operation) and operand.operator == comparison):
        return None
    left, right = operand.operands
    if isinstance(left, Constant):
        left, right = right, left
    if left.type is Type.BOOL or not isinstance(right, Constant) or right.value is None:
        return None
    return None if isinstance(left, Constant) else (left, right)


def _list(
    operator: str, value: Expression, constants: list[Constant], first: Expression
) -> Expression:
    result = Operation(
        type=Type.BOOL,
        nullable=value.nullable,
        operator="IN",
        operands=(value, *constants),
        span=first.span,
    )
    if operator == "OR":
        return result
    return Operation(
        type=Type.BOOL,
        nullable=value.nullable,
        operator="NOT",
        operands=(result,),
        span=first.span,
    )

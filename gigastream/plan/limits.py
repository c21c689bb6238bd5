# SPDX-License-Identifier: Apache-2.0
"""What the engine has only so much room for: a query that needs more of it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import Expression, Operation
from gigastream.gsql.source import NOWHERE, Span
from gigastream.plan.plan import Plan

MAX_TEMPORAL = 32
"""GS_TEMPORAL_MAX of csrc/abi/gs_lfta_table.h: bounds of one stream, or of one aggregation."""


MAX_PARTS = 25_000
"""Operations that one node may have: a compiler's time grows faster than a function does.

1,000 sums of different expressions are 14,000 and take gcc 20 s, 1,500 pairs of fields 1 s."""
MAX_PARTS_OF_SET = 150_000
"""Of all nodes; 1,500 queries in a chain are 40,000 and take gcc 19 s."""
_PARTS_OF_NODE = 25


def check_limits(plan: Plan) -> None:
    """GsqlError at the first expression that is one too many, or too large."""
    _check_size(plan)
    for node in plan.nodes:
        followed = [e for e in node.bounded if e.temporal.is_temporal]
        if len(followed) > MAX_TEMPORAL:
            message = f"more than {MAX_TEMPORAL} temporal columns"
            hint = "non_temporal(…) makes one that need not be followed"
            span = followed[MAX_TEMPORAL].span
            raise GsqlError([Diagnostic("error", "too-many-temporal", message, span, hint)])


def _check_size(plan: Plan) -> None:
    """Estimate the generated code: what stays too large for a compiler is refused."""
    functions = [[(e, 0) for e in plan.prefilter], *(list(node.evaluated) for node in plan.nodes)]
    whole = 0
    for expressions in functions:
        sizes = [(parts_of(e) + extra, e.span) for e, extra in expressions]
        size = sum(size for size, _ in sizes)
        whole += size + _PARTS_OF_NODE
        largest = max(sizes, key=lambda item: item[0])[1] if sizes else NOWHERE
        if size > MAX_PARTS:
            _refuse_size(f"about {size:,} operations here", MAX_PARTS, largest)
        if whole > MAX_PARTS_OF_SET:
            _refuse_size("the queries up to this one", MAX_PARTS_OF_SET, largest)


def _refuse_size(what: str, limit: int, span: Span) -> NoReturn:
    message = f"{what} would keep the C compiler for minutes"
    hint = (
        f"at most about {limit:,} operations: a list behind IN counts as one; "
        "or split what is asked into several runs"
    )
    raise GsqlError([Diagnostic("error", "too-large", message, span, hint)])


def parts_of(expression: Expression) -> int:
    """Operations, fields and constants of an expression; what becomes a table is one of them."""
    return 1 + sum(map(parts_of, _children(expression)))


def _children(expression: Expression) -> Sequence[Expression]:
    children = expression.children
    if not isinstance(expression, Operation):
        return children
    if expression.operator == "IN":
        return children[:1]
    if expression.operator != "OR":
        return children
    # prefixes in which one address is looked for
    tests = [e for e in children if isinstance(e, Operation) and e.operator == "IS_PREFIX"]
    others = [e for e in children if getattr(e, "operator", "") != "IS_PREFIX"]
    return [*others, *{e.operands[0]: None for e in tests}]

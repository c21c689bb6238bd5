# SPDX-License-Identifier: Apache-2.0
"""What the high level's operators have in common as C: expressions, bounds, conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.codegen.bounds import Carried, write_carried
from gigastream.codegen.c_text import Lines, comment
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue, ExpressionWriter
from gigastream.gsql.expressions import (
    Expression,
    FunctionCall,
    walk,
)
from gigastream.gsql.order.inference import monotone
from gigastream.plan.text import expression_text


def operator_writer(
    lines: Lines, context: CodeContext, leaf: Callable[[Expression], CValue], fail: str
) -> ExpressionWriter:
    """Expressions of an operator, whose values are `leaf`'s; `fail` is where there is none."""

    def handles(call: FunctionCall) -> str:
        return f"op->handles[{context.handle(call)}]"

    return ExpressionWriter(lines, leaf, f"{{ {fail} }}", handles, "op->scratch")


def note_calls(context: CodeContext, expressions: Sequence[Expression]) -> None:
    """Tell the context which functions these call."""
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, FunctionCall):
                context.called(node)


def write_bounds(lines: Lines, name: str, functions: Sequence[Carried]) -> None:
    """A gs_carry_function."""
    head = f"static void {name}(const struct gs_punctuation *inputs, gs_bound *output)"
    with lines.block(head):
        lines.add("(void)inputs, (void)output;")
        write_carried(lines, "output", functions)
    lines.add("")


def over_columns(expression: Expression) -> Carried:
    """The monotone function that an expression is, if it is one, and the bounds it is asked of."""
    function = monotone(expression)
    items = () if function is None else function.inputs
    return function, [f"inputs[{item.port}].bounds[{item.index}]" for item in items]


def write_where(lines: Lines, writer: ExpressionWriter, predicates: Sequence[Expression]) -> None:
    """Leave a row behind that a condition does not hold of."""
    for predicate in predicates:
        lines.add(comment(expression_text(predicate)))
        with lines.block(f"if (!({writer.truth(predicate)}))"):
            lines.add("op->counters.rejected++;", "continue;")

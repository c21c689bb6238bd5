# SPDX-License-Identifier: Apache-2.0
"""Operators of the high level as C: which is written how, and selections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gigastream.codegen.c_text import Lines, comment
from gigastream.codegen.columns import (
    column_leaf,
    write_inputs,
    write_row,
    write_schema,
)
from gigastream.codegen.context import CodeContext
from gigastream.codegen.high_aggregate import write_aggregate
from gigastream.codegen.high_order import write_order
from gigastream.codegen.high_parts import (
    note_calls,
    operator_writer,
    over_columns,
    write_bounds,
    write_where,
)
from gigastream.plan.nodes import Node
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.limit import Limit
from gigastream.plan.operators.order_limit import OrderLimit
from gigastream.plan.operators.output import Output
from gigastream.plan.operators.select import Select
from gigastream.plan.operators.union import Union
from gigastream.plan.text import expression_text


def write_high(lines: Lines, context: CodeContext, node: Node) -> None:
    """Everything of one operator: schema, functions, `<prefix>_ops`."""
    prefix = context.prefix(f"{type(node).__name__}_{node.name}")
    lines.add(comment(f"{type(node).__name__} {node.name}"))
    write_schema(lines, prefix, node.name, node.schema)
    _WRITERS[type(node)](lines, context, prefix, node)


def operator_kind(node: Node) -> str:
    """The enum gs_operator_kind of a node."""
    return _KINDS[type(node)]


_KINDS = {
    Select: "GS_OPERATOR_SELECT",
    Aggregate: "GS_OPERATOR_AGGREGATE",
    Union: "GS_OPERATOR_UNION",
    OrderLimit: "GS_OPERATOR_ORDER",
    Limit: "GS_OPERATOR_LIMIT",
    Output: "GS_OPERATOR_OUTPUT",
}


def _write_select(lines: Lines, context: CodeContext, prefix: str, node: Select) -> None:
    read = [*node.predicates, *(output.expression for output in node.outputs)]
    note_calls(context, read)
    head = f"static void {prefix}_rows(struct gs_operator *op, const struct gs_batch *input)"
    with lines.block(head):
        write_inputs(lines, read, "input")
        with lines.block("for (uint32_t row = 0; row < input->row_count; row++)"):
            lines.add("op->scratch->used = 0;")
            _write_selected(lines, context, node)
    lines.add("")
    functions = [over_columns(output.expression) for output in node.outputs]
    write_bounds(lines, f"{prefix}_bounds", functions)
    with lines.block(f"static const struct gs_operator_ops {prefix}_ops =", "};"):
        lines.add(f".rows = {prefix}_rows,", f".bounds = {prefix}_bounds,")
    lines.add("")


def _write_selected(lines: Lines, context: CodeContext, node: Select) -> None:
    leaf = column_leaf("input", "row")
    writer = operator_writer(lines, context, leaf, "op->counters.no_value++; continue;")
    write_where(lines, writer, node.predicates)
    values = []
    for index, output in enumerate(node.outputs):
        lines.add(comment(f"{expression_text(output.expression)} AS {output.name}"))
        values.append(writer.local(output.expression, f"o{index}"))
    write_row(lines, "op", "operator", node.schema, values, "continue")


def _write_limit(lines: Lines, context: CodeContext, prefix: str, node: Limit) -> None:
    with lines.block(f"static const struct gs_operator_ops {prefix}_ops =", "};"):
        lines.add(f".limit = UINT64_C({node.limit}),")
    lines.add("")


def _write_nothing(lines: Lines, context: CodeContext, prefix: str, node: Node) -> None:
    lines.add(f"static const struct gs_operator_ops {prefix}_ops;", "")


_WRITERS: dict[type[Node], Callable[[Lines, CodeContext, str, Any], None]] = {
    Select: _write_select,
    Aggregate: write_aggregate,
    Union: _write_nothing,
    OrderLimit: write_order,
    Limit: _write_limit,
    Output: _write_nothing,
}

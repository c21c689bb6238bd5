# SPDX-License-Identifier: Apache-2.0
"""Selection above the border as C."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines, comment
from gigastream.codegen.columns import column_leaf, write_inputs, write_row
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.codegen.operators.high_parts import (
    note_calls,
    operator_writer,
    over_columns,
    write_bounds,
    write_where,
)
from gigastream.plan.operators.select import Select
from gigastream.plan.text import expression_text


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
    members = (f".rows = {prefix}_rows,", f".bounds = {prefix}_bounds,")
    write_ops(lines, "select", prefix, *members)


def _write_selected(lines: Lines, context: CodeContext, node: Select) -> None:
    leaf = column_leaf(("input", "row"))
    writer = operator_writer(lines, context, leaf, "op->counters.no_value++; continue;")
    write_where(lines, writer, node.predicates)
    values = []
    for index, output in enumerate(node.outputs):
        lines.add(comment(f"{expression_text(output.expression)} AS {output.name}"))
        values.append(writer.local(output.expression, f"o{index}"))
    write_row(lines, "op", "operator", node.schema, values, "continue")


CODE = HighCode(_write_select)

# SPDX-License-Identifier: Apache-2.0
"""Grouping sets as C: a row is copied for each set. Bounds and requests are a selection's."""

from __future__ import annotations

from gigastream.codegen.c_text import C_TYPE, Lines
from gigastream.codegen.columns import column_leaf, write_inputs, write_row
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.codegen.operators.high_parts import over_columns, write_bounds
from gigastream.plan.operators.expand import Expand


def _write_expand(lines: Lines, context: CodeContext, prefix: str, node: Expand) -> None:
    masks = ", ".join(f"{mask:#x}u" for mask in node.grouping.masks)
    places = [i for i in range(len(node.schema.columns)) if i != node.mask]
    head = f"static void {prefix}_rows(struct gs_operator *op, const struct gs_batch *input)"
    with lines.block(head):
        write_inputs(lines, [node.read(place) for place in places], "input")
        lines.add(f"static const uint32_t masks[] = {{{masks}}};")
        values = [_value(node, index) for index in range(len(node.schema.columns))]
        with (
            lines.block("for (uint32_t row = 0; row < input->row_count; row++)"),
            lines.block(f"for (uint32_t set = 0; set < {len(node.grouping.masks)}; set++)"),
        ):
            write_row(lines, "op", "operator", node.schema, values, "continue")
    lines.add("")
    carried = [
        over_columns(node.read(index)) if column.temporal.is_temporal else (None, [])
        for index, column in enumerate(node.schema.columns)
    ]
    write_bounds(lines, f"{prefix}_bounds", carried)
    write_ops(lines, "select", prefix, f".rows = {prefix}_rows,", f".bounds = {prefix}_bounds,")


def _value(node: Expand, column: int) -> CValue:
    """A column of the row of one set; of no length where the set lacks it."""
    if column == node.mask:
        return CValue("masks[set]", "")
    read, bit = node.read(column), node.lacking_bit(column)
    value = column_leaf(("input", "row"))(read)
    if bit is None:
        return value
    lacks = f"masks[set] & {1 << bit:#x}u"
    nothing = f"({C_TYPE[read.type]}){{0}}"
    null = f"({lacks}) || {value.null}" if value.null else f"({lacks})"
    return CValue(f"(({lacks}) ? {nothing} : {value.code})", null)


CODE = HighCode(_write_expand)

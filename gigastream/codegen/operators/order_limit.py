# SPDX-License-Identifier: Apache-2.0
"""ORDER BY … LIMIT at the high level as C: rows compared, and copied."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import Lines, bytes_differ
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.codegen.operators.row_copy import cell, write_copy
from gigastream.gsql.types import Type
from gigastream.plan.operators.order_limit import OrderLimit


def _write_order(lines: Lines, context: CodeContext, prefix: str, node: OrderLimit) -> None:
    keys = [(index, descending) for index, descending in node.keys]
    keys += [(index, False) for index in range(len(node.schema.columns))]
    _write_order_by(lines, node, f"{prefix}_compare", keys)
    if node.per:
        groups = [(index, False) for index in node.per]
        _write_order_by(lines, node, f"{prefix}_compare_groups", groups)
    write_copy(lines, prefix, node.schema)
    windows = ", ".join(map(str, node.held)) or "0"
    lines.add(f"static const uint32_t {prefix}_windows[] = {{{windows}}};")
    write_ops(
        lines,
        "order",
        prefix,
        f".compare = {prefix}_compare,",
        f".copy = {prefix}_copy,",
        f".temporal_count = {len(node.held)},",
        f".temporal_columns = {prefix}_windows,",
        f".limit = {'UINT64_MAX' if node.limit is None else f'UINT64_C({node.limit})'},",
        f".compare_groups = {f'{prefix}_compare_groups' if node.per else 'NULL'},",
    )


def _write_order_by(
    lines: Lines, node: OrderLimit, name: str, keys: Sequence[tuple[int, bool]]
) -> None:
    """A function that compares two rows by columns, each upwards or downwards."""
    head = (
        f"static int {name}(const struct gs_batch *a, uint32_t i, "
        "const struct gs_batch *b, uint32_t j)"
    )
    with lines.block(head):
        lines.add("int order;")
        for index, descending in keys:
            _write_compare(lines, node, index, descending)
        lines.add("return 0;")
    lines.add("")


def _write_compare(lines: Lines, node: OrderLimit, index: int, descending: bool) -> None:
    column = node.input.schema.columns[index]
    sign = "-" if descending else ""
    if column.nullable:
        lines.add("/* NULL stands below every value */")
        nulls = (
            f"(int)gs_column_is_null(&b->columns[{index}], j) - "
            f"(int)gs_column_is_null(&a->columns[{index}], i)"
        )
        lines.add(f"order = {nulls};", f"if (order != 0) return {sign}order;")
    a, b = (cell(column.type, batch, index, row) for batch, row in (("a", "i"), ("b", "j")))
    compare = "gs_string_compare" if column.type is Type.STRING else "GS_ORDER"
    order = bytes_differ(column.type, a, b) if column.type.is_opaque else f"{compare}({a}, {b})"
    lines.add(f"order = {order};", f"if (order != 0) return {sign}order;")


CODE = HighCode(_write_order)

# SPDX-License-Identifier: Apache-2.0
"""Rows that go into each of their windows as C: an aggregation in which a row has several."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines
from gigastream.codegen.columns import write_inputs
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.aggregate import (
    aggregate_reads,
    write_aggregate_functions,
    write_group_in,
    write_group_ops,
    write_row_values,
)
from gigastream.codegen.operators.group_out import write_group_out
from gigastream.codegen.operators.high_code import HighCode
from gigastream.plan.operators.slide_rows import SlideRows


def _write_slide_rows(lines: Lines, context: CodeContext, prefix: str, node: SlideRows) -> None:
    write_aggregate_functions(
        lines, context, prefix, node, node.window_groups, write_rows=_write_rows
    )
    write_group_out(lines, context, prefix, node)
    with lines.block(f"static const struct gs_slide_rows_ops {prefix}_ops =", "};"):
        write_group_ops(lines, "slide_rows", prefix, node)
        lines.add(f".panes = {_panes(node)},")
    lines.add("")


def _panes(node: SlideRows) -> str:
    return f"{{.range = {node.range}, .slide = {node.slide}}}"


def _write_rows(lines: Lines, context: CodeContext, prefix: str, node: SlideRows) -> None:
    """A row's values are computed once."""
    head = f"static void {prefix}_rows(struct gs_operator *op, const struct gs_batch *input)"
    with lines.block(head):
        write_inputs(lines, aggregate_reads(node), "input")
        lines.add(
            f"const struct gs_sliding panes = {_panes(node)};",
            f"struct {prefix}_row rows[1];",
            "const uint32_t count = 0, at = 0;",
        )
        with lines.block("for (uint32_t row = 0; row < input->row_count; row++)"):
            write_row_values(lines, context, prefix, node)
            _write_windows(lines, prefix, node)
    lines.add("")


def _write_windows(lines: Lines, prefix: str, node: SlideRows) -> None:
    """One that comes too late for its first window is late for all, as over panes."""
    others = "".join(f", w{k}" for k in range(1, len(node.temporal_groups)))
    lines.add(
        "const struct gs_window_ids ids = gs_sliding_ids(panes, w0);",
        "const uint64_t late = op->counters.no_value;",
    )
    with lines.block("for (uint64_t next = 0; next < ids.count; next++)"):
        lines.add(
            f"const gs_bound window[] = {{ids.first + (gs_bound)next{others}}};",
            "r->table = op->host->group_window(op, window);",
            "if (op->counters.no_value != late) break;",
            "if (r->table == NULL) continue;",
        )
        write_group_in(lines, prefix, node)


CODE = HighCode(_write_slide_rows)

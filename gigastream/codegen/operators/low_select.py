# SPDX-License-Identifier: Apache-2.0
"""Selection below the border as C."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines, comment
from gigastream.codegen.columns import write_row
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.low_code import LowCode
from gigastream.codegen.operators.low_filter import (
    write_conditions,
    write_filter_time,
    write_filter_types,
)
from gigastream.codegen.operators.low_packets import burst_function, each_packet
from gigastream.codegen.operators.low_parts import TupleWriter
from gigastream.plan.operators.low_select import LowSelect
from gigastream.plan.text import expression_text


def _write_selection(lines: Lines, context: CodeContext, prefix: str, node: LowSelect) -> None:
    write_filter_types(lines, prefix, node)
    with burst_function(lines, context, prefix, node):
        lines.add("const struct burst_columns *columns = memory;")
        write_filter_time(lines, node)
        with each_packet(lines, context, node) as tuple_writer:
            _write_selected(lines, context, prefix, node, tuple_writer)


def _write_selected(
    lines: Lines, context: CodeContext, prefix: str, node: LowSelect, tuple_writer: TupleWriter
) -> None:
    write_conditions(lines, context, prefix, node, tuple_writer)
    tuple_writer.load(*(output.expression for output in node.outputs))
    values = []
    for index, output in enumerate(node.outputs):
        lines.add(comment(f"{expression_text(output.expression)} AS {output.name}"))
        values.append(tuple_writer.writer.local(output.expression, f"o{index}"))
    lines.add("lfta->counters.accepted++;")
    write_row(lines, "lfta", "lfta", node.schema, values, "continue")


CODE = LowCode("SELECTION", _write_selection, has_table=False)

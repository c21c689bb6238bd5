# SPDX-License-Identifier: Apache-2.0
"""Sort as C: how a row is copied, by which column, and what puts equal ones in order."""

from __future__ import annotations

from gigastream.codegen.c_text import C_TYPE, Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.keys import write_hash
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.codegen.operators.row_copy import cell, write_copy
from gigastream.gsql.types import Schema
from gigastream.plan.operators.sort import Sort

_POSITION_BITS = 48
"""Of a packet's place in its source, below the number of its interface."""


def _write_sort(lines: Lines, context: CodeContext, prefix: str, node: Sort) -> None:
    write_copy(lines, prefix, node.schema)
    members = [f".copy = {prefix}_copy,", f".column = {node.column},"]
    if node.ties:
        _write_place(lines, prefix, node)
        members.append(f".place = {prefix}_place,")
    write_ops(lines, "sort", prefix, *members)


def _write_place(lines: Lines, prefix: str, node: Sort) -> None:
    """Packets stand by interface and position; rows by all that they are, in any one order."""
    head = f"static uint64_t {prefix}_place(const struct gs_batch *input, uint32_t row)"
    with lines.block(head):
        if len(node.ties) == len(node.schema.columns):
            _write_hash_of_all(lines, node.schema)
        else:
            interface, position = (
                cell(node.schema.columns[index].type, "input", index, "row") for index in node.ties
            )
            low = f"{position} & ((UINT64_C(1) << {_POSITION_BITS}) - 1)"
            lines.add(f"return {interface} << {_POSITION_BITS} | ({low});")
    lines.add("")


def _write_hash_of_all(lines: Lines, schema: Schema) -> None:
    """By a key that is the same in every run; rows that differ in nothing need no order."""
    lines.add("static const uint64_t key[2] = {1, 2};")
    for index, column in enumerate(schema.columns):
        value = cell(column.type, "input", index, "row")
        lines.add(f"{C_TYPE[column.type]} v{index} = {value};")
        if column.nullable:
            lines.add(
                f"const uint8_t null{index} = gs_column_is_null(&input->columns[{index}], row);",
                f"if (null{index}) memset(&v{index}, 0, sizeof v{index});",
            )
    types = [column.type for column in schema.columns]
    write_hash(lines, "hash", "key", types, [f"v{index}" for index in range(len(types))])
    for index, column in enumerate(schema.columns):
        if column.nullable:
            lines.add(f"hash = gs_hash_word(hash, null{index}, key);")
    lines.add("return hash;")


CODE = HighCode(_write_sort)

# SPDX-License-Identifier: Apache-2.0
"""Sort as C: how a row is copied, and by which column."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.codegen.operators.row_copy import write_copy
from gigastream.plan.operators.sort import Sort


def _write_sort(lines: Lines, context: CodeContext, prefix: str, node: Sort) -> None:
    write_copy(lines, prefix, node.schema)
    members = (f".copy = {prefix}_copy,", f".column = {node.column},")
    write_ops(lines, "sort", prefix, *members)


CODE = HighCode(_write_sort)

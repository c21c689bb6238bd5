# SPDX-License-Identifier: Apache-2.0
"""Merge as C: how a row is copied, by which column, and how far an input may step back."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.codegen.operators.row_copy import write_copy
from gigastream.plan.operators.merge import Merge


def _write_merge(lines: Lines, context: CodeContext, prefix: str, node: Merge) -> None:
    write_copy(lines, prefix, node.schema)
    slack = f".slack = UINT64_C({node.slack}),"
    write_ops(lines, "merge", prefix, f".copy = {prefix}_copy,", f".column = {node.column},", slack)


CODE = HighCode(_write_merge)

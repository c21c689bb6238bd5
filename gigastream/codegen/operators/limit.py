# SPDX-License-Identifier: Apache-2.0
"""LIMIT of a selection as C: how many rows."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.plan.operators.limit import Limit


def _write_limit(lines: Lines, context: CodeContext, prefix: str, node: Limit) -> None:
    write_ops(lines, "limit", prefix, f".limit = UINT64_C({node.limit}),")


CODE = HighCode(_write_limit)

# SPDX-License-Identifier: Apache-2.0
"""LIMIT of a selection as C: how many rows."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.high_code import HighCode
from gigastream.plan.operators.limit import Limit


def _write_limit(lines: Lines, context: CodeContext, prefix: str, node: Limit) -> None:
    with lines.block(f"static const struct gs_operator_ops {prefix}_ops =", "};"):
        lines.add(f".limit = UINT64_C({node.limit}),")
    lines.add("")


CODE = HighCode("LIMIT", _write_limit)

# SPDX-License-Identifier: Apache-2.0
"""Values of a row as members of a C struct, each with whether it is NULL where it may be."""

from __future__ import annotations

from gigastream.codegen.c_text import C_TYPE, Lines, is_struct
from gigastream.codegen.expressions import ExpressionWriter
from gigastream.gsql.expressions import Expression


def declare_member(lines: Lines, e: Expression, name: str) -> None:
    """The members of a struct that keep the value of `e`."""
    lines.add(f"{C_TYPE[e.type]} {name};")
    if e.nullable:
        lines.add(f"bool {name}_null;")


def write_member(lines: Lines, writer: ExpressionWriter, e: Expression, to: str) -> None:
    """Keep the value of `e` in the members `to` and `to`_null; NULL is zero there."""
    value = writer.value(e)
    lines.add(f"{to} = {value.code};")
    if e.nullable:
        lines.add(f"{to}_null = {value.null or '0'};")
        if is_struct(e.type):
            lines.add(f"if ({to}_null) memset(&{to}, 0, sizeof {to});")
        else:
            lines.add(f"if ({to}_null) {to} = 0;")

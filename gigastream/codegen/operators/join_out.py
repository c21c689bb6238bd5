# SPDX-License-Identifier: Apache-2.0
"""Rows that a join puts out, as C: of both sides, or of a kept one alone."""

from __future__ import annotations

from gigastream.codegen.c_text import C_TYPE, Lines, zero
from gigastream.codegen.columns import write_row
from gigastream.codegen.expressions import CValue
from gigastream.codegen.operators.join_rows import Member, Side, Sides
from gigastream.gsql.types import Type
from gigastream.plan.operators.join import Join, JoinedColumn

ROWS = ("a", "b")
"""What the rows of the sides are called in C; NULL where a side is absent."""


def write_out(lines: Lines, prefix: str, node: Join, sides: Sides) -> None:
    """`<prefix>_out`, and `<prefix>_alone` where a side is kept."""
    rows = ", ".join(f"const struct {prefix}_row{port} *{ROWS[port]}" for port in (0, 1))
    with lines.block(f"static inline void {prefix}_out(struct gs_operator *op, {rows})"):
        marks = [_present(node, port, f"{ROWS[port]}->row.is_partial", "false") for port in (0, 1)]
        lines.add(
            f"const bool is_partial = {marks[0]} || {marks[1]};",
            "if (GS_UNLIKELY(op->output->is_partial != is_partial)) "
            "op->host->operator_mark(op, is_partial);",
        )
        values = [
            _value(node, sides, column, put_out.type)
            for column, put_out in zip(node.columns, node.schema.columns, strict=True)
        ]
        write_row(lines, "op", "operator", node.schema, values, "return")
    lines.add("")
    if any(node.keeps):
        _write_alone(lines, prefix, node)


def _write_alone(lines: Lines, prefix: str, node: Join) -> None:
    head = (
        f"static void {prefix}_alone(struct gs_operator *op, uint32_t side, "
        "const struct gs_join_row *row)"
    )
    with lines.block(head):
        for port in (0, 1):
            if node.keeps[port]:
                lines.add(f"if (side == {port}) {alone(prefix, port, 'row')}")
        lines.add("(void)side;")
    lines.add("")


def alone(prefix: str, port: int, row: str) -> str:
    """Statement: a row of a side goes out without the other."""
    both = ["NULL", "NULL"]
    both[port] = f"(const struct {prefix}_row{port} *){row}"
    return f"{prefix}_out(op, {', '.join(both)});"


def _present(node: Join, port: int, present: str, absent: str) -> str:
    """C expression: of a side that is absent where the other one alone is put out."""
    if not node.keeps[1 - port]:
        return present
    return f"({ROWS[port]} != NULL ? {present} : {absent})"


def _value(node: Join, sides: Sides, column: JoinedColumn, type_: Type) -> CValue:
    first, second = (
        None if place is None else _cell(sides[port], place)
        for port, place in enumerate(column.places)
    )
    if first is None or second is None:
        port, cell = (0, first) if second is None else (1, second)
        assert cell is not None
        code = _present(node, port, cell.code, zero(type_))
        null = _present(node, port, cell.null or "false", "true")
        return CValue(code, "" if null == "false" else null)
    if not node.keeps[1]:
        return first
    null = f"(a != NULL ? {first.null or 'false'} : {second.null or 'false'})"
    codes = [
        _widened(cell.code, node.inputs[port].schema.columns[place].type, type_)
        for port, (cell, place) in enumerate(zip((first, second), column.places, strict=True))
        if place is not None
    ]
    return CValue(f"(a != NULL ? {codes[0]} : {codes[1]})", null)


def _widened(code: str, from_: Type, to: Type) -> str:
    """Of equated columns of two types the one that is wider is put out."""
    if from_ is to:
        return code
    if to is Type.INET:
        return f"gs_inet_from_ip({code})" if from_ is Type.IP else code
    return f"(({C_TYPE[to]}){code})"


def _cell(side: Side, place: int) -> CValue:
    (column,) = (c for c in side.columns if c.index == place)
    return Member(f"c{place}", column).cell(ROWS[side.port])

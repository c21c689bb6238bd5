# SPDX-License-Identifier: Apache-2.0
"""Packets in watchlists as C: the keys as cells, one lookup, and the columns of the row."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import C_TYPE, Lines
from gigastream.codegen.expressions import CValue
from gigastream.gsql.expressions import ListValue
from gigastream.gsql.types import Type


def write_lookup(lines: Lines, number: int, types: Sequence[Type], keys: Sequence[CValue]) -> str:
    """Look a packet up, and leave the loop's body where the list has no row for it.

    The name of the row's cells is returned.
    """
    row, cells = lines.name("row"), lines.name("keys")
    nulls = [key.null for key in keys if key.null]
    made = ", ".join(_cell(type_, key.code) for type_, key in zip(types, keys, strict=True))
    lines.add(f"const struct gs_list_cell {cells}[] = {{{made}}};")
    found = f"gs_watchlist_find(lfta->watchlists[{number}], {cells})"
    if nulls:
        found = f"{' || '.join(nulls)} ? NULL : {found}"
    lines.add(f"const struct gs_list_cell *{row} = {found};")
    with lines.block(f"if ({row} == NULL)"):
        lines.add("lfta->counters.rejected++;", "continue;")
    return row


def _cell(type_: Type, code: str) -> str:
    if type_ is Type.STRING:
        return f"gs_list_string({code})"
    if type_ is Type.IP:
        return f"gs_list_inet(gs_inet_from_ip({code}))"
    if type_.is_address:
        return f"gs_list_inet({code})"
    signed = type_ in (Type.INT, Type.LLONG)
    return f"gs_list_number({code})" if signed else f"gs_list_unsigned({code})"


def column_of(e: ListValue, number: int, row: str) -> str:
    """A column of the row, as a C expression."""
    if e.column is None:
        return "1"
    cell = f"{row}[{e.column}]"
    if e.type is Type.STRING:
        return f"gs_list_text(lfta->watchlists[{number}], &{cell})"
    if e.type is Type.IP:
        return f"gs_inet_to_ip(gs_list_address(&{cell}))"
    if e.type.is_address:
        return f"gs_list_address(&{cell})"
    if e.type is Type.FLOAT:
        return f"gs_list_float(&{cell})"
    return f"({C_TYPE[e.type]}){cell}.b"

# SPDX-License-Identifier: Apache-2.0
"""The partial rows of a table that several LFTAs fill, as C: each goes to its own stream."""

from __future__ import annotations

from gigastream.codegen.accumulators import low_writer_of
from gigastream.codegen.c_text import Lines
from gigastream.codegen.columns import put
from gigastream.codegen.expressions import CValue
from gigastream.codegen.keys import from_bound, window_groups
from gigastream.codegen.member_sets import (
    MemberRows,
    MemberSet,
    accumulator_places,
    group_places,
)


def write_member_rows(lines: Lines, prefix: str, members: MemberSet) -> None:
    """`<prefix>_put`, rows of some predicates, and `<prefix>_emit`: the group leaves."""
    kinds = members.rows()
    for number, rows in enumerate(kinds):
        _write_row(lines, f"{prefix}_row_{number}", prefix, members, rows)
    _write_put(lines, prefix, kinds)
    head = (
        f"static inline void {prefix}_emit(struct gs_lfta *lfta, const void *memory, "
        "const gs_bound *window)"
    )
    with lines.block(head):
        lines.add(
            f"const struct {prefix}_slot *slot = memory;",
            f"{prefix}_put(lfta->members, slot, slot->passed, window);",
            "gs_members_leave(lfta->members, slot->passed, gs_slot_window(slot->control));",
        )
    lines.add("")


def _write_row(lines: Lines, name: str, prefix: str, members: MemberSet, rows: MemberRows) -> None:
    head = (
        f"static void {name}(struct gs_lfta *lfta, const struct {prefix}_slot *slot, "
        "uint32_t at, const gs_bound *window)"
    )
    number = rows.cells.number
    with lines.block(head):
        full = "lfta->output->row_count == lfta->output->row_capacity"
        lines.add(
            f"if (GS_UNLIKELY({full}) && !lfta->host->lfta_room(lfta, NULL)) return;",
            "struct gs_batch *out = lfta->output;",
            "const uint32_t to = out->row_count++;",
            "(void)slot, (void)at, (void)window;",
        )
        if not rows.cells.is_narrow:
            cell = f"const struct {prefix}_cell_{number} *cell = &slot->c{number}[at];"
            lines.add(cell, "(void)cell;")
        for index, value in enumerate(_values(members, rows)):
            lines.add(*put("out", index, rows.node.schema.columns[index], "to", value))
    lines.add("")


def _values(members: MemberSet, rows: MemberRows) -> list[CValue]:
    windows = window_groups(members.owner.groups)
    values = []
    for place, group in zip(group_places(members.owner, rows.node), rows.node.groups, strict=True):
        e = group.expression
        if place in windows:
            values.append(CValue(from_bound(f"window[{windows.index(place)}]", e.type, e.temporal)))
        else:
            values.append(CValue(f"slot->g{place}"))
    for place in accumulator_places(rows.cells, rows.node):
        writer = low_writer_of(rows.cells.accumulators[place])
        values += [CValue(value) for value in writer.partial(rows.cells.cell(place))]
    return values


def _write_put(lines: Lines, prefix: str, kinds: list[MemberRows]) -> None:
    head = (
        f"static void {prefix}_put(const struct gs_members *members, "
        f"const struct {prefix}_slot *slot, uint32_t passed, const gs_bound *window)"
    )
    with lines.block(head):
        for number, rows in enumerate(kinds):
            cells = rows.cells
            of = dict(rows.members)
            mask = sum(1 << predicate for predicate in of)
            each = "bits != 0; bits &= bits - 1"
            with lines.block(f"for (uint32_t bits = passed & {mask:#x}u; {each})"):
                lines.add("const uint32_t p = (uint32_t)__builtin_ctz(bits);")
                by_number = ", ".join(str(of.get(p, 0)) for p in range(max(of) + 1))
                lines.add(
                    f"static const uint8_t member[] = {{{by_number}}};",
                    f"{prefix}_row_{number}(members->lftas[member[p]], slot, "
                    f"p - {cells.first}, window);",
                )
    lines.add("")

# SPDX-License-Identifier: Apache-2.0
"""Where a group lies in the table of an LFTA, as C: its home by its hash, or a slot beside that."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import Lines
from gigastream.codegen.keys import equal, key_groups
from gigastream.gsql.queries import GroupVariable


def write_slot_type(lines: Lines, prefix: str, members: Sequence[tuple[str, str]]) -> None:
    """`struct <prefix>_slot` of these members (C type, name), where lines of the cache begin."""
    for name, alignment in (
        (f"{prefix}_members", ""),
        (f"{prefix}_slot", f" GS_SLOT_ALIGNED(sizeof(struct {prefix}_members))"),
    ):
        with lines.block(f"struct {name}", f"}}{alignment};"):
            lines.add(*(f"{c_type} {member};" for c_type, member in members))
        lines.add("")


def write_slot_search(
    lines: Lines, prefix: str, groups: Sequence[GroupVariable], ways: str
) -> None:
    """`<prefix>_is_of`, and `<prefix>_place`: the slot of a group that is not in its home.

    C expression `ways`: in how many slots a group may lie.
    """
    _write_is_of(lines, prefix, groups)
    _write_place(lines, prefix, ways)


def _write_is_of(lines: Lines, prefix: str, groups: Sequence[GroupVariable]) -> None:
    """Whether a slot has a packet's group."""
    types = [(groups[i].expression.type, i) for i in key_groups(groups)]
    same = [equal(type_, f"slot->g{i}", f"row->g{i}") for type_, i in types]
    head = (
        f"static inline bool {prefix}_is_of(const struct {prefix}_slot *slot, "
        f"const struct {prefix}_row *row, uint32_t control)"
    )
    with lines.block(head):
        lines.add(f"return {' && '.join(['slot->control == control', *same])};")
    lines.add("")


def _write_place(lines: Lines, prefix: str, ways: str) -> None:
    """Where the group is, or where it goes.

    A resident of another window leaves for it, and mostly soon would: at home first, since a group
    that is not there is found later, for all of its window. Where others send rows, who are ahead
    or behind, windows are met by turns: an empty slot is then taken before any that is not.
    """
    head = (
        f"static inline uint32_t {prefix}_place(const struct {prefix}_slot *slots, "
        f"uint32_t slot_mask, const struct {prefix}_row *row, uint32_t control, bool has_others)"
    )
    with lines.block(head):
        lines.add(
            "const uint32_t home = row->slot & slot_mask;",
            "const uint32_t window = gs_slot_window(control);",
            "bool is_taken = gs_slot_window(slots[home].control) == window;",
            "bool is_full = has_others && slots[home].control != GS_SLOT_EMPTY;",
            "uint32_t free = home;",
        )
        with lines.block(f"for (uint32_t step = 1; step < {ways}; step++)"):
            lines.add(
                "const uint32_t place = home ^ (step & slot_mask);",
                f"if ({prefix}_is_of(&slots[place], row, control)) return place;",
                "const bool takes = is_taken && gs_slot_window(slots[place].control) != window;",
                "const bool fits = is_full && slots[place].control == GS_SLOT_EMPTY;",
                "if (takes || fits) free = place, is_taken = false;",
                "if (fits) is_full = false;",
            )
        lines.add("return free;")
    lines.add("")

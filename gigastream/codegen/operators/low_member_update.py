# SPDX-License-Identifier: Apache-2.0
"""The slots of a table that several LFTAs fill, as C: a packet's is found, and added to."""

from __future__ import annotations

from gigastream.codegen.accumulators import handed_over, low_writer_of, met
from gigastream.codegen.c_text import Lines
from gigastream.codegen.keys import key_groups, window_groups
from gigastream.codegen.member_sets import MemberCells, MemberSet
from gigastream.codegen.operators.low_slots import write_slot_search
from gigastream.plan.accumulators import Accumulator
from gigastream.plan.operators.partial_aggregate import PartialAggregate


def write_slots(lines: Lines, prefix: str, members: MemberSet) -> None:
    """`<prefix>_is_of`, `<prefix>_place` and, of narrow cells, `<prefix>_restart`."""
    write_slot_search(lines, prefix, members.owner.groups, ways="GS_MEMBERS_WAYS")
    if members.narrow:
        _write_restart(lines, prefix, members)


def _write_restart(lines: Lines, prefix: str, members: MemberSet) -> None:
    """The narrow cells are full, or could be: they leave, and begin again at 0."""
    head = (
        f"static void {prefix}_restart(struct gs_members *members, struct {prefix}_slot *slot, "
        "uint32_t window, const gs_bound *values)"
    )
    mask = " | ".join(cells.mask for cells in members.narrow)
    with lines.block(head):
        lines.add(
            f"const uint32_t leaves = slot->passed & ({mask});",
            f"{prefix}_put(members, slot, leaves, values);",
            "gs_members_leave(members, leaves, window);",
            "slot->passed &= ~leaves;",
            *_cleared(members),
        )
    lines.add("")


def _cleared(members: MemberSet) -> list[str]:
    """Narrow cells that have nothing."""
    if not members.narrow:
        return []
    arrays = [
        f"c{cells.number}_a{index}"
        for cells in members.narrow
        for index in range(len(cells.accumulators))
    ]
    cleared = [f"memset(slot->{name}, 0, sizeof slot->{name});" for name in arrays]
    return ["slot->packets = slot->most = 0;", *cleared]


def write_update(lines: Lines, prefix: str, members: MemberSet) -> None:
    """Drip, window, slot, cells (the order of OPERATORS section 3)."""
    lines.add(f"const struct {prefix}_row *row = &rows[at];")
    _write_prefetch(lines)
    lines.add("if (GS_UNLIKELY(--table->until_drip == 0)) lfta->host->lfta_drip(lfta);")
    _write_window(lines, members.owner)
    lines.add(
        "members->accepted++;",
        "const uint32_t control = row->tag | (window + 1);",
        "uint32_t place = row->slot & slot_mask;",
        f"struct {prefix}_slot *slot = &slots[place];",
    )
    with lines.block(f"if (GS_UNLIKELY(!{prefix}_is_of(slot, row, control)))"):
        lines.add(f"place = {prefix}_place(slots, slot_mask, row, control, lfta->lanes != NULL);")
        lines.add("slot = &slots[place];")
        with lines.block(f"if (!{prefix}_is_of(slot, row, control))"):
            _write_collision(lines)
            _write_new(lines, members)
    if members.narrow:
        _write_bound(lines, prefix, members)
    _write_cells(lines, prefix, members)


def _write_prefetch(lines: Lines) -> None:
    """The lines of a slot behind its first, some packets ahead: so many are not had at once."""
    ahead = "at + GS_MEMBERS_AHEAD < count ? at + GS_MEMBERS_AHEAD : at"
    lines.add(f"const char *const ahead = (const char *)&slots[rows[{ahead}].slot & slot_mask];")
    line = "GS_CACHE_LINE_BYTES"
    with lines.block(f"for (size_t line = {line}; line < sizeof *slots; line += {line})"):
        lines.add("__builtin_prefetch(ahead + line, 1);")


def _write_window(lines: Lines, owner: PartialAggregate) -> None:
    windows = window_groups(owner.groups)
    same = ["table->has_last_window"]
    same += [f"table->windows[window].values[{k}] == row->window[{k}]" for k in range(len(windows))]
    lines.add("uint32_t window = table->last_window;")
    with lines.block(f"if (GS_UNLIKELY(!({' && '.join(same)})))"):
        lines.add("window = lfta->host->lfta_window(lfta, row->window);")
        with lines.block("if (window == GS_LFTA_WINDOWS)"):
            lines.add("gs_members_count(no_value, row->passed); /* its clock has wrapped */")
            lines.add("continue;")


def _write_collision(lines: Lines) -> None:
    with lines.block("if (slot->control == GS_SLOT_EMPTY)"):
        lines.add("lfta->host->lfta_occupy(lfta, place, window);")
    with lines.block("else"):
        lines.add(
            "/* where others send rows, a window's groups leave for want of time, not of room */",
            "if (lfta->lanes == NULL || gs_slot_window(slot->control) == window)",
            "    gs_members_count(evicted, slot->passed);",
            "lfta->host->lfta_evict(lfta, place, window);",
        )


def _write_new(lines: Lines, members: MemberSet) -> None:
    lines.add("slot->control = control;", "slot->passed = 0;", *_cleared(members))
    lines.add(*(f"slot->g{i} = row->g{i};" for i in key_groups(members.owner.groups)))


def _write_bound(lines: Lines, prefix: str, members: MemberSet) -> None:
    """No narrow cell of the slot can have more than all packets since they began."""
    values = {
        at
        for cells in members.narrow
        for accumulator in cells.accumulators
        for at in members.arguments_of(accumulator)
        if accumulator.kind != "count"
    }
    weight = " + ".join(["UINT64_C(0)", *(f"row->x{at}" for at in sorted(values))])
    full = "slot->packets == UINT16_MAX || slot->most + weight > UINT32_MAX"
    lines.add(f"const uint64_t weight = {weight};")
    with lines.block(f"if (GS_UNLIKELY({full}))"):
        lines.add(f"{prefix}_restart(members, slot, window, table->windows[window].values);")
    lines.add("slot->packets++;", "slot->most = gs_members_more(slot->most, weight);")


def _write_cells(lines: Lines, prefix: str, members: MemberSet) -> None:
    wide = [cells for cells in members.cells if not cells.is_narrow]
    lines.add("const uint32_t fresh = row->passed & ~slot->passed;")
    if wide:
        lines.add("const uint32_t begun = row->passed & slot->passed;")
    with lines.block("if (fresh != 0)"):
        lines.add("slot->passed |= fresh;", "gs_members_enter(members, fresh, window);")
        for cells in wide:
            with lines.block(_each(cells, "fresh")):
                lines.add(_cell(prefix, cells))
                _write_start(lines, members, cells)
    for cells in wide:
        with lines.block(_each(cells, "begun")):
            lines.add(_cell(prefix, cells))
            _write_add(lines, prefix, members, cells)
    for cells in members.narrow:
        _write_add_narrow(lines, members, cells)


def _write_add_narrow(lines: Lines, members: MemberSet, cells: MemberCells) -> None:
    bits = f"(row->passed & {cells.mask}) >> {cells.first}"
    for index, accumulator in enumerate(cells.accumulators):
        to = f"slot->c{cells.number}_a{index}, {cells.size}, {bits}"
        if accumulator.kind == "count":
            lines.add(f"gs_members_one_more({to});")
        else:
            value = _arguments(members, accumulator)[0]
            lines.add(f"gs_members_sum({to}, (uint32_t){value});")


def _each(cells: MemberCells, bits: str) -> str:
    return f"for (uint32_t bits = {bits} & {cells.mask}; bits != 0; bits &= bits - 1)"


def _cell(prefix: str, cells: MemberCells) -> str:
    place = f"__builtin_ctz(bits) - {cells.first}"
    return f"struct {prefix}_cell_{cells.number} *cell = &slot->c{cells.number}[{place}];"


def _arguments(members: MemberSet, accumulator: Accumulator) -> list[str]:
    return [f"row->x{at}" for at in members.arguments_of(accumulator)]


def _write_start(lines: Lines, members: MemberSet, cells: MemberCells) -> None:
    lines.add("(void)cell;")
    for index, accumulator in enumerate(cells.accumulators):
        writer, at = low_writer_of(accumulator), f"cell->a{index}"
        x = _arguments(members, accumulator)
        lines.add(*met(accumulator, at, x, writer.start(at, handed_over(accumulator, x)), None))


def _write_add(lines: Lines, prefix: str, members: MemberSet, cells: MemberCells) -> None:
    lines.add("(void)cell;")
    tests = [
        low_writer_of(a).overflow(f"cell->a{index}", _arguments(members, a), a)
        for index, a in enumerate(cells.accumulators)
    ]
    tests = [test for test in tests if test]
    if tests:
        lines.add("/* a sum that would not fit leaves as it is, and starts again */")
        with lines.block(f"if (GS_UNLIKELY({' || '.join(tests)}))"):
            values = "table->windows[window].values"
            lines.add(f"{prefix}_put(members, slot, bits & -bits, {values});")
            _write_start(lines, members, cells)
            lines.add("continue;")
    for index, accumulator in enumerate(cells.accumulators):
        writer, at = low_writer_of(accumulator), f"cell->a{index}"
        x = _arguments(members, accumulator)
        told = handed_over(accumulator, x)
        lines.add(*met(accumulator, at, x, writer.start(at, told), writer.add(at, told)))

# SPDX-License-Identifier: Apache-2.0
"""The table that several LFTAs fill, as C: one pass over the packets that any of them accepts.

A packet has a bit for each predicate that it passes, a slot one for each predicate for which its
group is there. What a slot keeps for a predicate is a cell; predicates for which it keeps the same
have an array of cells, so that a packet costs a turn of a loop for each predicate that it passes,
and no branch for one that it does not. Of counts and sums of small values they are arrays of 16
and 32 bits, and a packet is added to those of all predicates at once.
"""

from __future__ import annotations

from gigastream.codegen.accumulators import low_writer_of
from gigastream.codegen.c_text import C_TYPE, Lines, comment
from gigastream.codegen.context import CodeContext
from gigastream.codegen.keys import (
    key_groups,
    size_rank,
    to_bound,
    window_groups,
    write_has_time,
    write_slot_of,
)
from gigastream.codegen.member_sets import MemberCells, MemberPredicate, MemberSet
from gigastream.codegen.operators.low_exchange import write_exchange
from gigastream.codegen.operators.low_member_rows import write_member_rows
from gigastream.codegen.operators.low_member_update import write_slots, write_update
from gigastream.codegen.operators.low_parts import (
    TupleWriter,
    burst_head,
    reset_scratch,
    write_candidates,
    write_packet,
)
from gigastream.late_dataclass import replace
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.text import expression_text


def write_members(lines: Lines, context: CodeContext, prefix: str, owner: PartialAggregate) -> None:
    """`<prefix>_burst`, the slot and `<prefix>_emit` of the LFTA that has the table."""
    members = context.member_set(owner)
    context.headers.add("gs_members.h")
    _write_types(lines, prefix, members)
    write_member_rows(lines, prefix, members)
    write_slots(lines, prefix, members)
    _write_updates(lines, prefix, members)
    if owner.deals_rows:
        write_exchange(lines, prefix, owner.groups, is_shared=True)
    _write_burst(lines, context, prefix, members)


def _write_types(lines: Lines, prefix: str, members: MemberSet) -> None:
    owner = members.owner
    keys, windows = key_groups(owner.groups), window_groups(owner.groups)
    for cells in members.cells:
        if cells.is_narrow:
            continue
        with lines.block(f"struct {prefix}_cell_{cells.number}", "};"):
            for name, c_type in _cell_members(cells):
                lines.add(f"{c_type} {name};")
    declared = [(C_TYPE[owner.groups[i].expression.type], f"g{i}") for i in keys]
    with lines.block(f"struct {prefix}_slot", "};"):
        lines.add("uint32_t control, passed; /* predicates for which the group is there */")
        if members.narrow:
            lines.add(
                "uint32_t most; /* no sum has more */", "uint16_t packets; /* no count has */"
            )
        for c_type, name in sorted(declared, key=lambda member: size_rank(member[0])):
            lines.add(f"{c_type} {name};")
        for cells in members.cells:
            lines.add(*_cells(prefix, cells))
    with lines.block(f"struct {prefix}_row", "};"):
        lines.add("uint32_t slot, tag, passed;", f"gs_bound window[{max(1, len(windows))}];")
        lines.add(*(f"{c_type} {name};" for c_type, name in declared))
        lines.add(*(f"{C_TYPE[e.type]} x{at};" for at, e in enumerate(members.arguments)))
    lines.add("")


def _cells(prefix: str, cells: MemberCells) -> list[str]:
    """A slot's members, in C."""
    if not cells.is_narrow:
        return [f"struct {prefix}_cell_{cells.number} c{cells.number}[{cells.size}];"]
    return [
        f"{'uint16_t' if a.kind == 'count' else 'uint32_t'} c{cells.number}_a{index}[{cells.size}];"
        for index, a in enumerate(cells.accumulators)
    ]


def _cell_members(cells: MemberCells) -> list[tuple[str, str]]:
    """Of accumulators that have a value from the first row on."""
    found = []
    for index, accumulator in enumerate(cells.accumulators):
        states = low_writer_of(accumulator).low(f"a{index}", accumulator)
        found += [(state.name, state.c_type) for state in states]
    return found or [("nothing", "uint8_t")]


def _write_burst(lines: Lines, context: CodeContext, prefix: str, members: MemberSet) -> None:
    with lines.block(burst_head(prefix)):
        lines.add(
            "const struct burst_columns *columns = memory;",
            "struct gs_members *const members = lfta->members;",
            "const struct gs_lfta_table *table = &lfta->table;",
            f"const struct {prefix}_slot *const slots = (void *)table->slots;",
            "const uint64_t hash_key[] = {table->hash_key[0], table->hash_key[1]};",
            "const bool has_others = lfta->lanes != NULL;",
            "/* most rows are theirs then: no slot but the first is fetched */",
            "const uint32_t fetched_mask = has_others ? 0 : table->slot_mask;",
            f"struct {prefix}_row rows[GS_BURST_CAPACITY];",
            "uint32_t count = 0;",
            *_counts(members, "no_value", "accepted"),
        )
        _write_before(lines, members)
        with lines.block("for (uint32_t base = 0; base < burst->count; base += 64)"):
            _write_candidates(lines, context, members)
            _write_turn(lines, members)
            with lines.block("for (; candidates != 0; candidates &= candidates - 1)"):
                write_packet(lines, members.owner)
                _write_passed(lines, context, members)
                _write_group(lines, context, prefix, members)
        added = f"{prefix}_add(lfta, rows, count, false);"
        if members.owner.deals_rows:
            lines.add(f"if (has_others) count = {prefix}_deal(lfta, rows, count, no_value);")
            added = f"if (has_others) {prefix}_take(lfta, rows, count);\nelse {added}"
        _write_counts(lines, members, "no_value", "accepted")
        lines.add(*added.split("\n"))
    lines.add("")


def _counts(members: MemberSet, *names: str) -> list[str]:
    of = len(members.predicates)
    return ["/* by predicate */", *(f"uint64_t {name}[{of}] = {{0}};" for name in names)]


def _write_updates(lines: Lines, prefix: str, members: MemberSet) -> None:
    """The second pass, as a function of its own: others may send rows, too."""
    head = f"static void {prefix}_add(struct gs_lfta *lfta, const struct {prefix}_row *rows,"
    with lines.block(f"{head} uint32_t count, bool differs)"):
        lines.add(
            "struct gs_members *const members = lfta->members;",
            "struct gs_lfta_table *table = &lfta->table;",
            f"struct {prefix}_slot *const slots = (void *)table->slots;",
            "const uint32_t slot_mask = table->slot_mask;",
            *_counts(members, "no_value", "evicted"),
            "(void)differs;",
        )
        _write_before(lines, members)
        with lines.block("for (uint32_t at = 0; at < count; at++)"):
            write_update(lines, prefix, members)
        _write_counts(lines, members, "no_value", "evicted")
    lines.add("")


# ---- the first pass: which packets, of which groups ----


def _write_candidates(lines: Lines, context: CodeContext, members: MemberSet) -> None:
    """Of 64 packets those that pass the prefilter of a predicate, and those of any."""
    predicates = members.predicates
    lines.add(f"uint64_t passes[{len(predicates)}], any = 0;")
    for predicate in predicates:
        with lines.block(""):
            lines.add(_of(predicate))
            write_candidates(lines, context, predicate.node)
            lines.add(f"any |= passes[{predicate.number}] = candidates;")
    lines.add("uint64_t candidates = any;")


def _of(predicate: MemberPredicate) -> str:
    """From here on `lfta` is the one that counts for a predicate."""
    return f"struct gs_lfta *const lfta = members->lftas[{predicate.members[0]}];"


_FEW = 8
"""Of so many predicates each packet's bits are fetched one by one."""


def _write_turn(lines: Lines, members: MemberSet) -> None:
    """`turned`, of many predicates: a packet's bits in a word; and what passes is counted."""
    count = len(members.predicates)
    if count > _FEW:
        lines.add(
            "uint32_t turned[64];", f"if (any != 0) gs_members_turn(passes, {count}, turned);"
        )
    for predicate in members.predicates:
        if not predicate.node.predicates:
            number = predicate.number
            lines.add(f"accepted[{number}] += (uint32_t)__builtin_popcountll(passes[{number}]);")


def _write_passed(lines: Lines, context: CodeContext, members: MemberSet) -> None:
    """`passed`: a bit for each predicate that holds of the packet."""
    if len(members.predicates) > _FEW:
        lines.add("uint32_t passed = turned[at - base];")
    else:
        lines.add("uint32_t passed = 0;")
        with lines.block(f"for (uint32_t p = 0; p < {len(members.predicates)}; p++)"):
            lines.add("passed |= (uint32_t)(passes[p] >> (at - base) & 1) << p;")
    rest = [predicate for predicate in members.predicates if predicate.node.predicates]
    for predicate in rest:
        bit = f"{1 << predicate.number:#x}u"
        with lines.block(f"if (passed & {bit}) do", "} while (0);"):
            lines.add(_of(predicate), f"passed &= ~{bit};")
            reset_scratch(lines, predicate.node)  # each has all of it, as it has alone
            TupleWriter(lines, context, predicate.node).predicates()
            lines.add(f"passed |= {bit};", f"accepted[{predicate.number}]++;")
    if rest:
        lines.add("if (passed == 0) continue;")


def _write_group(lines: Lines, context: CodeContext, prefix: str, members: MemberSet) -> None:
    """Group values, arguments and slot, once for all that the packet passes."""
    everything = tuple(a for cells in members.cells for a in cells.accumulators)
    owner = replace(members.owner, predicates=(), signature=(), accumulators=everything)
    fail = "gs_members_count(no_value, passed); continue;"
    values = TupleWriter(lines, context, owner, fail=fail)
    values.load(*(group.expression for group in owner.groups), *members.arguments)
    lines.add(f"struct {prefix}_row *row = &rows[count];", "row->passed = passed;")
    windows = window_groups(owner.groups)
    for i, group in enumerate(owner.groups):
        lines.add(comment(f"{expression_text(group.expression)} AS {group.name}"))
        value = values.writer.value(group.expression).code
        if i not in windows:
            lines.add(f"row->g{i} = {value};")
            continue
        write_has_time(lines, value, group.expression, f"{{ {fail} }}")
        bound = to_bound(value, group.expression.temporal)
        lines.add(f"row->window[{windows.index(i)}] = {bound};")
    for at, argument in enumerate(members.arguments):
        lines.add(f"row->x{at} = {values.writer.value(argument).code};")
    _write_place(lines, owner)


def _write_place(lines: Lines, owner: PartialAggregate) -> None:
    write_slot_of(lines, owner.groups)
    lines.add("__builtin_prefetch(&slots[row->slot & fetched_mask], 1);", "count++;")


# ---- counters ----


def _followed(members: MemberSet) -> list[MemberPredicate]:
    return [predicate for predicate in members.predicates if len(predicate.members) > 1]


def _write_before(lines: Lines, members: MemberSet) -> None:
    """What those have counted that others follow."""
    for predicate in _followed(members):
        counters = f"members->lftas[{predicate.members[0]}]->counters"
        lines.add(f"const struct gs_lfta_counters before_{predicate.number} = {counters};")


def _write_counts(lines: Lines, members: MemberSet, *names: str) -> None:
    """What a pass has counted; a row that has no value after all was accepted before."""
    for predicate in members.predicates:
        counters = f"members->lftas[{predicate.members[0]}]->counters"
        number = predicate.number
        lines.add(*(f"{counters}.{name} += {name}[{number}];" for name in names))
        lines.add(f"{counters}.accepted -= no_value[{number}];")
    for predicate in _followed(members):
        of = f"&members->lftas[{predicate.members[0]}]->counters"
        for member in predicate.members[1:]:
            to = f"&members->lftas[{member}]->counters"
            lines.add(f"gs_members_follow({to}, {of}, &before_{predicate.number});")

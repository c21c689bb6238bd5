# SPDX-License-Identifier: Apache-2.0
"""Partial aggregation in the direct-mapped table as C.

A burst is worked on in two passes: the first finds the tuples, their group values and their slots,
and prefetches; the second touches the slots, which have arrived by then.
"""

from __future__ import annotations

from gigastream.codegen.accumulators import handed_over, low_writer_of, met
from gigastream.codegen.c_text import C_TYPE, Lines, comment
from gigastream.codegen.columns import put
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue
from gigastream.codegen.keys import (
    from_bound,
    key_groups,
    size_rank,
    to_bound,
    window_groups,
    write_has_time,
    write_slot_of,
)
from gigastream.codegen.members import declare_member, write_member
from gigastream.codegen.operators.low_code import LowCode
from gigastream.codegen.operators.low_exchange import write_exchange
from gigastream.codegen.operators.low_filter import (
    write_conditions,
    write_filter_time,
    write_filter_types,
)
from gigastream.codegen.operators.low_members import write_members
from gigastream.codegen.operators.low_packets import burst_function, each_packet
from gigastream.codegen.operators.low_parts import TupleWriter
from gigastream.codegen.operators.low_slots import write_slot_search, write_slot_type
from gigastream.codegen.user_accumulators import note_low_states
from gigastream.gsql.expressions import Expression
from gigastream.plan.accumulators import KINDS
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.text import expression_text


def _write_partial_aggregate(
    lines: Lines, context: CodeContext, prefix: str, node: PartialAggregate
) -> None:
    if node.table_of:
        if not node.has_table_of_another:
            write_members(lines, context, prefix, node)
        return
    note_low_states(context, node.accumulators)
    _write_slot(lines, prefix, node)
    _write_emit(lines, prefix, node)
    ways = f"GS_LFTA_WAYS(sizeof(struct {prefix}_slot))"
    write_slot_search(lines, prefix, node.groups, ways)
    _write_aggregation(lines, context, prefix, node)


def _write_slot(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    members = [(C_TYPE[node.groups[i].expression.type], f"g{i}") for i in key_groups(node.groups)]
    for index, accumulator in enumerate(node.accumulators):
        states = low_writer_of(accumulator).low(f"a{index}", accumulator)
        members += [(state.c_type, state.name) for state in states]
        members += [("bool", f"a{index}_seen")] if accumulator.may_be_empty else []
    members = [("uint32_t", "control"), *sorted(members, key=lambda member: size_rank(member[0]))]
    write_slot_type(lines, prefix, members)
    with lines.block(f"struct {prefix}_row", "};"):
        lines.add(
            "uint32_t slot, tag;", f"gs_bound window[{max(1, len(window_groups(node.groups)))}];"
        )
        for i in key_groups(node.groups):
            lines.add(f"{C_TYPE[node.groups[i].expression.type]} g{i};")
        for index, accumulator in enumerate(node.accumulators):
            for part, e in enumerate(accumulator.expressions):
                declare_member(lines, e, f"x{index}_{part}")
    lines.add("")


def _write_emit(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    head = (
        f"static inline void {prefix}_emit(struct gs_lfta *lfta, const void *memory, "
        "const gs_bound *window)"
    )
    with lines.block(head):
        lines.add(
            f"const struct {prefix}_slot *slot = memory;",
            "struct gs_batch *out = lfta->output;",
            "const uint32_t to = out->row_count++;",
            "(void)slot, (void)window;",
        )
        for index, value in enumerate(_partial_values(node)):
            lines.add(*put("out", index, node.schema.columns[index], "to", value))
    lines.add("")


def _partial_values(node: PartialAggregate) -> list[CValue]:
    windows = {group: k for k, group in enumerate(window_groups(node.groups))}
    values = []
    for i, group in enumerate(node.groups):
        e = group.expression
        in_window = i in windows
        bound = from_bound(f"window[{windows[i]}]", e.type, e.temporal) if in_window else ""
        values.append(CValue(bound or f"slot->g{i}"))
    for index, accumulator in enumerate(node.accumulators):
        null = f"!slot->a{index}_seen" if accumulator.may_be_empty else ""
        values += [CValue(v, null) for v in low_writer_of(accumulator).partial(f"slot->a{index}")]
    assert all(accumulator.kind in KINDS for accumulator in node.accumulators)
    return values


def _write_aggregation(
    lines: Lines, context: CodeContext, prefix: str, node: PartialAggregate
) -> None:
    write_filter_types(lines, prefix, node)
    _write_updates(lines, prefix, node)
    if node.deals_rows:
        write_exchange(lines, prefix, node.groups, is_shared=False)
    with burst_function(lines, context, prefix, node):
        lines.add(
            "const struct burst_columns *columns = memory;",
            "const struct gs_lfta_table *table = &lfta->table;",
            f"const struct {prefix}_slot *const slots = (void *)table->slots;",
            "const uint64_t hash_key[] = {table->hash_key[0], table->hash_key[1]};",
            "const uint32_t slot_mask = table->slot_mask;",
            f"struct {prefix}_row rows[{'1' if node.has_wide_rows else 'GS_BURST_CAPACITY'}];",
            f"struct {prefix}_row *row = rows;",
            "bool differs = false;",
        )
        if node.deals_rows:
            lines.add(
                "const bool has_others = lfta->lanes != NULL;",
                "/* most rows are theirs then: no slot but the first is fetched */",
                "const uint32_t fetched_mask = has_others ? 0 : slot_mask;",
            )
        write_filter_time(lines, node)
        with each_packet(lines, context, node) as tuple_writer:
            _write_group(lines, context, prefix, node, tuple_writer)
            if node.has_wide_rows:
                lines.add(f"{prefix}_add(lfta, rows, 1, differs);", "row = rows;")
        lines.add("const uint32_t count = (uint32_t)(row - rows);", "(void)count;")
        if node.deals_rows:
            dealt = f"{prefix}_take(lfta, rows, {prefix}_deal(lfta, rows, count))"
            lines.add(f"if (has_others) {dealt};", "else")
        if not node.has_wide_rows:
            lines.add(f"{prefix}_add(lfta, rows, count, differs);")


def _write_updates(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    """The second pass, as a function of its own: others may send rows, too.

    It is quiet while all rows are of the window met last and none lets an old group leave: then
    each only meets its slot, and is counted with the others.
    """
    quiet = ["table->has_last_window", "table->until_drip > count", "count > 0", *_same(node)]
    head = f"static void {prefix}_add(struct gs_lfta *lfta, const struct {prefix}_row *rows,"
    with lines.block(f"{head} uint32_t count, bool differs)"):
        lines.add(
            "struct gs_lfta_table *table = &lfta->table;",
            f"struct {prefix}_slot *const slots = (void *)table->slots;",
            "const uint32_t slot_mask = table->slot_mask;",
            "uint32_t window = table->last_window, dripped = 0;",
            "(void)differs;",
            f"bool is_quiet = {' && '.join(quiet)};",
            "lfta->counters.accepted += count;",
        )
        with lines.block("for (uint32_t at = 0; at < count; at++)"):
            _write_update(lines, prefix, node)
        lines.add("if (is_quiet) table->until_drip -= count - dripped;")
    lines.add("")


def _same(node: PartialAggregate) -> list[str]:
    """C conditions: every row is of the window met last."""
    count = len(window_groups(node.groups))
    return ["!differs"] * (count > 0) + [
        f"table->windows[table->last_window].values[{k}] == rows[0].window[{k}]"
        for k in range(count)
    ]


def _write_group(
    lines: Lines,
    context: CodeContext,
    prefix: str,
    node: PartialAggregate,
    tuple_writer: TupleWriter,
) -> None:
    """The first pass: a tuple's group values, arguments and slot."""
    write_conditions(lines, context, prefix, node, tuple_writer)
    tuple_writer.load(*(g.expression for g in node.groups))
    tuple_writer.load(*(e for a in node.accumulators for e in a.expressions))
    windows = {group: k for k, group in enumerate(window_groups(node.groups))}
    for i, group in enumerate(node.groups):
        lines.add(comment(f"{expression_text(group.expression)} AS {group.name}"))
        value = tuple_writer.writer.value(group.expression).code
        if i in windows:
            _write_window_value(lines, f"row->window[{windows[i]}]", value, group.expression)
        else:
            lines.add(f"row->g{i} = {value};")
    for index, accumulator in enumerate(node.accumulators):
        for part, e in enumerate(accumulator.expressions):
            write_member(lines, tuple_writer.writer, e, f"row->x{index}_{part}")
    _write_place(lines, node)


def _write_window_value(lines: Lines, to: str, value: str, e: Expression) -> None:
    write_has_time(lines, value, e, "{ lfta->counters.no_value++; continue; }")
    lines.add(f"{to} = {to_bound(value, e.temporal)};")


def _write_place(lines: Lines, node: PartialAggregate) -> None:
    write_slot_of(lines, node.groups)
    differs = [
        f"row->window[{k}] != rows[0].window[{k}]" for k in range(len(window_groups(node.groups)))
    ]
    if differs:
        lines.add(f"differs |= {' || '.join(differs)};")
    mask = "fetched_mask" if node.deals_rows else "slot_mask"
    lines.add(f"gs_slot_prefetch(&slots[row->slot & {mask}], sizeof *slots);", "row++;")


def _write_update(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    """The second pass: drip, window, slot (the order of OPERATORS section 3)."""
    with lines.block("if (is_quiet)"):
        _write_meeting(lines, prefix, node)
    lines.add(f"const struct {prefix}_row *row = &rows[at];")
    with lines.block("if (GS_UNLIKELY(!is_quiet))"):
        _write_unquiet(lines, node)
    lines.add(
        "const uint32_t control = row->tag | (window + 1);",
        "uint32_t place = row->slot & slot_mask;",
        f"if (!{prefix}_is_of(&slots[place], row, control))",
        f"    place = {prefix}_place(slots, slot_mask, row, control, lfta->lanes != NULL);",
        f"struct {prefix}_slot *slot = &slots[place];",
    )
    with lines.block(f"if ({prefix}_is_of(slot, row, control))"):
        _write_add(lines, prefix, node)
        lines.add("continue;")
    _write_collision(lines, prefix)
    lines.add("slot->control = control;")
    lines.add(*(f"slot->g{i} = row->g{i};" for i in key_groups(node.groups)))
    _write_start(lines, node)


def _write_meeting(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    """Rows that only meet their groups, up to the first that does not."""
    lines.add("const uint32_t of_window = window + 1;")
    with lines.block("for (; at < count; at++)"):
        lines.add(
            f"const struct {prefix}_row *row = &rows[at];",
            f"struct {prefix}_slot *slot = &slots[row->slot & slot_mask];",
            "const uint32_t control = row->tag | of_window;",
        )
        with lines.block(f"if (!{prefix}_is_of(slot, row, control))"):
            lines.add(
                "if (GS_LFTA_WAYS(sizeof *slot) == 1) break;",
                "slot = &slots[(row->slot ^ 1) & slot_mask];",
                f"if (!{prefix}_is_of(slot, row, control)) break;",
            )
        for test in _overflows(node):
            lines.add(f"if (GS_UNLIKELY({test})) break;")
        _write_sums(lines, node)
    lines.add("if (at == count) break;")


def _write_unquiet(lines: Lines, node: PartialAggregate) -> None:
    lines.add("if (GS_UNLIKELY(--table->until_drip == 0)) lfta->host->lfta_drip(lfta);")
    count = len(window_groups(node.groups))
    same = " && ".join(
        ["table->has_last_window"]
        + [f"table->windows[window].values[{k}] == row->window[{k}]" for k in range(count)]
    )
    lines.add("window = table->last_window;")
    with lines.block(f"if (GS_UNLIKELY(!({same})))"):
        lines.add("window = lfta->host->lfta_window(lfta, row->window);")
        with lines.block("if (window == GS_LFTA_WINDOWS)"):
            lines.add("/* its clock has wrapped */")
            lines.add("lfta->counters.accepted--;", "lfta->counters.no_value++;", "continue;")


def _arguments(node: PartialAggregate, index: int) -> list[str]:
    parts = list(node.accumulators[index].expressions)
    return [f"row->x{index}_{part}" for part in range(len(parts))]


def _write_start(lines: Lines, node: PartialAggregate) -> None:
    for index, accumulator in enumerate(node.accumulators):
        writer, at, x = low_writer_of(accumulator), f"slot->a{index}", _arguments(node, index)
        if accumulator.may_be_empty:
            lines.add("/* what has seen no value yet is 0 */", f"{at}_seen = 0;")
            names = (state.name for state in writer.low(f"a{index}", accumulator))
            lines.add(*(f"memset(&slot->{name}, 0, sizeof slot->{name});" for name in names))
        start = writer.start(at, handed_over(accumulator, x))
        lines.add(*met(accumulator, at, x, start, None))


def _write_add(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    overflows = _overflows(node)
    if overflows:
        lines.add("/* a sum that would not fit leaves as it is, and starts again */")
        with lines.block(f"if (GS_UNLIKELY({' || '.join(overflows)}))"):
            _write_emit_slot(lines, prefix)
            _write_start(lines, node)
            lines.add("continue;")
    _write_sums(lines, node)


def _overflows(node: PartialAggregate) -> list[str]:
    """C conditions: an aggregate has no room for the row."""
    tests = (
        low_writer_of(a).overflow(f"slot->a{i}", _arguments(node, i), a)
        for i, a in enumerate(node.accumulators)
    )
    return [test for test in tests if test]


def _write_sums(lines: Lines, node: PartialAggregate) -> None:
    for index, accumulator in enumerate(node.accumulators):
        writer, at, x = low_writer_of(accumulator), f"slot->a{index}", _arguments(node, index)
        values = handed_over(accumulator, x)
        lines.add(*met(accumulator, at, x, writer.start(at, values), writer.add(at, values)))


def _write_emit_slot(lines: Lines, prefix: str) -> None:
    lines.add(
        "if (GS_UNLIKELY(lfta->output->row_count == lfta->output->row_capacity) && "
        "!lfta->host->lfta_room(lfta, NULL)) continue;",
        f"{prefix}_emit(lfta, slot, table->windows[window].values);",
    )


def _write_collision(lines: Lines, prefix: str) -> None:
    with lines.block("if (slot->control == GS_SLOT_EMPTY)"):
        _write_told(lines, "lfta->host->lfta_occupy(lfta, place, window);")
    lines.add("/* the resident is of the same window: neither windows nor bitmaps change */")
    same = "gs_slot_window(slot->control) == window"
    head = f"else if (GS_LIKELY({same} && !table->leaves_in_order))"
    with lines.block(head):
        _write_emit_slot(lines, prefix)
        lines.add("lfta->counters.evicted++;")
    with lines.block("else"):
        _write_told(lines, "lfta->host->lfta_evict(lfta, place, window);")


def _write_told(lines: Lines, call: str) -> None:
    """A call that may set the count to the next old group that leaves: it is told it first."""
    with lines.block("if (is_quiet)"):
        lines.add("table->until_drip -= at + 1 - dripped;", "dripped = at + 1;")
    lines.add(call, "is_quiet = is_quiet && table->until_drip > count - dripped;")


CODE = LowCode("AGGREGATION", _write_partial_aggregate, has_table=True)

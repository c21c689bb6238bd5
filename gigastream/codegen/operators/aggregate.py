# SPDX-License-Identifier: Apache-2.0
"""Aggregation at the high level as C: a row finds its group, and goes into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gigastream.codegen.accumulators import handed_over, met, writer_of
from gigastream.codegen.bounds import Carried
from gigastream.codegen.c_text import C_TYPE, Lines
from gigastream.codegen.columns import (
    column_leaf,
    write_inputs,
)
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import ExpressionWriter
from gigastream.codegen.keys import equal, size_rank, to_bound, write_has_time, write_hash
from gigastream.codegen.members import declare_member, write_member
from gigastream.codegen.operators.group_out import write_group_out
from gigastream.codegen.operators.high_code import HighCode
from gigastream.codegen.operators.high_parts import (
    note_calls,
    operator_writer,
    over_columns,
    write_bounds,
    write_where,
)
from gigastream.codegen.operators.row_bursts import row_burst, write_bursts, write_scratch_reset
from gigastream.codegen.user_accumulators import note_states, valid_partial
from gigastream.codegen.value_sets import value_sets, write_met_values
from gigastream.gsql.expressions import ColumnRef, Expression
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.queries import GroupVariable
from gigastream.gsql.types import Type
from gigastream.plan.accumulators import KINDS
from gigastream.plan.operators.aggregate import Aggregate

RowsWriter = Callable[[Lines, CodeContext, str, Any], None]
"""Writes `<prefix>_rows`, behind the structs of an entry and of a row."""


def _write_aggregate(lines: Lines, context: CodeContext, prefix: str, node: Aggregate) -> None:
    write_aggregate_functions(lines, context, prefix, node, node.groups)
    write_group_out(lines, context, prefix, node)
    with lines.block(f"static const struct gs_aggregate_ops {prefix}_ops =", "};"):
        write_group_ops(lines, "aggregate", prefix, node)
        lines.add(f".is_of_all = {int(node.is_of_all)},")
    lines.add("")


def write_aggregate_functions(
    lines: Lines,
    context: CodeContext,
    prefix: str,
    node: Aggregate,
    bounded: Sequence[GroupVariable],
    *,
    engine_members: Sequence[tuple[str, str]] = (),
    write_rows: RowsWriter | None = None,
) -> None:
    """All that an aggregation's rows and groups are told by, but how a group leaves.

    `bounded` are the group variables of which bounds are given; `engine_members`, as (C type,
    name), stand in an entry beside what the groups have; `write_rows` is for rows that do not go
    into their groups by bursts.
    """
    note_calls(context, aggregate_reads(node))
    note_calls(context, node.column_expressions)
    note_calls(context, node.conditions_of_groups)
    note_states(context, node.accumulators, of_partials=node.merges_partials)
    _write_entry(lines, prefix, node, engine_members)
    (write_rows or _write_rows)(lines, context, prefix, node)
    windows = list(node.temporal_groups)
    incoming = [over_columns(bounded[i].expression) for i in windows]
    write_bounds(lines, f"{prefix}_bounds", incoming)
    places = {group: k for k, group in enumerate(windows)}
    write_bounds(
        lines,
        f"{prefix}_group_bounds",
        [_over_groups(o.expression, places) for o in node.outputs],
    )


def write_group_ops(lines: Lines, kind: str, prefix: str, node: Aggregate) -> None:
    """The first member of what an operator with groups is described by."""
    with lines.block(".groups =", "},"):
        lines.add(
            f'.common = {{"{kind}"}},',
            f".rows = {prefix}_rows,",
            f".bounds = {prefix}_bounds,",
            f".emit = {prefix}_emit,",
            f".group_bounds = {prefix}_group_bounds,",
            f".entry_size = sizeof(struct {prefix}_entry),",
            f".temporal_count = {len(node.temporal_groups)},",
        )


def _over_groups(expression: Expression, places: dict[int, int]) -> Carried:
    function = monotone(expression)
    if function is None:
        return None, []
    return function, [f"inputs[0].bounds[{places[item.index]}]" for item in function.inputs]


def keys_of(node: Aggregate) -> list[int]:
    windows = node.temporal_groups
    return [i for i in range(len(node.groups)) if i not in windows]


def _partial_refs(node: Aggregate) -> list[list[Expression]]:
    """For each accumulator, the input columns that hold its partial."""
    refs: list[list[Expression]] = []
    index = len(node.groups)
    for accumulator in node.accumulators:
        count = len(KINDS[accumulator.kind].columns)
        columns = node.input.schema.columns[index : index + count]
        span = node.groups[0].expression.span if node.groups else node.outputs[0].expression.span
        refs.append(
            [ColumnRef.to(column, index + at, span=span) for at, column in enumerate(columns)]
        )
        index += count
    return refs


def arguments_of(node: Aggregate) -> list[list[Expression]]:
    if node.merges_partials:
        return _partial_refs(node)
    return [list(a.expressions) for a in node.accumulators]


def aggregate_reads(node: Aggregate) -> list[Expression]:
    groups = [group.expression for group in node.groups]
    return [*node.predicates, *groups, *(e for part in arguments_of(node) for e in part)]


def _write_entry(
    lines: Lines, prefix: str, node: Aggregate, engine_members: Sequence[tuple[str, str]]
) -> None:
    members = list(engine_members)
    for i in keys_of(node):
        e = node.groups[i].expression
        members.append((C_TYPE[e.type], f"g{i}"))
        if e.nullable:
            members.append(("bool", f"g{i}_null"))
    for index, accumulator in enumerate(node.accumulators):
        writer = writer_of(accumulator, of_partials=node.merges_partials)
        states = writer.high(f"a{index}", accumulator)
        members += [(state.c_type, state.name) for state in states]
        if accumulator.may_be_empty:
            members.append(("bool", f"a{index}_seen"))
    if node.may_be_of_nothing:
        members.append(("bool", "is_met"))
    with lines.block(f"struct {prefix}_entry", "};"):
        if not members:
            lines.add("uint8_t nothing;")
        for c_type, name in sorted(members, key=lambda member: size_rank(member[0])):
            lines.add(f"{c_type} {name};")
    lines.add("")
    with lines.block(f"struct {prefix}_row", "};"):
        lines.add("struct gs_group_table *table;", "uint32_t control, place, mask;")
        for i in keys_of(node):
            e = node.groups[i].expression
            declare_member(lines, e, f"g{i}")
        for index, arguments in enumerate(arguments_of(node)):
            for part, e in enumerate(arguments):
                declare_member(lines, e, f"x{index}_{part}")
    lines.add("")


def _write_rows(lines: Lines, context: CodeContext, prefix: str, node: Aggregate) -> None:
    read, count = aggregate_reads(node), max(1, len(node.temporal_groups))
    burst = row_burst(read, read)
    head = f"static void {prefix}_rows(struct gs_operator *op, const struct gs_batch *input)"
    with lines.block(head):
        write_inputs(lines, read, "input")
        lines.add(
            f"struct {prefix}_row rows[{burst}];",
            "struct gs_group_table *table = NULL;",
            f"gs_bound last[{count}] = {{0}};",
        )
        write_bursts(
            lines,
            burst,
            lambda: _write_lookup(lines, context, prefix, node),
            lambda: _write_place(lines, prefix),
            lambda: write_group_in(lines, prefix, node, home=_PLACE),
        )
    lines.add("")


def _write_lookup(lines: Lines, context: CodeContext, prefix: str, node: Aggregate) -> None:
    """The first pass: a row's values, its window's table, its home there, prefetched.

    The window comes last: a row that has no value is dropped, and begins none.
    """
    write_row_values(lines, context, prefix, node)
    _write_table(lines, node)
    lines.add(
        "r->table = table;",
        "__builtin_prefetch(&table->index[r->control & table->mask]);",
        "count++;",
    )


def write_row_values(lines: Lines, context: CodeContext, prefix: str, node: Aggregate) -> None:
    """Of a `row` that WHERE lets pass what goes into its group, as `r`, which is `rows[count]`.

    Its temporal group variables are `w0` and so on.
    """
    leaf = column_leaf(("input", "row"))
    writer = operator_writer(lines, context, leaf, "op->counters.no_value++; continue;")
    write_scratch_reset(lines, aggregate_reads(node))
    write_where(lines, writer, node.predicates)
    lines.add(f"struct {prefix}_row *r = &rows[count];")
    for i in keys_of(node):
        write_member(lines, writer, node.groups[i].expression, f"r->g{i}")
    for index, arguments in enumerate(arguments_of(node)):
        for part, e in enumerate(arguments):
            write_member(lines, writer, e, f"r->x{index}_{part}")
    _write_valid(lines, node)
    _write_window_values(lines, writer, node)
    keys = keys_of(node)
    types = [node.groups[i].expression.type for i in keys]
    write_hash(lines, "hash", "op->hash_key", types, [f"r->g{i}" for i in keys])
    lines.add("r->control = (uint32_t)hash | 0x80000000u;")


def _write_valid(lines: Lines, node: Aggregate) -> None:
    """A partial row with a state that is none has no value: it may come from a spool."""
    for index, accumulator in enumerate(node.accumulators if node.merges_partials else ()):
        valid = valid_partial(accumulator, f"r->x{index}_0")
        if valid:
            lines.add(f"if (GS_UNLIKELY(!{valid})) {{ op->counters.no_value++; continue; }}")


def write_window(lines: Lines, writer: ExpressionWriter, node: Aggregate) -> None:
    """The row's values of the window, and the `table` of its groups."""
    _write_window_values(lines, writer, node)
    _write_table(lines, node)


def _write_window_values(lines: Lines, writer: ExpressionWriter, node: Aggregate) -> None:
    for k, i in enumerate(node.temporal_groups):
        e = node.groups[i].expression
        value = writer.value(e).code
        write_has_time(lines, value, e, "{ op->counters.no_value++; continue; }")
        lines.add(f"const gs_bound w{k} = {to_bound(value, e.temporal)};")


def _write_table(lines: Lines, node: Aggregate) -> None:
    windows = node.temporal_groups
    same = " && ".join(["table != NULL"] + [f"last[{k}] == w{k}" for k in range(len(windows))])
    with lines.block(f"if (GS_UNLIKELY(!({same})))"):
        lines.add(*(f"last[{k}] = w{k};" for k in range(len(windows))))
        lines.add("table = op->host->group_window(op, last);")
        lines.add("if (table == NULL) continue;")


_HOME = "r->control & groups->mask"
_PLACE = f"GS_LIKELY(r->mask == groups->mask) ? r->place : {_HOME}"
"""Where the second pass has found a row's hash, unless the table has grown since."""


def write_group_in(lines: Lines, prefix: str, node: Aggregate, home: str = _HOME) -> None:
    """The third pass: the row `rows[at]` meets its group, or starts it."""
    lines.add(f"const struct {prefix}_row *r = &rows[at];")
    write_find(lines, prefix, node, home=home)
    with lines.block("if (GS_LIKELY(entry != NULL))"):
        write_accumulate(lines, prefix, node, is_start=False)
        lines.add("continue;")
    write_start(lines, prefix, node)


def write_find(
    lines: Lines, prefix: str, node: Aggregate, unless: str = "", home: str = _HOME
) -> None:
    """`entry` of the row `r`, NULL where there is none; `found` is passed over `unless`.

    The search begins at `home`, before which no place has the row's hash.
    """
    lines.add(
        "struct gs_group_table *groups = r->table;",
        f"struct {prefix}_entry *entry = NULL;",
        f"uint32_t place = {home};",
    )
    with lines.block("for (; groups->index[place] != 0; place = (place + 1) & groups->mask)"):
        lines.add("if ((uint32_t)(groups->index[place] >> 32) != r->control) continue;")
        lines.add(
            f"struct {prefix}_entry *found = (struct {prefix}_entry *)groups->entries + "
            "(uint32_t)groups->index[place];"
        )
        if unless:
            lines.add(f"if ({unless}) continue;")
        with lines.block(f"if ({same_group(node, 'found', 'r')})"):
            lines.add("entry = found;", "break;")


_ADMITTED = "op->host->group_admit(op, groups, string_bytes)"


def write_start(
    lines: Lines, prefix: str, node: Aggregate, admitted: str = _ADMITTED, number: str | None = None
) -> None:
    """A new `entry`, which the row starts; the next row where there is no room for it.

    `admitted` is true where there is, for `string_bytes` of strings too; `number` is as
    `write_accumulate` has it.
    """
    lines.add(
        "const uint32_t mask = groups->mask;",
        f"const uint64_t string_bytes = {string_bytes(node, keys_of(node))};",
        f"if (!{admitted}) continue;",
    )
    with lines.block("if (GS_UNLIKELY(mask != groups->mask))"):
        lines.add(
            "place = r->control & groups->mask;",
            "while (groups->index[place] != 0) place = (place + 1) & groups->mask;",
        )
    lines.add(
        "groups->index[place] = (uint64_t)r->control << 32 | (groups->count - 1);",
        f"entry = (struct {prefix}_entry *)groups->entries + (groups->count - 1);",
    )
    if any(a.may_be_empty or a.keeps_values for a in node.accumulators):
        lines.add("memset(entry, 0, sizeof *entry); /* what has seen no value yet is 0 */")
    if node.may_be_of_nothing:
        lines.add("entry->is_met = 1;")
    for i in keys_of(node):
        e = node.groups[i].expression
        string = f"op->host->group_string(op, r->table, r->g{i}, r->g{i}.length)"
        lines.add(f"entry->g{i} = {string if e.type is Type.STRING else f'r->g{i}'};")
        if e.nullable:
            lines.add(f"entry->g{i}_null = r->g{i}_null;")
    write_accumulate(lines, prefix, node, is_start=True, number=number)


def string_bytes(node: Aggregate, keys: Sequence[int]) -> str:
    """C expression: the bytes of a row's group variables that are texts."""
    strings = (f"r->g{i}.length" for i in keys if is_string(node, i))
    return " + ".join(["UINT64_C(0)", *strings])


def is_string(node: Aggregate, group: int) -> bool:
    return node.groups[group].expression.type is Type.STRING


def _write_place(lines: Lines, prefix: str) -> None:
    """The second pass: the index has arrived; ask for the entry of the row's hash.

    Rows before this one in the burst may yet start groups: only behind the place, or at it.
    """
    lines.add(
        f"struct {prefix}_row *r = &rows[at];",
        "const struct gs_group_table *groups = r->table;",
        "uint32_t place = r->control & groups->mask;",
        "uint64_t word = groups->index[place];",
    )
    with lines.block("while (word != 0 && (uint32_t)(word >> 32) != r->control)"):
        lines.add("place = (place + 1) & groups->mask;", "word = groups->index[place];")
    lines.add(
        "r->place = place;",
        "r->mask = groups->mask;",
        f"__builtin_prefetch((struct {prefix}_entry *)groups->entries + (uint32_t)word, 1);",
    )


def same_group(node: Aggregate, one: str, other: str) -> str:
    """C condition: the keys of two entries or rows, pointers, are equal."""
    tests = []
    for i in keys_of(node):
        e = node.groups[i].expression
        if e.nullable:
            tests.append(f"{one}->g{i}_null == {other}->g{i}_null")
        tests.append(equal(e.type, f"{one}->g{i}", f"{other}->g{i}"))
    return " && ".join(tests) or "true"


def write_is_same(lines: Lines, prefix: str, node: Aggregate, one: str = "a") -> None:
    """`prefix`_is_same: what `a` points to, whose entry is `one`, and an entry are of one group."""
    with lines.block(f"static bool {prefix}_is_same(const void *a, const void *b)"):
        lines.add(
            f"const struct {prefix}_entry *one = {one}, *other = b;",
            "(void)one, (void)other;",
            f"return {same_group(node, 'one', 'other')};",
        )
    lines.add("")


def write_accumulate(
    lines: Lines, prefix: str, node: Aggregate, *, is_start: bool, number: str | None = None
) -> None:
    """The row `r` is added to `entry`.

    `number` is the group's among those whose values lie in `r->table`: of all by default.
    """
    sets = value_sets(node.accumulators)
    if sets:
        of_all = f"(uint32_t)(entry - (struct {prefix}_entry *)groups->entries)"
        lines.add(f"const uint32_t number = {number or of_all};")
    write_met_values(lines, node.accumulators, sets)
    for index, (accumulator, arguments) in enumerate(
        zip(node.accumulators, arguments_of(node), strict=True)
    ):
        x = [f"r->x{index}_{part}" for part in range(len(arguments))]
        writer = writer_of(accumulator, of_partials=node.merges_partials)
        at = f"entry->a{index}"
        if node.merges_partials:
            start, add = writer.merge_start(at, x), writer.merge(at, x)
        else:
            values = handed_over(accumulator, x)
            if accumulator.has_set and not accumulator.distinct:
                values = [*values, sets[index].met]
            start, add = writer.start(at, values), writer.add(at, values)
        added = met(accumulator, at, x, start, None if is_start else add)
        if accumulator.has_set:
            kept = sets[index]
            told = kept.is_new if accumulator.distinct else f"{kept.met} != NULL"
            added = [f"if ({told}) {{ {' '.join(added)} }}"]
        lines.add(*added)


CODE = HighCode(_write_aggregate)

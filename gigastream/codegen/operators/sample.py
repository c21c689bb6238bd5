# SPDX-License-Identifier: Apache-2.0
"""Sampling as C: a row meets its supergroup, then its group; and what is asked of both."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import C_TYPE, Lines, comment
from gigastream.codegen.columns import column_leaf, write_inputs
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue, ExpressionWriter
from gigastream.codegen.keys import equal, from_bound, write_hash
from gigastream.codegen.members import write_member
from gigastream.codegen.operators.aggregate import (
    aggregate_reads,
    arguments_of,
    is_string,
    keys_of,
    string_bytes,
    write_accumulate,
    write_aggregate_functions,
    write_find,
    write_group_ops,
    write_start,
    write_window,
)
from gigastream.codegen.operators.group_out import Leaf, write_group_condition, write_group_out
from gigastream.codegen.operators.high_code import HighCode
from gigastream.codegen.operators.high_parts import note_calls, operator_writer, write_where
from gigastream.codegen.operators.row_bursts import write_scratch_reset
from gigastream.gsql.expressions import (
    Expression,
    GroupRef,
    SuperaggregateRef,
    SupergroupState,
    walk,
)
from gigastream.gsql.types import Type
from gigastream.late_dataclass import replace
from gigastream.plan.operators.sample import Sample
from gigastream.plan.text import expression_text

_LINK = ("struct gs_sample_link", "link")


def _write_sample(lines: Lines, context: CodeContext, prefix: str, node: Sample) -> None:
    note_calls(context, node.admission)
    _write_supergroup(lines, context, prefix, node)
    write_aggregate_functions(
        *(lines, context, prefix, node, node.groups),
        engine_members=[_LINK],
        write_rows=_write_rows,
    )
    begin = (
        f"const struct {prefix}_entry *entry = memory;",
        f"struct {prefix}_supergroup *super = op->host->sample_at(op, entry->link.supergroup);",
        "(void)super;",
    )
    members = []
    conditions = (("keeps", node.sampling.cleaning_by), ("passes", node.having))
    for name, condition in conditions:
        if condition is not None:
            parts = (lines, context, prefix, node, name, condition)
            checks = _checks(node, [condition], "return false;")
            write_group_condition(*parts, begin=(*begin, *checks), others=_of_supergroup(node))
            members.append(name)
    checks = _checks(node, node.column_expressions, "return false;")
    leaving = replace(node, having=None)
    whole = (lines, context, prefix, leaving)
    write_group_out(*whole, begin=(*begin, *checks), others=_of_supergroup(node))
    _write_leave(lines, prefix, node)
    _write_end(lines, prefix, node)
    with lines.block(f"static const struct gs_sample_ops {prefix}_ops =", "};"):
        write_group_ops(lines, "sample", prefix, node)
        lines.add(
            f".supergroup_size = sizeof(struct {prefix}_supergroup),",
            f".link = offsetof(struct {prefix}_entry, link),",
            f".has_states = {int(bool(node.states))},",
            *(f".{name} = {prefix}_{name}," for name in ("is_of", "begin", "leave", "end")),
            *(f".{name} = {prefix}_{name}," for name in members),
        )
    lines.add("")


# What a supergroup keeps


def _write_supergroup(lines: Lines, context: CodeContext, prefix: str, node: Sample) -> None:
    """The head, what its superaggregates are, its states, and its key."""
    with lines.block(f"struct {prefix}_supergroup", "};"):
        lines.add("struct gs_supergroup head;")
        for index in _sums(node):
            lines.add(f"__int128 s{index};")
        for name, call in node.states.items():
            context.opaque_sizes.add(call.arguments[0].type.size)
            lines.add(f"{C_TYPE[call.arguments[0].type]} state_{name};")
        for i in node.super_keys:
            e = node.groups[i].expression
            lines.add(f"{C_TYPE[e.type]} g{i};")
            if e.nullable:
                lines.add(f"bool g{i}_null;")
    lines.add("")


def _sums(node: Sample) -> dict[int, int]:
    """Superaggregates that are sums, and the accumulator that each is of."""
    calls = enumerate(node.sampling.superaggregates)
    return {
        index: node.finals[item.aggregate].accumulators[0]
        for index, item in calls
        if item.aggregate is not None
    }


_WIDTH = {True: "uint64_t", False: "int64_t"}


def _sum_type(node: Sample, index: int) -> str:
    aggregate = node.sampling.superaggregates[index].aggregate
    assert aggregate is not None
    return _WIDTH[node.finals[aggregate].type.is_unsigned]


def _of_supergroup(node: Sample) -> Leaf:
    """Reads a state or a superaggregate of `super`."""

    def leaf(e: Expression) -> CValue:
        if isinstance(e, SupergroupState):
            return CValue(f"super->state_{e.state.lower()}")
        assert isinstance(e, SuperaggregateRef)
        if node.sampling.superaggregates[e.index].aggregate is None:
            return CValue("super->head.count")
        return CValue(f"(({_sum_type(node, e.index)})super->s{e.index})")

    return leaf


def _checks(node: Sample, read: Sequence[Expression], out: str) -> list[str]:
    """A sum of a supergroup that leaves 64 bits is no value."""
    parts = (part for e in read for part in walk(e))
    used = {part.index for part in parts if isinstance(part, SuperaggregateRef)}
    found = []
    for index in sorted(used & set(_sums(node))):
        fits = f"super->s{index} == ({_sum_type(node, index)})super->s{index}"
        found.append(f"if (!({fits})) {{ op->counters.no_value++; {out} }}")
    return found


# Rows


def _write_rows(lines: Lines, context: CodeContext, prefix: str, node: Sample) -> None:
    """One by one: what a row finds depends on those before it."""
    _write_is_of(lines, prefix, node)
    _write_begin(lines, prefix, node)
    read = [*aggregate_reads(node), *node.admission]
    head = f"static void {prefix}_rows(struct gs_operator *op, const struct gs_batch *input)"
    with lines.block(head):
        write_inputs(lines, read, "input")
        lines.add("struct gs_group_table *table = NULL;", "gs_bound last[1] = {0};")
        with lines.block("for (uint32_t row = 0; row < input->row_count; row++)"):
            _write_row(lines, context, prefix, node, read)
    lines.add("")


def _write_row(
    lines: Lines, context: CodeContext, prefix: str, node: Sample, read: list[Expression]
) -> None:
    columns, of_supergroup = column_leaf(("input", "row")), _of_supergroup(node)

    def leaf(e: Expression) -> CValue:
        is_super = isinstance(e, SupergroupState | SuperaggregateRef)
        return of_supergroup(e) if is_super else columns(e)

    writer = operator_writer(lines, context, leaf, "op->counters.no_value++; continue;")
    write_scratch_reset(lines, [*read, *node.conditions_of_groups])
    write_where(lines, writer, node.predicates)
    lines.add(f"struct {prefix}_row met, *r = &met;")
    for i in keys_of(node):
        write_member(lines, writer, node.groups[i].expression, f"r->g{i}")
    write_window(lines, writer, node)
    lines.add("r->table = table;")
    _write_hash_of(lines, node, keys_of(node), "hash")
    lines.add("r->control = (uint32_t)hash | 0x80000000u;")
    _write_meet(lines, prefix, node)
    lines.add(*_checks(node, node.admission, "continue;"))
    write_where(lines, writer, node.admission)
    for index, arguments in enumerate(arguments_of(node)):
        for part, e in enumerate(arguments):
            write_member(lines, writer, e, f"r->x{index}_{part}")
    _write_group(lines, prefix, node)
    _write_cleaning(lines, context, node)


def _write_hash_of(lines: Lines, node: Sample, keys: Sequence[int], to: str) -> None:
    types = [node.groups[i].expression.type for i in keys]
    write_hash(lines, to, "op->hash_key", types, [f"r->g{i}" for i in keys])


def _write_meet(lines: Lines, prefix: str, node: Sample) -> None:
    _write_hash_of(lines, node, node.super_keys, "shared")
    texts = string_bytes(node, node.super_keys)
    lines.add(
        f"struct {prefix}_supergroup *super = op->host->sample_meet(op, table, "
        f"(uint32_t)shared | 0x80000000u, r, {texts});",
        "if (GS_UNLIKELY(super == NULL)) continue;",
    )


def _write_group(lines: Lines, prefix: str, node: Sample) -> None:
    """The row goes into its group; sums of the supergroup are told what that changes.

    What the group keeps lies apart from the others', since it may leave before them.
    """
    write_find(lines, prefix, node, unless="found->link.is_gone")
    sums, keeps = _sums(node), _keeps(node)
    with lines.block("if (entry != NULL)"):
        lines.add(*(f"super->s{index} -= entry->a{of};" for index, of in sums.items()))
        if keeps:
            lines.add("r->table = entry->link.kept;")
        write_accumulate(lines, prefix, node, is_start=False, number="0")
    with lines.block("else"):
        if keeps:
            write_start(lines, prefix, node, _ADMITTED_APART, number="0")
        else:
            write_start(lines, prefix, node)
        lines.add(f"op->host->sample_join(op, groups, super, {'r->table' if keeps else 'NULL'});")
    lines.add(*(f"super->s{index} += entry->a{of};" for index, of in sums.items()))


_ADMITTED_APART = (
    "((r->table = op->host->sample_admit(op, groups, string_bytes)) != NULL)"  # with its own memory
)


def _keeps(node: Sample) -> bool:
    """Whether a group keeps texts or values."""
    of_rows = any(a.keeps_values or a.type is Type.STRING for a in node.accumulators)
    return of_rows or any(is_string(node, i) for i in keys_of(node))


def _write_cleaning(lines: Lines, context: CodeContext, node: Sample) -> None:
    condition = node.sampling.cleaning_when
    if condition is None:
        return
    of_supergroup, (window,) = _of_supergroup(node), node.temporal_groups

    def leaf(e: Expression) -> CValue:
        if not isinstance(e, GroupRef):
            return of_supergroup(e)
        group = node.groups[e.index].expression
        if e.index == window:
            return CValue(from_bound("last[0]", group.type, group.temporal))
        return CValue(f"r->g{e.index}", f"r->g{e.index}_null" if group.nullable else "")

    lines.add(*_checks(node, [condition], "continue;"))
    lines.add(comment(f"CLEANING_WHEN {expression_text(condition)}"))
    writer: ExpressionWriter = operator_writer(
        lines, context, leaf, "op->counters.no_value++; continue;"
    )
    lines.add(f"if ({writer.truth(condition)}) op->host->sample_clean(op, groups, super);")


# What the engine asks


def _write_is_of(lines: Lines, prefix: str, node: Sample) -> None:
    tests = []
    for i in node.super_keys:
        e = node.groups[i].expression
        if e.nullable:
            tests.append(f"super->g{i}_null == r->g{i}_null")
        tests.append(equal(e.type, f"super->g{i}", f"r->g{i}"))
    with lines.block(f"static bool {prefix}_is_of(const void *supergroup, const void *row)"):
        lines.add(
            f"const struct {prefix}_supergroup *super = supergroup;",
            f"const struct {prefix}_row *r = row;",
            "(void)super, (void)r;",
            f"return {' && '.join(tests) or 'true'};",
        )
    lines.add("")


def _write_begin(lines: Lines, prefix: str, node: Sample) -> None:
    head = (
        f"static void {prefix}_begin(struct gs_operator *op, void *supergroup, const void *row, "
        "const void *before, uint64_t number)"
    )
    with lines.block(head):
        lines.add(
            f"struct {prefix}_supergroup *super = supergroup;",
            f"const struct {prefix}_row *r = row;",
            f"const struct {prefix}_supergroup *last = before;",
            "(void)op, (void)super, (void)r, (void)last, (void)number;",
        )
        for i in node.super_keys:
            text = f"op->host->group_string(op, super->head.kept, r->g{i}, r->g{i}.length)"
            lines.add(f"super->g{i} = {text if is_string(node, i) else f'r->g{i}'};")
            if node.groups[i].expression.nullable:
                lines.add(f"super->g{i}_null = r->g{i}_null;")
        for name in node.states:
            old = f"last == NULL ? NULL : last->state_{name}.bytes"
            state = f"super->state_{name}.bytes"
            lines.add(f"gs_state_{name}_begin({state}, {old}, number);")
    lines.add("")


def _write_leave(lines: Lines, prefix: str, node: Sample) -> None:
    with lines.block(f"static void {prefix}_leave(void *supergroup, const void *memory)"):
        lines.add(
            f"struct {prefix}_supergroup *super = supergroup;",
            f"const struct {prefix}_entry *entry = memory;",
            "(void)super, (void)entry;",
            *(f"super->s{index} -= entry->a{of};" for index, of in _sums(node).items()),
        )
    lines.add("")


def _write_end(lines: Lines, prefix: str, node: Sample) -> None:
    with lines.block(f"static void {prefix}_end(void *supergroup)"):
        lines.add(f"struct {prefix}_supergroup *super = supergroup;", "(void)super;")
        for name in node.states:
            lines.add(f"gs_state_{name}_end(super->state_{name}.bytes);")
    lines.add("")


CODE = HighCode(_write_sample)

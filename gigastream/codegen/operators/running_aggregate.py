# SPDX-License-Identifier: Apache-2.0
"""Running aggregation as C: an aggregation, and what stands of its groups from window to window."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gigastream.codegen.accumulator_writer import StructMember
from gigastream.codegen.c_text import C_TYPE, Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.keys import size_rank
from gigastream.codegen.operators.aggregate import (
    is_string,
    keys_of,
    write_aggregate_functions,
    write_group_ops,
    write_is_same,
)
from gigastream.codegen.operators.group_out import NO_VALUE, FinalWriter, made, write_group_out
from gigastream.codegen.operators.high_code import HighCode
from gigastream.codegen.user_accumulators import kept_by
from gigastream.codegen.user_aggregates import (
    name_of,
    note_merge,
    note_moved,
    note_value,
    state_struct,
    value_of,
)
from gigastream.gsql.expressions import StateFunction
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass
from gigastream.plan.accumulators import (
    RUNNING_USER,
    Accumulator,
    Final,
    UserAccumulator,
    UserFinal,
)
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.running_aggregate import RunningAggregate


def _write_running(lines: Lines, context: CodeContext, prefix: str, node: RunningAggregate) -> None:
    _note_states(context, node)
    write_aggregate_functions(lines, context, prefix, node, node.groups)
    _write_standing(lines, prefix, node)
    begin = (
        f"const struct {prefix}_standing *standing = memory;",
        f"const struct {prefix}_entry *entry = &standing->now;",
    )
    finals = {kind: going_on.value for kind, going_on in _GOING_ON.items()}
    write_group_out(lines, context, prefix, node, begin=begin, finals=finals, closing=node.closing)
    standing = f"&((const struct {prefix}_standing *)a)->now"
    write_is_same(lines, prefix, node, standing)
    _write_begin(lines, prefix, node)
    _write_take(lines, prefix, node)
    _write_move(lines, prefix, node)
    _write_rest(lines, prefix, node)
    _write_tell(lines, prefix, node)
    _write_drop(lines, prefix, node)
    with lines.block(f"static const struct gs_running_ops {prefix}_ops =", "};"):
        write_group_ops(lines, "running", prefix, node)
        lines.add(
            f".standing_size = sizeof(struct {prefix}_standing),",
            f".settles_after = {node.settles_after},",
            f".max_silence = {node.max_silence},",
            f".asks_for_window = {int(node.asks_for_window)},",
            f".step = INT64_C({node.step}),",
            *(f".{name} = {prefix}_{name}," for name in _FUNCTIONS),
        )
    lines.add("")


_FUNCTIONS = ("is_same", "begin", "take", "move", "rest", "tell", "drop")


# What stands, and its parts


def _going_on(node: RunningAggregate) -> Iterator[tuple[int, Final]]:
    """Aggregates that go on, each once, with their numbers."""
    for index, final in enumerate(node.finals):
        if final.kind in _GOING_ON and node.finals.index(final) == index:
            yield index, final


def _write_standing(lines: Lines, prefix: str, node: RunningAggregate) -> None:
    members = [StructMember(f"struct {prefix}_entry", "now")]
    for index, final in _going_on(node):
        members += _GOING_ON[final.kind].members(node, index, final)
    with lines.block(f"struct {prefix}_standing", "};"):
        lines.add("struct gs_standing standing;")
        for member in sorted(members, key=lambda member: size_rank(member.c_type)):
            lines.add(f"{member.c_type} {member.name};")
    lines.add("")


def _string_keys(node: RunningAggregate) -> list[str]:
    return [f"g{i}" for i in keys_of(node) if is_string(node, i)]


def _write_begin(lines: Lines, prefix: str, node: RunningAggregate) -> None:
    """Of the window only the strings of keys are copied; those of values are as they move."""
    head = f"static bool {prefix}_begin(struct gs_operator *op, void *memory, const void *from)"
    strings = _string_keys(node)
    with lines.block(head):
        lines.add(
            f"struct {prefix}_standing *standing = memory;",
            f"const struct {prefix}_entry *entry = from;",
            "(void)op;",
            "standing->now = *entry;",
            *(f"standing->now.{key} = (struct gs_string){{NULL, 0}};" for key in strings),
        )
        for at, key in enumerate(strings):
            keep = f"op->host->running_keep(op, &standing->now.{key}, entry->{key})"
            with lines.block(f"if (!{keep})"):
                lines.add(*(_dropped(f"now.{kept}") for kept in strings[:at]), "return false;")
        lines.add("return true;")
    lines.add("")


def _dropped(member: str) -> str:
    return f"op->host->running_drop(op, &standing->{member});"


def _write_take(lines: Lines, prefix: str, node: RunningAggregate) -> None:
    with lines.block(f"static void {prefix}_take(void *memory, const void *from)"):
        lines.add(
            f"struct {prefix}_standing *standing = memory;",
            f"struct {prefix}_entry taken = *(const struct {prefix}_entry *)from;",
            *(f"taken.{key} = standing->now.{key};" for key in _string_keys(node)),
            "standing->now = taken;",
        )
    lines.add("")


def _write_move(lines: Lines, prefix: str, node: RunningAggregate) -> None:
    with lines.block(f"static void {prefix}_move(struct gs_operator *op, void *memory)"):
        lines.add(
            f"struct {prefix}_standing *standing = memory;",
            f"const struct {prefix}_entry *entry = &standing->now;",
            "(void)op, (void)entry;",
        )
        for index, final in _going_on(node):
            with lines.block(f"/* aggregate {index} */"):
                lines.add(*_GOING_ON[final.kind].move(node, index, final))
    lines.add("")


def _write_rest(lines: Lines, prefix: str, node: RunningAggregate) -> None:
    members = []
    for i in keys_of(node):
        members.append(f"g{i}")
        if node.groups[i].expression.nullable:
            members.append(f"g{i}_null")
    with lines.block(f"static void {prefix}_rest(void *memory)"):
        lines.add(
            f"struct {prefix}_standing *standing = memory;",
            f"struct {prefix}_entry resting;",
            "memset(&resting, 0, sizeof resting);",
            *(f"resting.{name} = standing->now.{name};" for name in members),
            "standing->now = resting;",
        )
    lines.add("")


def _write_tell(lines: Lines, prefix: str, node: RunningAggregate) -> None:
    head = f"static void {prefix}_tell(struct gs_operator *op, void *memory, uint64_t windows)"
    with lines.block(head):
        lines.add(
            f"struct {prefix}_standing *standing = memory;",
            "(void)op, (void)standing, (void)windows;",
        )
        for index, final in _going_on(node):
            if final.kind == RUNNING_USER:
                moved = f"{name_of(_kept_state(node, final))}_moved"
                at = f"standing->u{index}"
                lines.add(f"if ({at}_seen) {moved}(&{at}, op->handles, windows);")
    lines.add("")


def _write_drop(lines: Lines, prefix: str, node: RunningAggregate) -> None:
    kept = [f"now.{key}" for key in _string_keys(node)]
    kept += [f"k{i}" for i, final in _going_on(node) if _keeps_string(final)]
    with lines.block(f"static void {prefix}_drop(struct gs_operator *op, void *memory)"):
        lines.add(
            f"struct {prefix}_standing *standing = memory;",
            "(void)op, (void)standing;",
            *map(_dropped, kept),
        )
    lines.add("")


def _keeps_string(final: Final) -> bool:
    return final.kind.startswith("kept") and final.type is Type.STRING


# The aggregates that go on


@dataclass(frozen=True, slots=True)
class _GoingOn:
    """Members of what stands, what becomes of them at a window's end, and the value."""

    members: Callable[[RunningAggregate, int, Final], list[StructMember]]
    move: Callable[[RunningAggregate, int, Final], list[str]]
    """Statements over `entry`, what the window has of the group, and `standing`."""
    value: FinalWriter


def _of(node: Aggregate, final: Final) -> str:
    """What the names of a final's members end with."""
    return str(node.finals.index(final))


def _sum_of(node: Aggregate, final: Final) -> Accumulator:
    return node.accumulators[final.accumulators[0]]


def _is_float(node: Aggregate, final: Final) -> bool:
    return _sum_of(node, final).kind == "sum_float"


def _parts(node: Aggregate, final: Final) -> tuple[str, str]:
    """The window's sum, as far as there is one, and the number of values in it."""
    total, count = final.accumulators
    return f"entry->a{total}", f"entry->a{count}"


def _whole_part(node: Aggregate, final: Final) -> str:
    total, count = _parts(node, final)
    return f"(struct gs_whole_part){{(__int128){total}, {count}}}"


def _ring_members(node: RunningAggregate, index: int, final: Final) -> list[StructMember]:
    kind = "float" if _is_float(node, final) else "whole"
    total = StructMember("uint64_t", f"m{index}_count")
    if kind == "whole":
        total = StructMember("struct gs_whole_part", f"m{index}")
    ring = StructMember(f"struct gs_{kind}_part", f"m{index}_ring[{final.windows}]")
    return [total, ring, StructMember("uint32_t", f"m{index}_next")]


def _ring_move(node: RunningAggregate, index: int, final: Final) -> list[str]:
    at = f"standing->m{index}"
    ring = f"{at}_ring, {final.windows}, &{at}_next"
    if not _is_float(node, final):
        return [f"gs_whole_move(&{at}, {ring}, {_whole_part(node, final)});"]
    total, count = _parts(node, final)
    return [f"gs_float_move(&{at}_count, {ring}, gs_float_part_of(&{total}, {count}));"]


def _float_ring(lines: Lines, node: Aggregate, final: Final, divisor: str) -> tuple[str, str]:
    at, result = f"standing->m{_of(node, final)}", lines.name()
    ring = f"{at}_ring, {final.windows}, {divisor}, &{result}"
    lines.add(f"double {result};", f"if (!gs_float_ring_quotient({ring})) {NO_VALUE}")
    return result, f"{at}_count == 0"


def _moving_sum(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    if _is_float(node, final):
        return _float_ring(lines, node, final, "1")
    return _whole_value(lines, final, f"standing->m{_of(node, final)}")


def _whole_value(lines: Lines, final: Final, part: str) -> tuple[str, str]:
    fits = f"{part}.sum == ({C_TYPE[final.type]}){part}.sum"
    lines.add(f"if (!({fits})) {NO_VALUE} /* the sum leaves 64 bits */")
    return f"{part}.sum", f"{part}.count == 0"


def _moving_average(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    at = f"standing->m{_of(node, final)}"
    if _is_float(node, final):
        return _float_ring(lines, node, final, f"({at}_count ? {at}_count : 1)")
    return f"{at}.count ? (double){at}.sum / (double){at}.count : 0", f"{at}.count == 0"


def _sum_members(node: RunningAggregate, index: int, final: Final) -> list[StructMember]:
    if not _is_float(node, final):
        return [StructMember("struct gs_whole_part", f"r{index}")]
    total = StructMember("struct gs_float_sum", f"r{index}")
    return [total, StructMember("uint64_t", f"r{index}_count")]


def _sum_move(node: RunningAggregate, index: int, final: Final) -> list[str]:
    at, (total, count) = f"standing->r{index}", _parts(node, final)
    if _is_float(node, final):
        return [f"gs_float_sum_join(&{at}, &{total});", f"{at}_count += {count};"]
    return [f"{at}.sum += (__int128){total};", f"{at}.count += {count};"]


def _running_sum(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    at = f"standing->r{_of(node, final)}"
    if not _is_float(node, final):
        return _whole_value(lines, final, at)
    result = lines.name()
    lines.add(f"double {result};", f"if (!gs_float_sum_quotient(&{at}, 1, &{result})) {NO_VALUE}")
    return result, f"{at}_count == 0"


def _greatest_members(node: RunningAggregate, index: int, final: Final) -> list[StructMember]:
    greatest = "double" if _is_float(node, final) else "struct gs_whole_part"
    has = StructMember("bool", f"x{index}_seen")
    return [*_sum_members(node, index, final), StructMember(greatest, f"x{index}"), has]


def _greatest_move(node: RunningAggregate, index: int, final: Final) -> list[str]:
    """Of the sum at this window's end, once there is one."""
    sum_, greatest = f"standing->r{index}", f"standing->x{index}"
    seen = f"{greatest}_seen"
    moved = _sum_move(node, index, final)
    if not _is_float(node, final):
        better = f"!{seen} || {sum_}.sum > {greatest}.sum"
        return [*moved, f"if ({sum_}.count > 0 && ({better})) {greatest} = {sum_}, {seen} = 1;"]
    now = f"gs_float_part_of(&{sum_}, 0).sum"
    better = f"!{seen} || {now} > {greatest}"
    return [*moved, f"if ({sum_}_count > 0 && ({better})) {greatest} = {now}, {seen} = 1;"]


def _running_sum_max(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    at = f"standing->x{_of(node, final)}"
    if not _is_float(node, final):
        return _whole_value(lines, final, at)[0], f"!{at}_seen"
    lines.add(f"if ({at} == HUGE_VAL) {NO_VALUE}")
    return at, f"!{at}_seen"


def _kept_members(node: RunningAggregate, index: int, final: Final) -> list[StructMember]:
    return [StructMember(C_TYPE[final.type], f"k{index}"), StructMember("bool", f"k{index}_seen")]


def _kept_move(node: RunningAggregate, index: int, final: Final) -> list[str]:
    which = final.accumulators[0]
    at, now = f"standing->k{index}", f"entry->a{which}"
    has = f"{now}_seen" if node.accumulators[which].may_be_empty else "entry->is_met"
    wanted = f"{has} && !{at}_seen" if final.kind == "kept_first" else has
    if not _keeps_string(final):
        return [f"if ({wanted}) {at} = {now}, {at}_seen = 1;"]
    return [f"if ({wanted} && op->host->running_keep(op, &{at}, {now})) {at}_seen = 1;"]


def _kept(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    at = f"standing->k{_of(node, final)}"
    return at, f"!{at}_seen"


def _timed_members(node: RunningAggregate, index: int, final: Final) -> list[StructMember]:
    return [StructMember("struct gs_time_average", f"t{index}")]


def _timed_move(node: RunningAggregate, index: int, final: Final) -> list[str]:
    total, length, begin, last = (f"entry->a{which}" for which in final.accumulators)
    held = f"&{total}, &{length}, {begin}, {last}, {last}_at.timestamp_ns"
    return [
        f"if (entry->is_met) gs_time_average_move(&standing->t{index}, {held});",
        f"else standing->t{index}.value = standing->t{index}.last;",
    ]


def _timed(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    at = f"standing->t{_of(node, final)}"
    lines.add(f"if ({at}.value == HUGE_VAL) {NO_VALUE}")
    return f"{at}.value", f"!{at}.has_value"


def _note_states(context: CodeContext, node: RunningAggregate) -> None:
    """Have written what is called of states that go on."""
    for _, final in _going_on(node):
        if isinstance(final, UserFinal):
            kept = _kept_state(node, final)
            note_merge(context, kept)
            note_moved(context, kept)
            note_value(context, kept, final.call)


def _kept_state(node: Aggregate, final: Final) -> StateFunction:
    accumulator = node.accumulators[final.accumulators[0]]
    assert isinstance(accumulator, UserAccumulator)
    return kept_by(accumulator, of_partials=node.merges_partials)


def _user_members(node: RunningAggregate, index: int, final: Final) -> list[StructMember]:
    state = state_struct(_kept_state(node, final))
    return [StructMember(state, f"u{index}"), StructMember("bool", f"u{index}_seen")]


def _user_move(node: RunningAggregate, index: int, final: Final) -> list[str]:
    """What the window has seen is merged into what all before it have."""
    which, at = final.accumulators[0], f"standing->u{index}"
    now, kept = f"entry->a{which}", _kept_state(node, final)
    has = f"{now}_seen" if node.accumulators[which].may_be_empty else "entry->is_met"
    return [
        f"if ({has} && {at}_seen) {name_of(kept)}_merge(&{at}, op->handles, &{now});",
        f"else if ({has}) {at} = {now}, {at}_seen = 1;",
    ]


def _user(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    assert isinstance(final, UserFinal)
    at, result = f"standing->u{_of(node, final)}", lines.name()
    function = value_of(_kept_state(node, final), final.call)
    call = f"{function}(op->scratch, op->handles, &{at}, &{result})"
    return made(lines, final, result, call, f"!{at}_seen")


_GOING_ON = {
    RUNNING_USER: _GoingOn(_user_members, _user_move, _user),
    "time_average": _GoingOn(_timed_members, _timed_move, _timed),
    "moving_sum": _GoingOn(_ring_members, _ring_move, _moving_sum),
    "moving_average": _GoingOn(_ring_members, _ring_move, _moving_average),
    "running_sum": _GoingOn(_sum_members, _sum_move, _running_sum),
    "running_sum_max": _GoingOn(_greatest_members, _greatest_move, _running_sum_max),
    "kept_first": _GoingOn(_kept_members, _kept_move, _kept),
    "kept_last": _GoingOn(_kept_members, _kept_move, _kept),
}

CODE = HighCode(_write_running)

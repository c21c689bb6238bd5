# SPDX-License-Identifier: Apache-2.0
"""FILTER_JOIN as C: a packet may let others through, and be let through, by those before it."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.bounds import write_carried
from gigastream.codegen.c_text import C_TYPE, Lines, comment
from gigastream.codegen.context import CodeContext
from gigastream.codegen.keys import size_rank, to_bound, write_hash
from gigastream.codegen.operators.low_parts import TupleWriter
from gigastream.codegen.unpack import filter_presence_of, presence_row
from gigastream.gsql.expressions import Constant, Expression, Operation
from gigastream.gsql.queries import FilterJoin
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.types import Type
from gigastream.plan.operators.low_node import LowNode, over_timestamp
from gigastream.plan.text import expression_text

_PARTS = 4
"""GS_BLOOM_PARTS of csrc/abi/gs_join_filter.h."""


def step_of(join: FilterJoin) -> int:
    """Ticks of a granule: of the whole window, or of a part of it."""
    return join.ticks + 1 if join.bloom is None else -(-(join.ticks + 1) // _PARTS)


def write_filter_types(lines: Lines, prefix: str, node: LowNode) -> None:
    """The struct of the keys, and how much is kept of them."""
    join = node.filter
    if join is None:
        return
    members = sorted(
        ((C_TYPE[sides[0].type], f"k{i}") for i, sides in enumerate(join.keys)),
        key=lambda member: size_rank(member[0]),
    )
    with lines.block(f"struct {prefix}_key", "};"):
        lines.add(*(f"{c_type} {name};" for c_type, name in members))
    bloom = join.bloom
    with lines.block(f"static const struct gs_join_filter_ops {prefix}_filter =", "};"):
        lines.add(
            f".key_size = sizeof(struct {prefix}_key),",
            f".is_bloom = {str(bloom is not None).lower()},",
            f".filter_count = {0 if bloom is None else bloom.filters},",
            f".filter_bits = {0 if bloom is None else bloom.bits},",
        )
    lines.add("")


def write_filter_time(lines: Lines, node: LowNode) -> None:
    """At the head of a burst: which granules are over, and how far time has come."""
    join = node.filter
    if join is None:
        return
    time = join.times[0]
    step = Constant(type=time.type, span=NOWHERE, value=step_of(join))
    granule = Operation(
        type=time.type, temporal=time.temporal, span=NOWHERE, operator="/", operands=(time, step)
    )
    function = over_timestamp(granule)
    assert function is not None
    lines.add("int64_t *const times[] = {&lfta->filter->promised, &lfta->filter->reached};")
    with lines.block("for (uint32_t i = 0; i < 2; i++)"):
        lines.add("const int64_t now_ns = i == 0 ? burst->promise_ns : burst->high_ns;")
        lines.add("if (now_ns == INT64_MIN || now_ns == INT64_MAX) continue;")
        lines.add("gs_bound at[1];")
        write_carried(lines, "at", [(function, ("now_ns",))])
        lines.add("if (at[0] > *times[i]) *times[i] = at[0];")


def write_filter_candidates(lines: Lines, context: CodeContext, node: LowNode) -> None:
    """Of 64 packets those that may be let through, and those that may let others through."""
    for test in filter_presence_of(node):
        lines.add(
            f"const uint64_t of_r = candidates, of_s = {presence_row(context, test)};",
            "candidates |= of_s;",
        )


def write_conditions(
    lines: Lines, context: CodeContext, prefix: str, node: LowNode, own: TupleWriter
) -> None:
    """What decides on a packet: WHERE, or what came before the packet too."""
    join = node.filter
    if join is None:
        own.predicates()
        return
    lines.add(
        f"struct {prefix}_key s_key, r_key;",
        "gs_bound s_time = 0;",
        "uint64_t s_hash = 0;",
        "bool is_s = false, passes = false;",
    )
    lines.add(comment(f"lets others through: {_texts(join.where)}"))
    with lines.block("if (of_s >> (at - base) & 1) do", "} while (0);"):
        _write_s(lines, context, node, join)
    with lines.block("if (of_r >> (at - base) & 1) do", "} while (0);"):
        _write_r(lines, context, node, join)
    step = _u64(step_of(join))
    lines.add(
        f"if (is_s) gs_join_filter_add(lfta->filter, &s_key, s_hash, s_time, {step});",
        "if (!passes) continue;",
    )


def _write_s(lines: Lines, context: CodeContext, node: LowNode, join: FilterJoin) -> None:
    """A packet that has no value for what is asked of it lets nothing through, and is no loss."""
    writer = TupleWriter(lines, context, node, fail="continue;")
    for predicate in join.where:
        writer.load(predicate)
        lines.add(f"if (!({writer.writer.truth(predicate)})) continue;")
    _write_key(lines, writer, "s", [side for _, side in join.keys])
    writer.load(join.times[1])
    time = join.times[1]
    lines.add(f"s_time = {to_bound(writer.writer.value(time).code, time.temporal)};")
    lines.add("s_hash = hash;", "is_s = true;")


def _write_r(lines: Lines, context: CodeContext, node: LowNode, join: FilterJoin) -> None:
    writer = TupleWriter(lines, context, node)
    writer.predicates()
    _write_key(lines, writer, "r", [side for side, _ in join.keys])
    writer.load(join.times[0])
    time = join.times[0]
    lines.add(
        f"const gs_bound r_time = {to_bound(writer.writer.value(time).code, time.temporal)};",
        "passes = gs_join_filter_holds(lfta->filter, &r_key, hash, r_time, "
        f"{_u64(step_of(join))}, {_u64(join.ticks)});",
        "lfta->counters.rejected += !passes;",
    )


def _write_key(lines: Lines, writer: TupleWriter, side: str, keys: Sequence[Expression]) -> None:
    """The key, with no byte of it left as it was, and `hash`."""
    lines.add(f"memset(&{side}_key, 0, sizeof {side}_key);")
    for index, key in enumerate(keys):
        writer.load(key)
        zero = " + 0.0" if key.type is Type.FLOAT else ""  # one key for 0 and -0
        lines.add(f"{side}_key.k{index} = {writer.writer.value(key).code}{zero};")
    values = [f"{side}_key.k{index}" for index in range(len(keys))]
    types = [key.type for key in keys]
    write_hash(lines, "hash", "lfta->table.hash_key", types, values)


def _u64(number: int) -> str:
    return f"UINT64_C({number})"


def _texts(expressions: Sequence[Expression]) -> str:
    return " AND ".join(map(expression_text, expressions)) or "every packet"

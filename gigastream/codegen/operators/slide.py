# SPDX-License-Identifier: Apache-2.0
"""Aggregation over windows that overlap as C: an aggregation by panes, whose entries combine."""

from __future__ import annotations

from gigastream.codegen.accumulators import writer_of
from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.aggregate import (
    write_aggregate_functions,
    write_group_ops,
    write_is_same,
)
from gigastream.codegen.operators.group_out import write_group_out
from gigastream.codegen.operators.high_code import HighCode
from gigastream.codegen.user_accumulators import note_states
from gigastream.codegen.user_aggregates import HANDLES
from gigastream.plan.accumulators import Accumulator
from gigastream.plan.operators.slide import Slide


def _write_slide(lines: Lines, context: CodeContext, prefix: str, node: Slide) -> None:
    write_aggregate_functions(
        lines, context, prefix, node, node.window_groups, engine_members=[("void *", "link")]
    )
    note_states(context, node.accumulators, of_partials=node.merges_partials, combines=True)
    write_group_out(lines, context, prefix, node)
    write_is_same(lines, prefix, node)
    _write_combine(lines, prefix, node)
    with lines.block(f"static const struct gs_slide_ops {prefix}_ops =", "};"):
        write_group_ops(lines, "slide", prefix, node)
        lines.add(
            f".panes = {{.range = {node.range}, .slide = {node.slide}}},",
            f".link = offsetof(struct {prefix}_entry, link),",
            f".is_same = {prefix}_is_same,",
            f".combine = {prefix}_combine,",
        )
    lines.add("")


def _write_combine(lines: Lines, prefix: str, node: Slide) -> None:
    with lines.block(f"static void {prefix}_combine({HANDLES}, void *memory, const void *from)"):
        lines.add(
            f"struct {prefix}_entry *entry = memory;",
            f"const struct {prefix}_entry *other = from;",
            "(void)handles, (void)entry, (void)other;",
        )
        for index, accumulator in enumerate(node.accumulators):
            lines.add(*_combined(index, accumulator, node))
    lines.add("")


def _combined(index: int, accumulator: Accumulator, node: Slide) -> list[str]:
    """What has seen no value yet has none to give, and takes what the other has."""
    writer = writer_of(accumulator, of_partials=node.merges_partials)
    at, other = f"entry->a{index}", f"other->a{index}"
    combine = writer.combine(at, other)
    if not accumulator.may_be_empty:
        return combine
    states = writer.high(f"a{index}", accumulator)
    taken = [f"entry->{state.name} = other->{state.name};" for state in states]
    first = " ".join([*taken, f"{at}_seen = 1;"])
    return [f"if ({other}_seen) {{ if ({at}_seen) {{ {' '.join(combine)} }} else {{ {first} }} }}"]


CODE = HighCode(_write_slide)

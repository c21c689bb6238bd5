# SPDX-License-Identifier: Apache-2.0
"""Join as C: a row of an input meets those of the other that are held, and is held itself."""

from __future__ import annotations

from gigastream.codegen.bounds import Carried
from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext
from gigastream.codegen.operators.high_code import HighCode, write_ops
from gigastream.codegen.operators.high_parts import note_calls, write_bounds
from gigastream.codegen.operators.join_out import write_out
from gigastream.codegen.operators.join_rows import Sides, write_row_struct
from gigastream.codegen.operators.join_rows_in import write_rows
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.plan.operators.join import Join


def _write_join(lines: Lines, context: CodeContext, prefix: str, node: Join) -> None:
    sides = Sides.of(node)
    note_calls(context, [e for e, _ in node.evaluated])
    for side in sides:
        write_row_struct(lines, prefix, side)
    write_out(lines, prefix, node, sides)
    for side in sides:
        write_rows(lines, context, prefix, sides, side)
        functions = [_over_port(monotone(pair.sides[side.port])) for pair in node.pairs]
        write_bounds(lines, f"{prefix}_times{side.port}", functions)
    _write_reaches(lines, prefix, node)
    _write_join_bounds(lines, prefix, sides)
    write_ops(lines, "join", prefix, *_members(prefix, node, sides))


def _over_port(function: Monotone | None) -> Carried:
    """The port's promise is inputs[0] here, whichever port it is."""
    items = () if function is None else function.inputs
    return function, [f"inputs[0].bounds[{item.index}]" for item in items]


def _write_reaches(lines: Lines, prefix: str, node: Join) -> None:
    reaches = ", ".join(f"{{INT64_C({a}), INT64_C({b})}}" for a, b in (p.reach for p in node.pairs))
    lines.add(f"static const int64_t {prefix}_reaches[][2] = {{{reaches}}};", "")


def _write_join_bounds(lines: Lines, prefix: str, sides: Sides) -> None:
    with lines.block(f"static const struct gs_join_bound {prefix}_join_bounds[] =", "};"):
        for bound in sides.bounds:
            lines.add(f"{{{bound.output}, {bound.port}, {bound.input}, {bound.value}}},")
        lines.add("{0, 0, 0, 0},")
    lines.add("")


def _members(prefix: str, node: Join, sides: Sides) -> list[str]:
    counts = [len(node.pairs) + len(side.watched) for side in sides]
    max_rows = "UINT64_MAX" if node.max_rows is None else f"UINT64_C({node.max_rows})"
    members = [
        f".rows = {{{prefix}_rows0, {prefix}_rows1}},",
        f".times = {{{prefix}_times0, {prefix}_times1}},",
        f".pair_count = {len(node.pairs)},",
        f".reaches = {prefix}_reaches,",
        f".value_counts = {{{counts[0]}, {counts[1]}}},",
        f".keeps = {{{int(node.keeps[0])}, {int(node.keeps[1])}}},",
        f".max_rows = {max_rows},",
        f".bound_count = {len(sides.bounds)},",
        f".bounds = {prefix}_join_bounds,",
    ]
    if any(node.keeps):
        members.append(f".alone = {prefix}_alone,")
    if (joint := sides.joint) is not None:
        (a, in_a), (b, in_b) = joint
        members.append(".gives_joint = true,")
        members.append(f".joint_outputs = {{{a}, {b}}}, .joint_inputs = {{{in_a}, {in_b}}},")
    return members


CODE = HighCode(_write_join)

# SPDX-License-Identifier: Apache-2.0
"""A row of a join meets those that are held of the other side, and is held, as C."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines, comment
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue
from gigastream.codegen.keys import equal
from gigastream.codegen.operators.high_parts import operator_writer
from gigastream.codegen.operators.join_granules import Granules
from gigastream.codegen.operators.join_out import alone
from gigastream.codegen.operators.join_rows import Member, Side, Sides, strings_of
from gigastream.gsql.expressions import ColumnRef, Expression, FunctionCall, walk
from gigastream.plan.operators.join import Join
from gigastream.plan.text import expression_text


def write_meet(
    lines: Lines, context: CodeContext, prefix: str, sides: Sides, side: Side, granules: Granules
) -> None:
    """The third pass."""
    node, other = sides.node, sides[1 - side.port]
    lines.add(f"struct {prefix}_new{side.port} *r = &rows[at];")
    if _calls(node):
        lines.add("const uint32_t scratch_used = op->scratch->used;")
    with lines.block(granules.loop(side.port)):
        lines.add(f"const uint64_t hash = {granules.hash('granule')};")
        chain = "struct gs_join_row *met = other->heads[hash & other->mask]"
        with lines.block(f"for ({chain}; met != NULL; met = met->next)"):
            lines.add("if (met->hash != hash) continue;")
            lines.add(
                f"const struct {prefix}_row{other.port} *m = "
                f"(const struct {prefix}_row{other.port} *)met;"
            )
            if granules.pair is not None:  # two granules of one hash share a chain
                lines.add(f"if ({granules.of_value('m->values')} != granule) continue;")
            _write_match(lines, context, side, other)
            _write_pair_out(lines, prefix, side)
    _write_keep(lines, prefix, side, granules)


def _calls(node: Join) -> bool:
    return any(isinstance(part, FunctionCall) for e in node.residual for part in walk(e))


def _write_match(lines: Lines, context: CodeContext, side: Side, other: Side) -> None:
    node = side.node
    for at, pair in enumerate(node.pairs):
        held = f"m->values[{at}]"
        outside = f"{held} < r->low[{at}] || {held} > r->high[{at}]"
        lines.add(f"if ({f'{held} != r->low[{at}]' if pair.is_equality else outside}) continue;")
    for mine, theirs in zip(side.keys, other.keys, strict=True):
        test = equal(mine.expression.type, f"r->row.{mine.name}", f"m->{theirs.name}")
        lines.add(f"if (!({test})) continue;")
    if _calls(node):
        lines.add("op->scratch->used = scratch_used;")
    rows = {side.port: "(&r->row)", other.port: "m"}

    def leaf(e: Expression) -> CValue:
        assert isinstance(e, ColumnRef)
        return Member(f"c{e.index}", e).cell(rows[e.port])

    writer = operator_writer(lines, context, leaf, "op->counters.no_value++; continue;")
    for predicate in node.residual:
        lines.add(comment(expression_text(predicate)))
        lines.add(f"if (!({writer.truth(predicate)})) continue;")


def _write_pair_out(lines: Lines, prefix: str, side: Side) -> None:
    node, other = side.node, 1 - side.port
    if node.keeps[side.port]:
        lines.add("r->row.row.is_matched = true;")
    if node.keeps[other]:
        lines.add("if (!met->is_matched) met->is_matched = true;")
    rows = ("&r->row", "m") if side.port == 0 else ("m", "&r->row")
    lines.add(f"{prefix}_out(op, {', '.join(rows)});")


def _write_keep(lines: Lines, prefix: str, side: Side, granules: Granules) -> None:
    """Unless nothing is still to come that it can match."""
    port = side.port
    past = [f"r->row.values[{at}] < own->limits[{at}]" for at in range(len(side.node.pairs))]
    with lines.block(f"if ({' || '.join(['own->is_over', *past])})"):
        if side.node.keeps[port]:
            lines.add(f"if (!r->row.row.is_matched) {alone(prefix, port, '&r->row')}")
        lines.add("continue;")
    strings = [f"r->row.{member.name}.length" for member in strings_of(side)]
    bytes_ = " + ".join([f"sizeof(struct {prefix}_row{port})", *strings])
    lines.add(
        f"struct {prefix}_row{port} *kept = (struct {prefix}_row{port} *)"
        f"op->host->join_admit(op, {port}, &r->row.row, {bytes_});",
        "if (kept == NULL) continue;",
        "*kept = r->row;",
        f"kept->row.hash = {granules.hash(granules.of_value('r->row.values'))};",
    )
    if strings:
        lines.add("uint8_t *bytes = (uint8_t *)(kept + 1);")
    for member in strings_of(side):
        at = f"kept->{member.name}"
        lines.add(
            f"if ({at}.length > 0) memcpy(bytes, {at}.bytes, {at}.length);",
            f"{at}.bytes = bytes;",
            f"bytes += {at}.length;",
        )
    lines.add(f"op->host->join_keep(op, {port}, &kept->row);")

# SPDX-License-Identifier: Apache-2.0
"""A batch of a join's input as C, a burst of rows at a time.

The first pass makes of each row what would be held of it, hashes it and prefetches the chains that
it will look into; the second asks for their first rows, of a band a third for the rows behind
those; the last meets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gigastream.codegen.c_text import Lines, comment, is_struct
from gigastream.codegen.columns import column_leaf, write_inputs
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue, ExpressionWriter
from gigastream.codegen.keys import write_has_time, write_hash
from gigastream.codegen.operators.high_parts import operator_writer
from gigastream.codegen.operators.join_granules import Granules
from gigastream.codegen.operators.join_meet import write_meet
from gigastream.codegen.operators.join_out import alone
from gigastream.codegen.operators.join_rows import Side, Sides, column_ref
from gigastream.codegen.operators.row_bursts import row_burst, write_bursts, write_scratch_reset
from gigastream.gsql.expressions import Expression
from gigastream.gsql.types import Temporal, Type
from gigastream.plan.text import expression_text


def write_rows(lines: Lines, context: CodeContext, prefix: str, sides: Sides, side: Side) -> None:
    """`<prefix>_rows<port>`."""
    port, burst = side.port, _burst(side)
    granules = Granules.of(sides.node)
    head = f"static void {prefix}_rows{port}(struct gs_operator *op, const struct gs_batch *input)"
    with lines.block(head):
        write_inputs(lines, _reads(side), *(("input",) * 2))
        lines.add(
            f"const struct gs_join_side *own = op->host->join_side(op, {port});",
            f"const struct gs_join_side *other = op->host->join_side(op, {1 - port});",
            "const uint64_t hash_key[] = {op->hash_key[0], op->hash_key[1]};",
            f"struct {prefix}_new{port} rows[{burst}];",
        )
        write_bursts(
            lines,
            burst,
            lambda: _write_row_in(lines, context, prefix, side, granules),
            *_prefetches(lines, prefix, side, granules),
            lambda: write_meet(lines, context, prefix, sides, side, granules),
        )
    lines.add("")


def _reads(side: Side) -> list[Expression]:
    keys = [key.expression for key in side.keys]
    watched = [column_ref(side.node, side.port, index) for index in side.watched]
    return [*side.times, *keys, *side.columns, *watched]


def _burst(side: Side) -> int:
    made = (*side.times, *(key.expression for key in side.keys))
    return row_burst(made, [member.expression for member in side.members])


def _write_row_in(
    lines: Lines, context: CodeContext, prefix: str, side: Side, granules: Granules
) -> None:
    """The first pass."""
    batch = ("input", "row")
    leaf = column_leaf(batch, batch)
    writer = operator_writer(lines, context, leaf, "op->counters.no_value++; continue;")
    write_scratch_reset(lines, _reads(side))
    lines.add(
        f"struct {prefix}_new{side.port} *r = &rows[count];",
        "r->row.row.is_matched = false;",
        "r->row.row.is_partial = input->is_partial;",
    )
    nulls = [*_write_times(lines, writer, side), *_write_members(lines, writer, side)]
    _write_watched(lines, writer, side)
    if nulls:
        lines.add("/* NULL is equal to nothing */")
        with lines.block(f"if ({' || '.join(nulls)})"):
            if side.node.keeps[side.port]:
                lines.add(alone(prefix, side.port, "&r->row"))
            lines.add("continue;")
    _write_reach(lines, side)
    _write_hash(lines, side)
    with lines.block(granules.loop(side.port)):
        lines.add(f"__builtin_prefetch(&other->heads[{granules.hash('granule')} & other->mask]);")
    lines.add(f"__builtin_prefetch(&own->heads[{_own(granules)} & own->mask], 1);", "count++;")


def _own(granules: Granules) -> str:
    """C expression: the hash under which the row is held."""
    return granules.hash(granules.of_value("r->row.values"))


def _write_times(lines: Lines, writer: ExpressionWriter, side: Side) -> list[str]:
    """The times of the pairs; returns what is true where one is NULL."""
    nulls = []
    for pair, e in enumerate(side.times):
        lines.add(comment(expression_text(e)))
        value = writer.value(e)
        write_has_time(lines, value.code, e, "{ op->counters.no_value++; continue; }")
        lines.add(f"r->row.values[{pair}] = {_to_bound(value.code, e.temporal)};")
        if value.null:
            nulls.append(f"({value.null})")
    return nulls


def _to_bound(code: str, temporal: Temporal) -> str:
    if temporal is Temporal.DECREASING:
        return f"gs_bound_neg({code})"
    return f"(gs_bound)({code})"


def _write_members(lines: Lines, writer: ExpressionWriter, side: Side) -> list[str]:
    """The columns that are held, and keys; returns what is true where a key is NULL."""
    for member in side.members:
        e = member.expression
        value = writer.value(e)
        to = f"r->row.{member.name}"
        lines.add(f"{to} = {value.code};")
        if member.null:
            lines.add(f"r->row.{member.null} = {value.null or 'false'};")
            clear = f"memset(&{to}, 0, sizeof {to})" if is_struct(e.type) else f"{to} = 0"
            lines.add(f"if (r->row.{member.null}) {clear};")
    return [f"r->row.{key.null}" for key in side.keys if key.null]


def _write_watched(lines: Lines, writer: ExpressionWriter, side: Side) -> None:
    """The columns whose least value is asked for; NULL is below no bound."""
    pairs = len(side.node.pairs)
    for at, index in enumerate(side.watched):
        ref = column_ref(side.node, side.port, index)
        cell = writer.value(ref)
        lines.add(f"r->row.values[{pairs + at}] = {_watched_bound(ref, cell)};")


def _watched_bound(ref: Expression, cell: CValue) -> str:
    if ref.type is Type.ULLONG and ref.temporal is Temporal.INCREASING:
        code = f"gs_bound_of_ullong({cell.code})"
    else:
        code = f"gs_bound_of_held({_to_bound(cell.code, ref.temporal)})"
    return f"{cell.null} ? GS_BOUND_END : {code}" if cell.null else code


def _write_reach(lines: Lines, side: Side) -> None:
    """What times of the other side are within reach: from -F_other to F_own."""
    for at, pair in enumerate(side.node.pairs):
        ahead, behind = pair.reach[side.port], pair.reach[1 - side.port]
        lines.add(
            f"r->low[{at}] = {_shifted(f'r->row.values[{at}]', -behind)};",
            f"r->high[{at}] = {_shifted(f'r->row.values[{at}]', ahead)};",
        )


def _shifted(value: str, by: int) -> str:
    return value if by == 0 else f"gs_join_shift({value}, INT64_C({by}))"


def _write_hash(lines: Lines, side: Side) -> None:
    equated = [at for at, pair in enumerate(side.node.pairs) if pair.is_equality]
    types = [key.expression.type for key in side.keys] + [Type.LLONG] * len(equated)
    values = [f"r->row.{key.name}" for key in side.keys]
    values += [f"r->row.values[{at}]" for at in equated]
    write_hash(lines, "hash", "hash_key", types, values)
    lines.add("r->hash = hash;")


def _prefetches(
    lines: Lines, prefix: str, side: Side, granules: Granules
) -> Iterator[Callable[[], None]]:
    """The passes between; of an equality a chain's first row is most often the one."""
    yield lambda: _write_prefetch(lines, prefix, side, granules)
    if not all(pair.is_equality for pair in side.node.pairs):
        yield lambda: _write_prefetch_next(lines, prefix, side, granules)


def _write_prefetch(lines: Lines, prefix: str, side: Side, granules: Granules) -> None:
    """The second pass: the heads have arrived."""
    lines.add(f"const struct {prefix}_new{side.port} *r = &rows[at];")
    with lines.block(granules.loop(side.port)):
        lines.add(f"__builtin_prefetch(other->heads[{granules.hash('granule')} & other->mask]);")
    lines.add(f"__builtin_prefetch(own->heads[{_own(granules)} & own->mask], 1);")


def _write_prefetch_next(lines: Lines, prefix: str, side: Side, granules: Granules) -> None:
    """The third, of a band: its chains have rows of all times within it, and those have arrived."""
    lines.add(f"const struct {prefix}_new{side.port} *r = &rows[at];")
    with lines.block(granules.loop(side.port)):
        head = f"other->heads[{granules.hash('granule')} & other->mask]"
        lines.add(f"const struct gs_join_row *first = {head};")
        lines.add("if (first != NULL) __builtin_prefetch(first->next);")

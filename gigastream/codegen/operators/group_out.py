# SPDX-License-Identifier: Apache-2.0
"""A group of the high level leaves, as C: HAVING, the finals of its aggregates, a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gigastream.codegen.c_text import C_TYPE, Lines, comment, zero
from gigastream.codegen.columns import (
    write_row,
)
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue
from gigastream.codegen.keys import from_bound
from gigastream.codegen.operators.high_parts import operator_writer
from gigastream.codegen.user_accumulators import kept_by
from gigastream.codegen.user_aggregates import note_value
from gigastream.codegen.value_lists import list_form
from gigastream.gsql.expressions import (
    AggregateRef,
    Expression,
    GroupRef,
)
from gigastream.plan.accumulators import Final, UserAccumulator, UserFinal
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.text import expression_text

Leaf = Callable[[Expression], CValue]
FinalWriter = Callable[[Lines, Aggregate, Final], tuple[str, str]]
"""The C of an aggregate's value, and of whether it is NULL."""


def write_group_out(
    lines: Lines,
    context: CodeContext,
    prefix: str,
    node: Aggregate,
    *,
    begin: Sequence[str] = (),
    finals: Mapping[str, FinalWriter] | None = None,
    closing: Expression | None = None,
    others: Leaf | None = None,
) -> None:
    """What becomes of a group that leaves, or goes on.

    `begin` gives `entry` where that is not the group's memory itself; `finals` are those of
    aggregates that others do not have; of groups that go no further `closing` holds; `others`
    reads what is neither of a group nor an aggregate.
    """
    head = (
        f"static bool {prefix}_emit(struct gs_operator *op, const void *memory, "
        "const gs_bound *window)"
    )
    with lines.block(head):
        lines.add(
            *(begin or (f"const struct {prefix}_entry *entry = memory;",)),
            "(void)entry, (void)window;",
            "op->scratch->used = 0;",
        )
        leaf = group_leaf(node, others)
        for index, final in enumerate(node.finals):
            _write_final(lines, context, node, index, final, {**_FINALS, **(finals or {})})
        closes = "false"
        if closing is not None:
            asking = operator_writer(lines, context, leaf, f"op->counters.no_value++; {_OUT}")
            lines.add(comment(f"CLOSING_WHEN {expression_text(closing)}"))
            lines.add(f"const bool closes = {asking.truth(closing)};")
            closes = "closes"
        fail = f"op->counters.no_value++; return {closes};"
        writer = operator_writer(lines, context, leaf, fail)
        if node.having is not None:
            lines.add(comment(f"HAVING {expression_text(node.having)}"))
            with lines.block(f"if (!({writer.truth(node.having)}))"):
                lines.add("op->counters.rejected++;", f"return {closes};")
        values = []
        for index, output in enumerate(node.outputs):
            lines.add(comment(f"{expression_text(output.expression)} AS {output.name}"))
            values.append(writer.local(output.expression, f"o{index}"))
        write_row(lines, "op", "operator", node.schema, values, f"return {closes}")
        lines.add(f"return {closes};")
    lines.add("")


def write_group_condition(
    lines: Lines,
    context: CodeContext,
    prefix: str,
    node: Aggregate,
    name: str,
    condition: Expression,
    *,
    begin: Sequence[str],
    others: Leaf,
) -> None:
    """`<prefix>_<name>`: whether a condition holds of a group; one without a value does not."""
    head = (
        f"static bool {prefix}_{name}(struct gs_operator *op, const void *memory, "
        "const gs_bound *window)"
    )
    with lines.block(head):
        lines.add(*begin, "(void)entry, (void)window;", "op->scratch->used = 0;")
        for index, final in enumerate(node.finals):
            _write_final(lines, context, node, index, final, _FINALS)
        fail = f"op->counters.no_value++; {_OUT}"
        writer = operator_writer(lines, context, group_leaf(node, others), fail)
        lines.add(comment(expression_text(condition)))
        lines.add(f"return {writer.truth(condition)};")
    lines.add("")


def group_leaf(node: Aggregate, others: Leaf | None = None) -> Leaf:
    """Reads a group's variables and aggregates; `others` whatever else there is."""
    places = {group: k for k, group in enumerate(node.temporal_groups)}

    def leaf(e: Expression) -> CValue:
        if isinstance(e, AggregateRef):
            null = f"v{e.index}_null" if node.finals[e.index].nullable else ""
            return CValue(f"v{e.index}", null)
        if others is not None and not isinstance(e, GroupRef):
            return others(e)
        assert isinstance(e, GroupRef)
        group = node.groups[e.index].expression
        if e.index in places:
            return CValue(from_bound(f"window[{places[e.index]}]", group.type, group.temporal))
        null = f"entry->g{e.index}_null" if group.nullable else ""
        return CValue(f"entry->g{e.index}", null)

    return leaf


def _write_final(
    lines: Lines,
    context: CodeContext,
    node: Aggregate,
    index: int,
    final: Final,
    writers: Mapping[str, FinalWriter],
) -> None:
    if isinstance(final, UserFinal) and final.kind not in writers:
        code, null = _final_user(lines, context, node, final)
    else:
        code, null = writers[final.kind](lines, node, final)
    lines.add(f"{C_TYPE[final.type]} v{index} = {code};", f"(void)v{index};")
    if final.nullable:
        lines.add(f"bool v{index}_null = {null or '0'};", f"(void)v{index}_null;")


_OUT = "return false;"
NO_VALUE = f"{{ op->counters.no_value++; {_OUT} }}"
_SUMS = {"sum_unsigned": "uint64_t", "sum_signed": "int64_t"}


def _final_value(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    which = final.accumulators[0]
    accumulator, at = node.accumulators[which], f"entry->a{which}"
    if accumulator.kind in _SUMS:
        c_type = _SUMS[accumulator.kind]
        lines.add(f"if ({at} != ({c_type}){at}) {NO_VALUE} /* the sum leaves 64 bits */")
    if accumulator.kind == "sum_float":
        at = _float_quotient(lines, at, "1")
    if accumulator.kind == "count":
        return at, ""
    if accumulator.may_be_empty:
        return at, f"!entry->a{which}_seen"
    return at, "!entry->is_met" if node.may_be_of_nothing else ""


def _float_quotient(lines: Lines, total: str, count: str) -> str:
    """A sum of floats divided by a number of rows, rounded here and not before."""
    result = lines.name()
    lines.add(
        f"double {result};",
        f"if (!gs_float_sum_quotient(&{total}, {count}, &{result})) {NO_VALUE}",
    )
    return result


def _final_average(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    total, count = (f"entry->a{which}" for which in final.accumulators)
    if node.accumulators[final.accumulators[0]].kind == "sum_float":
        return _float_quotient(lines, total, f"({count} ? {count} : 1)"), f"{count} == 0"
    return f"{count} ? (double){total} / (double){count} : 0", f"{count} == 0"


def _final_variance(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    which = final.accumulators[0]
    kind = "float" if node.accumulators[which].kind == "moments_float" else "whole"
    result, at = lines.name(), f"entry->a{which}"
    lines.add(
        f"double {result} = 0;",
        f"if ({at}.count > 1 && !gs_{kind}_moments_variance(&{at}, &{result})) {NO_VALUE}",
    )
    return result, f"{at}.count < 2"


def _final_deviation(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    variance, null = _final_variance(lines, node, final)
    return f"sqrt({variance})", null


def _final_user(
    lines: Lines, context: CodeContext, node: Aggregate, final: UserFinal
) -> tuple[str, str]:
    """What a UDAF, or its extractor, makes of a state that has seen a row."""
    which = final.accumulators[0]
    accumulator, at = node.accumulators[which], f"entry->a{which}"
    assert isinstance(accumulator, UserAccumulator)
    kept = kept_by(accumulator, of_partials=node.merges_partials)
    function, result = note_value(context, kept, final.call), lines.name()
    call = f"{function}(op->scratch, op->handles, &{at}, &{result})"
    return made(lines, final, result, call, _nothing_kept(node, final))


def _final_list(opening: bytes, closing: bytes) -> FinalWriter:
    """A list as text, in brackets or without."""

    def write(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
        separator = node.accumulators[final.accumulators[0]].separator
        return _kept_text(lines, node, final, "list", list_form(separator, opening, closing))

    return write


def _final_counts(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    return _kept_text(lines, node, final, "counts", list_form(b", ", b"", b""))


def _kept_text(
    lines: Lines, node: Aggregate, final: Final, what: str, form: str
) -> tuple[str, str]:
    at, result = f"entry->a{final.accumulators[0]}", lines.name()
    call = f"op->host->{what}_text(op, &{at}, {form}, &{result})"
    return made(lines, final, result, call, _nothing_kept(node, final))


def made(lines: Lines, final: Final, result: str, call: str, null: str) -> tuple[str, str]:
    """What a C call writes to `result`, false: it has no value; NULL where `null` holds."""
    has_none = f"!({null}) && !{call}" if null else f"!{call}"
    lines.add(
        f"{C_TYPE[final.type]} {result} = {zero(final.type)};",
        f"if (GS_UNLIKELY({has_none})) {NO_VALUE}",
    )
    return result, null


def _nothing_kept(node: Aggregate, final: Final) -> str:
    which = final.accumulators[0]
    if node.accumulators[which].may_be_empty:
        return f"!entry->a{which}_seen"
    return "!entry->is_met" if node.may_be_of_nothing else ""


def _final_runs(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    return f"op->host->runs_count(&entry->a{final.accumulators[0]})", ""


_FINALS = {
    "joined": _final_list(b"", b""),
    "array": _final_list(b"[", b"]"),
    "counts": _final_counts,
    "runs": _final_runs,
    "value": _final_value,
    "average": _final_average,
    "variance": _final_variance,
    "deviation": _final_deviation,
}

# SPDX-License-Identifier: Apache-2.0
"""A group of the high level leaves, as C: HAVING, the finals of its aggregates, a row."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.codegen.c_text import C_TYPE, Lines, comment
from gigastream.codegen.columns import (
    write_row,
)
from gigastream.codegen.context import Context
from gigastream.codegen.expressions import Value
from gigastream.codegen.high_parts import is_nullable, operator_writer
from gigastream.codegen.keys import from_bound
from gigastream.gsql.expressions import (
    AggregateRef,
    Expression,
    GroupRef,
)
from gigastream.plan.nodes import (
    Aggregate,
    Final,
)
from gigastream.plan.text import expression_text


def write_group_out(lines: Lines, context: Context, prefix: str, node: Aggregate) -> None:
    """What becomes of a group that leaves."""
    head = (
        f"static void {prefix}_emit(struct gs_operator *op, const void *memory, "
        "const gs_bound *window)"
    )
    with lines.block(head):
        lines.add(
            f"const struct {prefix}_entry *entry = memory;",
            "(void)window;",
            "op->scratch->used = 0;",
        )
        leaf = _group_leaf(node)
        writer = operator_writer(lines, context, leaf, "op->counters.no_value++; return;")
        for index, final in enumerate(node.finals):
            _write_final(lines, node, index, final)
        if node.having is not None:
            lines.add(comment(f"HAVING {expression_text(node.having)}"))
            with lines.block(f"if (!({writer.truth(node.having)}))"):
                lines.add("op->counters.rejected++;", "return;")
        values = []
        for index, output in enumerate(node.outputs):
            lines.add(comment(f"{expression_text(output.expression)} AS {output.name}"))
            values.append(writer.local(output.expression, f"o{index}"))
        write_row(lines, "op", "operator", node.schema, values, "return")
    lines.add("")


def _group_leaf(node: Aggregate) -> Callable[[Expression], Value]:
    places = {group: k for k, group in enumerate(node.temporal_groups)}

    def leaf(e: Expression) -> Value:
        if isinstance(e, AggregateRef):
            null = f"v{e.index}_null" if node.finals[e.index].nullable else ""
            return Value(f"v{e.index}", null)
        assert isinstance(e, GroupRef)
        group = node.groups[e.index].expression
        if e.index in places:
            return Value(from_bound(f"window[{places[e.index]}]", group.type, group.temporal))
        null = f"entry->g{e.index}_null" if group.nullable else ""
        return Value(f"entry->g{e.index}", null)

    return leaf


def _write_final(lines: Lines, node: Aggregate, index: int, final: Final) -> None:
    code, null = _FINALS[final.kind](lines, node, final)
    lines.add(f"{C_TYPE[final.type]} v{index} = {code};", f"(void)v{index};")
    if final.nullable:
        lines.add(f"bool v{index}_null = {null or '0'};", f"(void)v{index}_null;")


def _final_value(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    which = final.accumulators[0]
    accumulator, at = node.accumulators[which], f"entry->a{which}"
    no_value = "{ op->counters.no_value++; return; }"
    if accumulator.kind == "sum_unsigned":
        lines.add(f"if ({at}_overflowed) {no_value} /* the sum leaves 64 bits */")
    if accumulator.kind == "sum_signed":
        lines.add(f"if ({at} != (int64_t){at}) {no_value} /* the sum leaves 64 bits */")
    is_count = accumulator.kind == "count"
    return at, "" if is_count or not is_nullable(accumulator) else f"!{at}_seen"


def _final_average(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    total, count = (f"entry->a{which}" for which in final.accumulators)
    if node.accumulators[final.accumulators[0]].kind == "sum_unsigned":
        lines.add(f"if ({total}_overflowed) {{ op->counters.no_value++; return; }}")
    return f"{count} ? (double){total} / (double){count} : 0", f"{count} == 0"


def _final_variance(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    at = f"entry->a{final.accumulators[0]}"
    return f"{at}.count > 1 ? {at}.squares / (double)({at}.count - 1) : 0", f"{at}.count < 2"


def _final_deviation(lines: Lines, node: Aggregate, final: Final) -> tuple[str, str]:
    variance, null = _final_variance(lines, node, final)
    return f"sqrt({variance})", null


_FINALS = {
    "value": _final_value,
    "average": _final_average,
    "variance": _final_variance,
    "deviation": _final_deviation,
}

# SPDX-License-Identifier: Apache-2.0
"""An LFTA as C: what all of them have around the functions of their kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gigastream.codegen.bounds import write_carried
from gigastream.codegen.c_text import Lines, comment
from gigastream.codegen.columns import write_schema
from gigastream.codegen.context import CodeContext
from gigastream.codegen.interfaces import write_interfaces
from gigastream.codegen.operators.low_packets import takes_frames
from gigastream.flush_policy import MAX_DISORDER_WINDOWS, FlushPolicy
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.queries import ADAPTIVE_SLOTS, QueryOptions
from gigastream.late_dataclass import dataclass
from gigastream.plan.operators.low_node import LowNode


@dataclass(frozen=True, slots=True)
class LowCode:
    """How one kind of LFTA becomes C."""

    kind: str
    """Of enum gs_lfta_kind, behind GS_LFTA_."""
    write_functions: Callable[[Lines, CodeContext, str, Any], None]
    """`<prefix>_burst`, and where there is a table `struct <prefix>_slot` and `<prefix>_emit`."""
    has_table: bool

    node_kind = "GS_NODE_LFTA"

    def prefix(self, context: CodeContext, node: LowNode) -> str:
        """What the names in C of all that belongs to the LFTA begin with."""
        return context.prefix(node, node.name)

    def write(self, lines: Lines, context: CodeContext, node: LowNode) -> None:
        """Everything of one LFTA: schema, functions, `<prefix>_ops`."""
        prefix = self.prefix(context, node)
        lines.add(comment(f"LFTA {node.name}"))
        write_schema(lines, prefix, node.name, node.schema)
        self.write_functions(lines, context, prefix, node)
        temporal = _temporal_columns(node)
        functions = [node.bounds[index] for index in temporal]
        _write_carrier(lines, f"{prefix}_bounds", functions)
        _write_carrier(lines, f"{prefix}_needs", list(node.needs))
        self._write_ops(lines, context, node, temporal)

    def write_above(self, lines: Lines, context: CodeContext, node: LowNode) -> None:
        """Only what the high level needs where the LFTA runs elsewhere: schema, interfaces."""
        prefix = self.prefix(context, node)
        lines.add(comment(f"The stream of LFTA {node.name}"))
        write_schema(lines, prefix, node.name, node.schema)
        interfaces = write_interfaces(lines, prefix, node)
        with lines.block(f"static const struct gs_lfta_ops {prefix}_ops =", "};"):
            lines.add(".kind = GS_LFTA_SELECTION,", f".interfaces = {interfaces},")
        lines.add("")

    def _write_ops(
        self, lines: Lines, context: CodeContext, node: LowNode, temporal: list[int]
    ) -> None:
        options, prefix = node.options, self.prefix(context, node)
        columns = ", ".join(map(str, temporal)) or "0"
        lines.add(f"static const uint32_t {prefix}_temporal[] = {{{columns}}};")
        interfaces = write_interfaces(lines, prefix, node)
        member = self._write_member(lines, context, node)
        has_table = self.has_table and not node.has_table_of_another
        with lines.block(f"static const struct gs_lfta_ops {prefix}_ops =", "};"):
            lines.add(
                f".kind = GS_LFTA_{self.kind},",
                f".view = {context.view_number(node)},",
                f".member = {member},",
                f".slot_size = {f'sizeof(struct {prefix}_slot)' if has_table else '0'},",
                f".slot_count = {options.aggregate_slots or 0},",
                f".is_adaptive = {str(options.aggregate_slots == ADAPTIVE_SLOTS).lower()},",
                f".flush_policy = {(options.flush or FlushPolicy.SLOW).constant},",
                f".slow_flush = {options.slow_flush or 0},",
                f".max_disorder = {_max_disorder(options)},",
                f".temporal_count = {len(temporal)},",
                f".temporal_columns = {prefix}_temporal,",
                *_row_members(node, temporal),
                f".filter = {'NULL' if node.filter is None else f'&{prefix}_filter'},",
                f".need_count = {len(node.needs)},",
                f".interfaces = {interfaces},",
                f".takes_frames = {str(takes_frames(context, node)).lower()},",
                f".walks = {'GS_WALKS' if takes_frames(context, node) else 'false'},",
                f".burst = {'NULL' if node.has_table_of_another else f'{prefix}_burst'},",
                f".emit = {f'{prefix}_emit' if has_table else 'NULL'},",
                *_dealing_members(prefix, node),
                f".bounds = {prefix}_bounds,",
                f".needs = {prefix}_needs,",
            )
        lines.add("")

    def _write_member(self, lines: Lines, context: CodeContext, node: LowNode) -> str:
        """Which it is of those that fill one table: its address in C."""
        if not node.table_of:
            return "NULL"
        prefix = self.prefix(context, node)
        owner = next(other for other in context.plan.low if other.name == node.table_of[0])
        members = context.member_set(node)
        number, predicate = members.member(node), members.predicate_of(node)
        if owner is node:
            lines.add(f"static const struct gs_lfta_ops {prefix}_ops;")
        has_it = f"&{self.prefix(context, owner)}_ops"
        numbers = f"{{{has_it}, {number}, {predicate}}}"
        lines.add(f"static const struct gs_member {prefix}_member = {numbers};")
        return f"&{prefix}_member"


def _dealing_members(prefix: str, node: LowNode) -> list[str]:
    """What an LFTA has of whose groups others may have a part."""
    if not node.deals_rows or node.has_table_of_another:
        return []
    return [f".row_size = sizeof(struct {prefix}_row),", f".take = {prefix}_take,"]


def _row_members(node: LowNode, temporal: Sequence[int]) -> list[str]:
    """Which temporal column numbers tuples, and how many of them have one value."""
    if node.row_column is None:
        return []
    unit = node.row_unit
    return [f".row_unit = {unit},", f".row_variable = {temporal.index(node.row_column)},"]


def _max_disorder(options: QueryOptions) -> int:
    asked = options.max_lfta_disorder
    return MAX_DISORDER_WINDOWS if asked is None else asked


def _temporal_columns(node: LowNode) -> list[int]:
    return [i for i, c in enumerate(node.schema.columns) if c.temporal.is_temporal]


def _write_carrier(lines: Lines, name: str, functions: Sequence[Monotone | None]) -> None:
    with lines.block(f"static void {name}(int64_t timestamp_ns, gs_bound *bounds)"):
        lines.add("(void)timestamp_ns, (void)bounds;")
        write_carried(lines, "bounds", [(function, ("timestamp_ns",)) for function in functions])
    lines.add("")

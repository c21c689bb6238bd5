# SPDX-License-Identifier: Apache-2.0
"""The nodes of a plan in words: what explain shows as a tree, and to_dot as a graph.

Adding a node means a line in DESCRIBERS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gigastream.gsql.expressions import Expression
from gigastream.gsql.queries import GroupVariable, ProtocolSource
from gigastream.plan.accumulators import partial_columns
from gigastream.plan.costs import cost, fields_of
from gigastream.plan.describe_aggregates import accumulator_text, final_text, labels
from gigastream.plan.describe_columns import Row, column_rows, progress
from gigastream.plan.nodes import (
    Aggregate,
    Limit,
    LowNode,
    LowSelect,
    Node,
    OrderLimit,
    Output,
    PartialAggregate,
    Plan,
    Select,
    Union,
)
from gigastream.plan.text import expression_text
from gigastream.words import counted

Detail = tuple[str, tuple[str, ...]]
"""A label and the lines beside it."""

MAX_LATE_WINDOWS = 2
"""What max_lfta_disorder is where a query does not say (GSQL section 1)."""


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node in words."""

    name: str
    kind: str
    is_low: bool
    details: tuple[Detail, ...]
    columns: tuple[Row, ...]
    """A row for each column: name, what it is made of, type, temporal type, punctuation."""


def describe(node: Node, plan: Plan) -> NodeDescription:
    """A node of the plan in words; details that do not apply are left out."""
    kind, details = DESCRIBERS[type(node)]
    return NodeDescription(
        name=node.name,
        kind=kind,
        is_low=isinstance(node, LowNode),
        details=tuple((label, lines) for label, lines in details(node, plan) if lines),
        columns=() if isinstance(node, Output) else tuple(column_rows(node)),
    )


# The low level


def _low_details(node: LowNode, plan: Plan) -> Iterator[Detail]:
    yield "packets", (_packets(node.source),)
    yield "tuple", _tuple_rule(node.source)
    yield "prefilter", _signature(node, plan)
    yield "where", _predicates(node.predicates)


def _packets(source: ProtocolSource) -> str:
    if source.interface:
        return f"{source.protocol} on interface {source.interface}"
    if source.interfaces is not None:
        names = ", ".join(source.interfaces)
        return f"{source.protocol} on the interfaces of set {source.interface_set}: {names}"
    if source.interface_set == "default":
        return f"{source.protocol} on every interface"
    return f"{source.protocol} on the interfaces of set {source.interface_set}"


def _tuple_rule(source: ProtocolSource) -> tuple[str, ...]:
    """What makes a packet a tuple."""
    bit = source.base_protocol or source.protocol
    rules = [] if bit == source.protocol else [f"a packet of {bit}"]
    if source.narrowed_to:
        rules.append(f"its fields are those of {source.narrowed_to}")
    if source.required:
        rules.append(f"the packet has {_listed(source.required)}")
    return (", ".join(rules),) if rules else (f"every packet of {source.protocol}",)


def _signature(node: LowNode, plan: Plan) -> tuple[str, ...]:
    return tuple(f"bit {bit}: {expression_text(plan.prefilter[bit])}" for bit in node.signature)


def _low_tail(node: LowNode, plan: Plan) -> Iterator[Detail]:
    read = [field for field in fields_of(*node.expressions) if not field.accessor.startswith("@")]
    early = [field.field for field in read if field.accessor in plan.early_fields]
    late = [field.field for field in read if field.accessor not in plan.early_fields]
    yield "reads", _early_and_late(early, late)
    yield "feeds", _shared_by(node, plan)
    changes = (f"when timestamp {function.forward_text} grows" for function in node.needs)
    yield "announces", (*changes, "at each heartbeat")


def _shared_by(node: LowNode, plan: Plan) -> tuple[str, ...]:
    """The queries that read it, where there are several and it is none itself."""
    readers = [reader for reader in plan.nodes if any(child is node for child in reader.inputs)]
    if node.name in plan.texts or len(readers) < 2:
        return ()
    return (", ".join(_query_of(reader, plan) for reader in readers),)


def _query_of(node: Node, plan: Plan) -> str:
    """The query that a node is of: its own name, or that of what sorts or limits its rows."""
    if node.name in plan.texts:
        return node.name
    return next((r.name for r in plan.nodes if any(c is node for c in r.inputs)), node.name)


def _early_and_late(early: Sequence[str], late: Sequence[str]) -> tuple[str, ...]:
    found = [(early, "from the burst's columns"), (late, "from the packet")]
    return tuple(f"{', '.join(names)} {where}" for names, where in found if names)


def _low_select(node: LowSelect, plan: Plan) -> Iterator[Detail]:
    yield from _low_details(node, plan)
    yield from _low_tail(node, plan)


def _partial_aggregate(node: PartialAggregate, plan: Plan) -> Iterator[Detail]:
    yield from _low_details(node, plan)
    yield "groups", tuple(map(_group, node.groups))
    names = (f"{a.kind}{index}" for index, a in enumerate(node.accumulators))
    kept = zip(names, node.accumulators, strict=True)
    yield "keeps", tuple(f"{name} = {accumulator_text(a)}" for name, a in kept)
    yield "table", (_slots(node.options),)
    yield "flush", (_flush(node.options),)
    yield from _low_tail(node, plan)


def _slots(options: dict[str, str]) -> str:
    asked = options.get("aggregate_slots")
    return "the engine's default number of slots" if asked is None else f"{int(asked):,} slots"


def _flush(options: dict[str, str]) -> str:
    """The policy of OPERATORS section 3."""
    policy = options.get("flush", "slow").lower()
    late = int(options.get("max_lfta_disorder", MAX_LATE_WINDOWS))
    pace = options.get("slow_flush")
    step = "at the engine's pace" if pace is None else f"every {pace} packets"
    limit = f"at most {late} windows late"
    return {
        "slow": f"slow: an old group {step}, {limit}",
        "slow_inorder": f"slow_inorder: an old group at each packet, window by window, {limit}",
        "immediate": "immediate: old groups at once, window by window",
        "lazy": f"lazy: by collisions alone, {limit}",
    }[policy]


# The high level


def _select(node: Select, plan: Plan) -> Iterator[Detail]:
    yield "high for", (node.why_high,) if node.why_high else ()
    yield "where", _predicates(node.predicates)


def _aggregate(node: Aggregate, plan: Plan) -> Iterator[Detail]:
    yield "high for", (node.why_high,) if node.why_high else ()
    yield "where", _predicates(node.predicates)
    yield "groups", tuple(map(_group_with_punctuation, node.groups))
    names = [
        [column.name for column in partial_columns(a, f"{a.kind}{index}")]
        for index, a in enumerate(node.accumulators)
    ]
    if not node.merges_partials:
        kept = enumerate(node.accumulators)
        yield "keeps", tuple(f"{a.kind}{index} = {accumulator_text(a)}" for index, a in kept)
    label = "completes" if node.merges_partials else "makes"
    finals = zip(labels(node), node.finals, strict=True)
    yield label, tuple(f"{name} = {final_text(final, node, names)}" for name, final in finals)
    yield "having", () if node.having is None else (expression_text(node.having),)


def _order_limit(node: OrderLimit, plan: Plan) -> Iterator[Detail]:
    shown = len(node.schema.columns)
    hidden = [output.expression for output in node.input.outputs[shown:]]
    names = [column.name for column in node.schema.columns] + list(map(expression_text, hidden))
    keys = (names[index] + (" DESC" if down else "") for index, down in node.keys)
    yield "window", (", ".join(names[index] for index in node.windows) or "the stream",)
    yield "order", (", ".join(keys),) if node.keys else ()
    yield "limit", () if node.limit is None else (f"{counted(node.limit, 'row')} of each window",)


def _limit(node: Limit, plan: Plan) -> Iterator[Detail]:
    yield "limit", (f"{counted(node.limit, 'row')}, and then the end",)


def _nothing(node: Node, plan: Plan) -> Iterator[Detail]:
    return iter(())


DESCRIBERS: dict[type[Node], tuple[str, Callable[[Any, Plan], Iterable[Detail]]]] = {
    LowSelect: ("selection LFTA", _low_select),
    PartialAggregate: ("partial aggregation LFTA", _partial_aggregate),
    Select: ("selection", _select),
    Aggregate: ("aggregation", _aggregate),
    Union: ("union", _nothing),
    OrderLimit: ("order", _order_limit),
    Limit: ("limit", _limit),
    Output: ("output", _nothing),
}


# Words


def _predicates(predicates: Sequence[Expression]) -> tuple[str, ...]:
    return tuple(f"{expression_text(p)} (cost {cost(p)})" for p in predicates)


def _listed(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(expression_text, expressions))


def _group(group: GroupVariable) -> str:
    """`tb = time/60, a window`."""
    text = expression_text(group.expression)
    shown = text if text == group.name else f"{group.name} = {text}"
    return f"{shown}, a window" if group.expression.temporal.is_temporal else shown


def _group_with_punctuation(group: GroupVariable) -> str:
    """`tb = time/60, a window: punctuation of time b -> b/60, inverse v -> 60*v`."""
    way = progress(group.expression)
    return f"{_group(group)}: {way}" if way else _group(group)

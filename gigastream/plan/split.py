# SPDX-License-Identifier: Apache-2.0
"""The split at the border (Gigascope's): what is LFTA-legal and cheap enough goes low.

An aggregation whose group variables, arguments and WHERE all may go low becomes a partial
aggregation low and one that completes it high; otherwise a low selection of the fields that are
needed, and the rest high. A protocol union is an LFTA for each of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import (
    ColumnRef,
    Expression,
    FieldRef,
    FunctionCall,
    ListValue,
    is_of_supergroup,
)
from gigastream.gsql.queries import (
    CheckedQuery,
    GroupVariable,
    OutputColumn,
    PacketRows,
    ProtocolSource,
)
from gigastream.gsql.types import Schema, Type
from gigastream.late_dataclass import replace
from gigastream.plan.accumulators import (
    HIGH_ONLY,
    KEEPING,
    Accumulator,
    Final,
    UserAccumulator,
    accumulator_names,
    decompose,
    expression_key,
    partial_columns,
)
from gigastream.plan.builders import (
    NodeNames,
    column_of,
    conjuncts,
    named_apart,
    ordered,
    progressing,
)
from gigastream.plan.costs import is_low_legal, why_not_low
from gigastream.plan.forms import in_its_form
from gigastream.plan.grouping import partials_of_sets, rows_of_sets
from gigastream.plan.nodes import Node
from gigastream.plan.operators import with_hidden
from gigastream.plan.operators.aggregate import aggregate_node
from gigastream.plan.operators.low_select import LowSelect
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.operators.select import select_node
from gigastream.plan.operators.union import union_of
from gigastream.plan.partials import over_partials
from gigastream.plan.position import packet_position
from gigastream.plan.sampling import sampled_packets
from gigastream.plan.text import expression_text

MAX_TEMPORAL_GROUPS = 4
"""Temporal group variables of a low table: windows of more of them are kept above the border."""
Sources = tuple[ProtocolSource, ...]
Place = Callable[[Expression], Expression]
"""Puts an expression over packets above the border, over the columns that come from below."""


def split(query: CheckedQuery, sources: Sources, names: NodeNames) -> Node:
    """The nodes of a query over packets; its top has the query's name."""
    _refuse_high_filter(query)
    where = conjuncts(query.where)
    low = tuple(p for p in where if is_low_legal(p) and not is_of_supergroup(p))
    high = tuple(p for p in where if p not in low)
    if not query.is_aggregation:
        return _split_selection(query, sources, names, low, high)
    accumulators, finals = decompose(query.aggregates, packet_position(query.span))
    if query.sampling is not None:
        return _sample_high(query, sources, names, low, high, accumulators, finals)
    reason = _why_high(query, accumulators, high)
    if not reason:
        return _split_aggregation(query, sources, names, low, accumulators, finals)
    if query.options.lfta_aggregation:
        refuse_partials(query, reason)
    return _aggregate_high(query, sources, names, low, high, accumulators, finals, reason)


def _refuse_high_filter(query: CheckedQuery) -> None:
    """GsqlError where a FILTER_JOIN asks for what does not run below the border."""
    for e in () if query.filter is None else query.filter.expressions:
        reason = why_not_low(e)
        if reason:
            message = f"a FILTER_JOIN is made at the low level, and {reason}"
            raise GsqlError([Diagnostic("error", "filter-join", message, e.span)])


# Aggregation


def _why_high(
    query: CheckedQuery, accumulators: tuple[Accumulator, ...], high: tuple[Expression, ...]
) -> str:
    """Why an aggregation cannot begin below the border; empty if it can."""
    if query.options.select_lfta:
        return "DEFINE select_lfta"
    temporal = sum(group.expression.temporal.is_temporal for group in query.groups)
    if temporal > MAX_TEMPORAL_GROUPS:
        return f"{temporal} temporal group variables"
    kept = [group.expression for group in query.groups]
    kept += [e for a in accumulators for e in a.expressions if not isinstance(a, UserAccumulator)]
    states = [a for a in accumulators if isinstance(a, UserAccumulator)]
    reasons = [why_not_low(e) for e in high]
    reasons += [_why_not_exact(a) for a in accumulators]
    reasons += [_why_not_of_partials(query, states)]
    reasons += [_why_no_key(group.expression) for group in query.groups]
    reasons += [_why_not_kept(e) for e in kept]
    reasons += [reason for a in states for reason in _why_not_taken(a)]
    return "; ".join(dict.fromkeys(filter(None, reasons)))


def _why_not_of_partials(query: CheckedQuery, states: Sequence[UserAccumulator]) -> str:
    """Why partial groups alone are no answer; empty if they are, or need not be."""
    if not query.options.lfta_aggregation:
        return ""
    if states:
        return f"the value of {states[0].state.whole.name} is made above it"
    if query.grouping is not None:
        return "its grouping sets are made of groups above it"
    slides = query.window is not None and query.window.has_panes
    return "its windows overlap, and are made of panes above it" if slides else ""


def _why_not_taken(accumulator: UserAccumulator) -> Iterator[str]:
    """Why a UDAF cannot begin below the border, if it cannot; strings are not kept by it."""
    yield accumulator.state.why_high
    yield from map(why_not_low, accumulator.expressions)


def _why_not_exact(accumulator: Accumulator) -> str:
    """Why a slot of the low table cannot hold an accumulator; empty if it can."""
    if accumulator.argument is None:
        return ""
    text = expression_text(accumulator.argument)
    if accumulator.distinct:
        return f"the distinct values of {text} have no fixed size"
    if accumulator.kind in KEEPING and accumulator.type is not Type.STRING:
        return f"the values of {text} have no fixed size"
    why = HIGH_ONLY.get(accumulator.kind)
    return f"{text} {why}" if why else ""


def _why_not_kept(e: Expression) -> str:
    """Why a slot of the low table cannot hold a value; empty if it can."""
    reason = why_not_low(e)
    if not reason and e.type is Type.STRING:
        reason = f"{expression_text(e)} is a string, which has no fixed size"
    return reason


def _why_no_key(e: Expression) -> str:
    """Why a slot of the low table cannot be found by a value; empty if it can."""
    return _why_not_kept(e) or (f"{expression_text(e)} may be NULL" if e.nullable else "")


def refuse_partials(query: CheckedQuery, reason: str) -> NoReturn:
    """GsqlError for DEFINE lfta_aggregation, which would be ignored."""
    message = f"{query.name} cannot be aggregated at the low level alone: {reason}"
    hint = "leave lfta_aggregation out"
    raise GsqlError([Diagnostic("error", "lfta-aggregation", message, query.span, hint)])


def _split_aggregation(
    query: CheckedQuery,
    sources: Sources,
    names: NodeNames,
    low: tuple[Expression, ...],
    accumulators: tuple[Accumulator, ...],
    finals: tuple[Final, ...],
) -> Node:
    """Partial groups below; above they are completed, or with lfta_aggregation left as they are."""
    schema = _partial_schema(query, accumulators)

    def part(name: str, source: ProtocolSource) -> Node:
        return PartialAggregate(
            name=name,
            schema=schema,
            order=progressing(schema),
            source=source,
            predicates=low,
            filter=query.filter,
            groups=query.groups,
            accumulators=accumulators,
            options=query.options,
        )

    stream = _over_sources(query, names.fresh(f"{query.name}_low"), sources, names, part)
    if query.options.lfta_aggregation:
        return _partials_as_rows(query, stream, accumulators, finals)
    finest = tuple(GroupVariable(g.name, _as_column(g, i)) for i, g in enumerate(query.groups))
    stream, groups = partials_of_sets(query, stream, finest, names)
    top = aggregate_node(
        query,
        stream,
        (),
        groups,
        accumulators,
        finals,
        with_hidden(query),
        merges_partials=True,
    )
    return in_its_form(query, top)


def _partial_schema(query: CheckedQuery, accumulators: tuple[Accumulator, ...]) -> Schema:
    """Group variables, then what each accumulator leaves."""
    columns = [column_of(OutputColumn(g.name, g.expression)) for g in query.groups]
    names = accumulator_names(query.groups, accumulators)
    for accumulator, name in zip(accumulators, names, strict=True):
        columns += partial_columns(accumulator, name)
    return Schema(tuple(columns))


def _as_column(group: GroupVariable, index: int) -> ColumnRef:
    e = group.expression
    return ColumnRef(type=e.type, temporal=e.temporal, span=e.span, index=index, name=group.name)


def _partials_as_rows(
    query: CheckedQuery,
    stream: Node,
    accumulators: tuple[Accumulator, ...],
    finals: tuple[Final, ...],
) -> Node:
    """lfta_aggregation: a row for each partial group, so a group may come more than once."""
    place = over_partials(query.groups, stream.schema.columns, accumulators, finals)
    placed = tuple(replace(o, expression=place(o.expression)) for o in with_hidden(query))
    having = tuple(map(place, conjuncts(query.having)))
    top = select_node(query, stream, having, placed)
    return replace(top, schema=Schema(tuple(map(column_of, placed))))


def _aggregate_high(
    query: CheckedQuery,
    sources: Sources,
    names: NodeNames,
    low: tuple[Expression, ...],
    high: tuple[Expression, ...],
    accumulators: tuple[Accumulator, ...],
    finals: tuple[Final, ...],
    reason: str,
) -> Node:
    read = [group.expression for group in query.groups]
    read += [e for a in accumulators for e in a.expressions]
    carried, place = _carry(query, sources, names, low, (*read, *high))
    stream, predicates, groups, made = rows_of_sets(
        query,
        carried,
        tuple(map(place, high)),
        tuple(GroupVariable(g.name, place(g.expression)) for g in query.groups),
        tuple(a.placed(place) for a in accumulators),
        names,
    )
    top = aggregate_node(
        query,
        stream,
        predicates,
        groups,
        made,
        finals,
        with_hidden(query),
        merges_partials=False,
    )
    return replace(in_its_form(query, top), why_high=reason)


def _sample_high(
    query: CheckedQuery,
    sources: Sources,
    names: NodeNames,
    low: tuple[Expression, ...],
    high: tuple[Expression, ...],
    accumulators: tuple[Accumulator, ...],
    finals: tuple[Final, ...],
) -> Node:
    """A sample is of rows in their order, with whose position they are carried up."""
    timestamp, *position = packet_position(query.span)
    order = (*timestamp.children, *position)
    read = [group.expression for group in query.groups]
    read += [e for a in accumulators for e in a.expressions]
    stream, place = _carry(query, sources, names, low, (*order, *read, *high))
    groups = tuple(GroupVariable(g.name, place(g.expression)) for g in query.groups)
    placed = tuple(a.placed(place) for a in accumulators)
    top = aggregate_node(
        *(query, stream, (), groups, placed, finals, with_hidden(query)), merges_partials=False
    )
    return sampled_packets(query, top, tuple(map(place, high)), tuple(map(place, order)))


# Selection


def _split_selection(
    query: CheckedQuery,
    sources: Sources,
    names: NodeNames,
    low: tuple[Expression, ...],
    high: tuple[Expression, ...],
) -> Node:
    read = tuple(output.expression for output in query.outputs)
    reason = "; ".join(dict.fromkeys(filter(None, map(why_not_low, (*high, *read)))))
    if not reason:
        return _low_select(query, query.name, sources, names, low, query.outputs)
    stream, place = _carry(query, sources, names, low, (*read, *high))
    outputs = tuple(replace(o, expression=place(o.expression)) for o in query.outputs)
    top = select_node(query, stream, tuple(map(place, high)), outputs)
    return replace(top, why_high=reason)


def packet_rows(query: CheckedQuery, rows: PacketRows, names: NodeNames) -> Node:
    """Packets as a stream of these fields."""
    name = names.fresh(f"{query.name}_{rows.source.protocol.lower()}")
    return _low_select(query, name, (rows.source,), names, (), rows.columns)


def _low_select(
    query: CheckedQuery,
    name: str,
    sources: Sources,
    names: NodeNames,
    predicates: tuple[Expression, ...],
    outputs: tuple[OutputColumn, ...],
) -> Node:
    schema = Schema(tuple(map(column_of, outputs)))

    def part(name: str, source: ProtocolSource) -> Node:
        return LowSelect(
            name=name,
            schema=schema,
            order=ordered(schema) if source.is_in_order else progressing(schema),
            source=source,
            predicates=predicates,
            filter=query.filter,
            outputs=outputs,
            options=query.options,
        )

    return _over_sources(query, name, sources, names, part)


def _over_sources(
    query: CheckedQuery,
    name: str,
    sources: Sources,
    names: NodeNames,
    part: Callable[[str, ProtocolSource], Node],
) -> Node:
    """An LFTA, or the union of one for each source."""
    if len(sources) == 1:
        return part(name, sources[0])
    parts = [part(names.fresh(f"{name}_{i}"), source) for i, source in enumerate(sources)]
    return union_of(name, tuple(parts), in_order=query.options.in_order)


# What a low selection carries for expressions above the border


def _carry(
    query: CheckedQuery,
    sources: Sources,
    names: NodeNames,
    low: tuple[Expression, ...],
    expressions: tuple[Expression, ...],
) -> tuple[Node, Place]:
    """A low selection of what `expressions` read, and what places them above it."""
    carried: dict[object, Expression] = {}
    for expression in expressions:
        _collect(expression, carried)
    outputs = named_apart(_carried_column(e, i) for i, e in enumerate(carried.values()))
    name = names.fresh(f"{query.name}_low")
    stream = _low_select(query, name, sources, names, low, outputs)
    columns = {key: index for index, key in enumerate(carried)}

    def place(node: Expression) -> Expression:
        index = columns.get(expression_key(node)) if _must_be_low(node) else None
        return node if index is None else _column_ref(node, index, outputs[index].name)

    return stream, lambda expression: _rewritten(expression, place)


def _rewritten(expression: Expression, place: Place) -> Expression:
    """Parents first, so that what is carried whole is not taken apart."""
    placed = place(expression)
    if placed is not expression or not expression.children:
        return placed
    return expression.with_children(tuple(_rewritten(c, place) for c in expression.children))


def _collect(expression: Expression, carried: dict[object, Expression]) -> None:
    if not _must_be_low(expression):
        for child in expression.children:
            _collect(child, carried)
        return
    if isinstance(expression, FunctionCall | ListValue) and not is_low_legal(expression):
        _refuse_low_only(expression)
    carried.setdefault(expression_key(expression), expression)


def _must_be_low(e: Expression) -> bool:
    """Fields and lists live below the border, and calls of functions that are LFTA_ONLY."""
    return isinstance(e, FieldRef | ListValue) or (isinstance(e, FunctionCall) and not e.hfta_legal)


def _refuse_low_only(call: FunctionCall | ListValue) -> None:
    name = call.name if isinstance(call, FunctionCall) else call.watchlist.name
    message = f"{name} runs at the low level only, and what it is given does not"
    hint = f"{why_not_low(call)}: let another query read the rows"
    raise GsqlError([Diagnostic("error", "lfta-only", message, call.span, hint)])


def _carried_column(e: Expression, index: int) -> OutputColumn:
    if isinstance(e, FieldRef):
        clock = e.clock if e.temporal.is_temporal else ""
        return OutputColumn(e.field, e, clock=clock)
    if isinstance(e, ListValue):
        return OutputColumn(e.name, e)
    return OutputColumn(f"carried_{index}", e)


def _column_ref(e: Expression, index: int, name: str) -> ColumnRef:
    return ColumnRef(
        type=e.type,
        temporal=e.temporal,
        nullable=e.nullable,
        span=e.span,
        index=index,
        name=name,
    )

# SPDX-License-Identifier: Apache-2.0
"""Which row is first: what makes FIRST and LAST definite (OPERATORS section 5)."""

from __future__ import annotations

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import Cast, ColumnRef, Constant, Expression, FieldRef
from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.source import Span
from gigastream.gsql.types import Order, Temporal, Type
from gigastream.plan.builders import first_temporal
from gigastream.plan.nodes import Node

INTERFACE_ORDINAL = "@interface_ordinal"
"""The accessor of the interface's number, which no query can name."""


def packet_position(span: Span) -> tuple[Expression, ...]:
    """(timestamp, interface, position in the source) of a packet."""
    timestamp = FieldRef(
        type=Type.TIMESTAMP,
        temporal=Temporal.INCREASING,
        span=span,
        protocol="PKT",
        field="timestamp",
        accessor="timestamp",
        clock="ns",
    )
    return (
        Cast(type=Type.LLONG, span=span, operand=timestamp),
        _field("interface_ordinal", INTERFACE_ORDINAL, span),
        _field("packet_id", "packet_id", span),
    )


def _field(name: str, accessor: str, span: Span) -> FieldRef:
    return FieldRef(type=Type.ULLONG, span=span, protocol="PKT", field=name, accessor=accessor)


def stream_position(stream: Node, span: Span) -> tuple[Expression, ...]:
    """Rows of a stream come by the column that is in order, or else by the first temporal one.

    The value decides between equals.
    """
    nothing = _zero(Type.ULLONG, span)
    place = _place(stream)
    if place is None:
        return (_zero(Type.LLONG, span), nothing, nothing)
    column = stream.schema.columns[place]
    read = ColumnRef(type=column.type, span=span, index=place, name=column.name)
    return (Cast(type=Type.LLONG, span=span, operand=read), nothing, nothing)


def demand_position(query: CheckedQuery, stream: Node) -> None:
    """GsqlError at each FIRST and LAST of rows of which no column says which came first (§6.2)."""
    if _place(stream) is not None:
        return
    hint = "select timestamp, or another temporal column, in what it reads; any_value(x) takes any"
    found = [
        Diagnostic("error", "no-order", f"{call.span.text} of rows in no order", call.span, hint)
        for call in query.aggregates
        if call.function in ("FIRST", "LAST")
    ]
    if found:
        raise GsqlError(found)


def _place(stream: Node) -> int | None:
    """The column that a stream's rows come by."""
    ordered = (index for index, order in enumerate(stream.order) if order is Order.ORDERED)
    return next(ordered, first_temporal(stream.schema))


def _zero(type_: Type, span: Span) -> Constant:
    return Constant(type=type_, temporal=Temporal.CONSTANT, span=span, value=0)

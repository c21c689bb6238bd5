# SPDX-License-Identifier: Apache-2.0
"""A query that samples (GSQL section 6.5) becomes a node over rows that come in their order."""

from __future__ import annotations

from typing import NoReturn

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import (
    Cast,
    ColumnRef,
    Constant,
    Expression,
    Operation,
    is_of_supergroup,
)
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.types import Order, Temporal, Type
from gigastream.late_dataclass import fields, replace
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.sample import Sample

_GRAIN_NS = 100_000_000


def sampled_packets(
    query: CheckedQuery,
    top: Aggregate,
    where: tuple[Expression, ...],
    position: tuple[Expression, ...],
) -> Sample:
    """Of packets, whose position is in these columns: (timestamp, interface, place in the source).

    Those of one interface whose source says that they are in order come by their position anyway.
    """
    timestamp, *ties = (e.index for e in position if isinstance(e, ColumnRef))
    if top.input.order[timestamp] is Order.ORDERED:
        return _sample(query, top, where, timestamp, ())
    sample = _sample(query, top, where, timestamp, tuple(ties))
    return replace(sample, grains=(_grain(top, timestamp),))


def _grain(top: Aggregate, timestamp: int) -> Expression:
    """Rows that are sorted wait for a tenth of a second, not for the window's end."""
    read = ColumnRef.to(top.input.schema.columns[timestamp], timestamp)
    whole, moves = Type.LLONG, read.temporal
    number = Cast(type=whole, temporal=moves, span=NOWHERE, operand=read)
    length = Constant(type=whole, temporal=Temporal.CONSTANT, value=_GRAIN_NS, span=NOWHERE)
    operands = (number, length)
    return Operation(type=whole, temporal=moves, span=NOWHERE, operator="//", operands=operands)


def sampled_rows(query: CheckedQuery, top: Aggregate, where: tuple[Expression, ...]) -> Sample:
    """Of a query's rows: by the time that the window is made of, equals by all their values."""
    (window,) = top.temporal_groups
    group = top.groups[window].expression
    function = monotone(group)
    inputs = () if function is None else function.inputs
    if len(inputs) != 1:
        _refuse_two_times(query, group)
    return _sample(query, top, where, inputs[0].index, tuple(range(len(top.input.schema.columns))))


def _refuse_two_times(query: CheckedQuery, group: Expression) -> NoReturn:
    """GsqlError for a window of two columns: rows cannot be in the order of both."""
    message = f"{query.name} samples rows in their order, and its window is of several times"
    hint = "group by one of them"
    raise GsqlError([Diagnostic("error", "sampling", message, group.span, hint)])


def _sample(
    query: CheckedQuery,
    top: Aggregate,
    where: tuple[Expression, ...],
    order_column: int,
    ties: tuple[int, ...],
) -> Sample:
    sampling = query.sampling
    assert sampling is not None
    own = {item.name: getattr(top, item.name) for item in fields(top)}
    own["predicates"] = tuple(e for e in where if not is_of_supergroup(e))
    return Sample(
        **own,
        admission=tuple(e for e in where if is_of_supergroup(e)),
        sampling=sampling,
        order_column=order_column,
        tied=ties,
    )

# SPDX-License-Identifier: Apache-2.0
"""Checked queries as text with every type and every cast, for tests to compare.

`!` behind an operator or cast: it can have no value; `?` behind a type: it may be NULL.
"""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.expressions import (
    AggregateRef,
    Case,
    Cast,
    ColumnRef,
    Constant,
    Expression,
    FieldRef,
    FunctionCall,
    GroupRef,
    Operation,
)
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.queries import (
    CheckedQuery,
    JoinSource,
    PacketRows,
    ProtocolSource,
    QuerySource,
    Source,
    UnionSource,
)


def shown(expression: Expression) -> str:
    """Return an expression with the types of all that does not name a column."""
    if isinstance(expression, Constant):
        return _constant(expression) + _type(expression)
    if isinstance(expression, FieldRef):
        return expression.field
    if isinstance(expression, ColumnRef):
        return f"{expression.port}.{expression.name}"
    if isinstance(expression, GroupRef):
        return f"group.{expression.index}"
    if isinstance(expression, AggregateRef):
        return f"aggregate.{expression.index}"
    if isinstance(expression, Cast):
        mark = "!" if expression.checked else ""
        return f"(cast{mark} {expression.type} {shown(expression.operand)})"
    children = " ".join(shown(child) for child in expression.children)
    return _head(expression, children) + _type(expression)


def _head(expression: Expression, children: str) -> str:
    if isinstance(expression, FunctionCall):
        return f"{expression.symbol}({children})"
    if isinstance(expression, Case):
        return f"(case {children})"
    assert isinstance(expression, Operation)
    mark = "!" if expression.checked else ""
    length = f"/{expression.prefix_length}" if expression.operator == "IS_PREFIX" else ""
    return f"({expression.operator}{mark}{length} {children})"


def _type(expression: Expression) -> str:
    return f":{expression.type}{'?' if expression.nullable and _is_made(expression) else ''}"


def _is_made(expression: Expression) -> bool:
    return not isinstance(expression, Constant)


def _constant(constant: Constant) -> str:
    value = constant.value
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return "0x" + value.hex() if len(value) == 16 and constant.type.is_address else repr(value)
    return str(value).upper() if isinstance(value, bool) else str(value)


def shown_query(query: CheckedQuery) -> str:
    """Return a checked query, a line for each of its parts."""
    return "\n".join(_lines(query)) + "\n"


def _lines(query: CheckedQuery) -> Iterator[str]:
    yield f"query {query.name}" + ("" if query.is_output else " (internal)")
    for name, value in query.options.given.items():
        yield f"  option {name} = {value}"
    for source in query.sources:
        yield from _from(source)
    if query.merge is not None:
        yield f"  merge on column {query.merge.column}, slack {query.merge.slack}"
    if query.where is not None:
        yield f"  where {shown(query.where)}"
    if query.window is not None:
        window = query.window
        yield f"  window range {window.range}, slide {window.slide} {window.unit}".rstrip()
    for number, group in enumerate(query.groups):
        yield f"  group {number} {group.name} = {_moving(group.expression)}"
    if query.grouping is not None:
        masks = ", ".join(f"{mask:b}" for mask in query.grouping.masks)
        yield f"  sets without {query.grouping.variables}, as bits: {masks}"
    for number, item in enumerate(query.aggregates):
        argument = "*" if item.argument is None else shown(item.argument)
        mark = "?" if item.nullable else ""
        only = "" if item.filter is None else f" of rows with {shown(item.filter)}"
        yield f"  aggregate {number} {item.function}({argument}):{item.type}{mark}{only}"
    if query.having is not None:
        yield f"  having {shown(query.having)}"
    for column, output in zip(query.schema.columns, query.outputs, strict=True):
        notes = [column.temporal.value, column.subtype, column.clock and f"clock {column.clock}"]
        mark = "?" if column.nullable else ""
        described = ", ".join(note for note in notes if note)
        yield f"  column {column.name} {column.type}{mark} ({described})"
        yield f"    = {_moving(output.expression)}"
    for item in query.order_by:
        yield f"  order by {shown(item.expression)}{' desc' if item.descending else ''}"
    if query.limit is not None:
        per = ", ".join(map(shown, query.limit_per))
        yield f"  limit {query.limit}" + (f" per {per}" if per else "")


def _moving(expression: Expression) -> str:
    function = monotone(expression)
    if function is None or function.is_identity:
        return shown(expression)
    inverse = f", {function.inverse_text}" if function.inverse_text else ""
    return f"{shown(expression)}  [{function.forward_text}{inverse}]"


def _from(source: Source) -> Iterator[str]:
    if not isinstance(source, JoinSource):
        yield f"  from {_source(source)}"
        return
    yield "  from a join"
    yield from (f"    {line}" for line in _join(source))


def _join(source: JoinSource) -> Iterator[str]:
    for port, side in enumerate(source.inputs):
        yield f"side {port}" + (", kept" if source.keeps[port] else "")
        yield from (f"  {line}" for line in _from(side.source))
        if side.where is not None:
            yield f"    where {shown(side.where)}"
        for column in side.columns:
            yield f"    {port}.{column.name} = {shown(column.expression)}"
    for times in source.times:
        f, g = map(shown, times.sides)
        yield f"times {f} and {g}, reach {times.reach[0]} and {times.reach[1]}"
    for a, b in source.keys:
        yield f"key {shown(a)} = {shown(b)}"
    for condition in source.residual:
        yield f"rest {shown(condition)}"
    for number, joined in enumerate(source.columns):
        places = [f"{port}.{at}" for port, at in enumerate(joined.places) if at is not None]
        mark = "?" if joined.column.nullable else ""
        column = f"{joined.column.name} {joined.column.type}{mark}"
        yield f"joined {number} {column} of {' or '.join(places)}"


def _source(source: Source) -> str:
    if isinstance(source, QuerySource):
        return f"query {source.query}"
    if isinstance(source, PacketRows):
        columns = ", ".join(column.name for column in source.columns)
        return f"{_packets(source.source)} as rows of {columns}"
    if isinstance(source, UnionSource):
        return "union of " + "; ".join(_source(branch) for branch in source.inputs)
    assert isinstance(source, ProtocolSource)
    return _packets(source)


def _packets(source: ProtocolSource) -> str:
    over = f"[{source.interface_set}]" if source.interface_set else source.interface
    text = f"packets {over}.{source.protocol}"
    if source.base_protocol != source.protocol:
        text += f", bit {source.base_protocol}"
    if source.narrowed_to:
        text += f", narrowed to {source.narrowed_to}"
    needed = [
        f"{item.protocol}.{item.field}" for item in source.required if isinstance(item, FieldRef)
    ]
    return text + (f", required {', '.join(needed)}" if needed else "")

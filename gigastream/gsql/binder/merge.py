# SPDX-License-Identifier: Apache-2.0
"""MERGE: streams of one schema as one that is in the order of a temporal column (GSQL section 6).

What a merge takes of packets is decided by who reads it: the fields that readers name. Put out
itself it is SELECT *.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.binder.columns import schema_of
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.expressions import Binder, ClauseContext
from gigastream.gsql.binder.joins import flat_sources
from gigastream.gsql.binder.names import PacketNames, Scope, StreamNames
from gigastream.gsql.binder.packet_rows import columns_of, fields_like
from gigastream.gsql.binder.sources import SourceItem, Tables, bind_source, met_column
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import ColumnRef, Constant, Expression
from gigastream.gsql.queries import (
    CheckedQuery,
    MergeClause,
    OutputColumn,
    PacketRows,
    ProtocolSource,
    QueryOptions,
    Source,
    UnionSource,
)
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.printer import print_query
from gigastream.gsql.types import Schema
from gigastream.late_dataclass import dataclass

Wanted = frozenset[str] | None
"""Names of columns in lower case; None: all that there are."""


@dataclass(frozen=True, slots=True)
class _MergedRows:
    """A source, and the rows that it gives."""

    item: SourceItem
    schema: Schema
    fields: tuple[OutputColumn, ...] = ()
    """Of packets."""

    @property
    def source(self) -> Source:
        assert self.item.build is not None
        found = self.item.build()
        if not self.item.is_packets:
            return found
        parts = found.inputs if isinstance(found, UnionSource) else (found,)
        packets = (part for part in parts if isinstance(part, ProtocolSource))
        rows = tuple(PacketRows(part, self.fields) for part in packets)
        return rows[0] if len(rows) == 1 else UnionSource(rows)


def bind_merge(
    query: ast.Query,
    body: ast.MergeStatement,
    context: BindingContext,
    tables: Tables,
    options: QueryOptions,
) -> CheckedQuery | None:
    """Check a MERGE; None after errors, which are in the sink."""
    nodes = flat_sources(body.sources)
    items = [bind_source(node, 0, tables) for node in nodes]
    if not items or not body.columns:
        return None
    sink, errors = context.sink, context.sink.error_count
    slack = _slack(body, context)
    known = all(item.build is not None for item in items)
    if known:
        _check_count(body, items, sink)
    columns = [_merged(column, items, sink) for column in body.columns]
    if not known:
        return None
    _check_order(body, items, sink)
    rows = _all_rows(items, _wanted(body, options, tables), sink)
    if rows is None or None in columns:
        return None
    places = [_place(c, r) for c, r in zip(columns, rows, strict=False) if c is not None]
    _check_places(body, [c for c in columns if c is not None], places, sink)
    _check_schemas(rows, sink)
    if sink.error_count > errors or slack is None:
        return None
    return _checked(query, options, rows, MergeClause(places[0], slack))


def _checked(
    query: ast.Query, options: QueryOptions, rows: Sequence[_MergedRows], merge: MergeClause
) -> CheckedQuery:
    outputs = _outputs(_met([each.schema for each in rows]), query.span)
    return CheckedQuery(
        name=query.name,
        span=query.span,
        text=print_query(query),
        sources=tuple(each.source for each in rows),
        outputs=outputs,
        merge=merge,
        options=options,
        schema=schema_of(outputs),
    )


def _met(schemas: Sequence[Schema]) -> Schema:
    """The first source's columns, as far as all sources agree on what they promise."""
    columns = schemas[0].columns
    for schema in schemas[1:]:
        columns = tuple(met_column(a, b) for a, b in zip(columns, schema.columns, strict=True))
    return Schema(columns)


def _outputs(schema: Schema, span: Span) -> tuple[OutputColumn, ...]:
    names = StreamNames(0, (), None, schema)
    columns = zip(schema.columns, names.everything(span), strict=True)
    return tuple(
        OutputColumn(column.name, reference, column.subtype, column.clock)
        for column, (_, reference) in columns
    )


def _slack(body: ast.MergeStatement, context: BindingContext) -> int | None:
    """How far a source may step back; None where it was wrong, and reported."""
    if body.slack is None:
        return 0
    bound = Binder(context, Scope(()), ClauseContext("SLACK")).bind(body.slack)
    if isinstance(bound, Constant) and bound.type.is_integer and int(bound.value or 0) >= 0:
        return int(bound.value or 0)
    if bound is not None:
        message = "SLACK takes a whole number, not below 0"
        hint = "it is in the unit of the column that is merged on"
        context.sink.error("wrong-type", message, body.slack.span, hint)
    return None


# What is merged on


def _check_count(
    body: ast.MergeStatement, items: Sequence[SourceItem], sink: DiagnosticSink
) -> None:
    if len(body.columns) != len(items):
        message = f"{len(items)} sources are merged on {len(body.columns)} columns"
        hint = "one column of each source: MERGE a.t : b.t FROM A a, B b"
        sink.error("wrong-merge", message, body.columns[-1].span, hint)


def _merged(
    column: ast.Name, items: Sequence[SourceItem], sink: DiagnosticSink
) -> Expression | None:
    found = Scope(tuple(item.names for item in items)).resolve(column, sink)
    if found is None or (found.temporal.is_temporal and not found.nullable):
        return found
    why = "may be NULL" if found.temporal.is_temporal else "is not temporal"
    message = f"{column.name} {why}: it has no order to merge by"
    sink.error("not-temporal", message, column.span, "merge on an increasing column, such as time")
    return None


def _check_order(
    body: ast.MergeStatement, items: Sequence[SourceItem], sink: DiagnosticSink
) -> None:
    """Each column stands at the place of its source in FROM."""
    for node, item in zip(body.columns, items, strict=False):
        if node.qualifier and not item.names.answers_to(node.qualifier):
            shown = item.names.shown
            message = f"the column at this place is that of {shown}"
            hint = f"{shown}.{node.name}: one column of each source, as FROM has them"
            sink.error("wrong-merge", message, node.span, hint)


def _place(column: Expression, rows: _MergedRows) -> int:
    """Where it stands in a source's rows; -1: it is another source's."""
    if isinstance(column, ColumnRef):
        return column.index
    expressions = [field.expression for field in rows.fields]
    return expressions.index(column) if column in expressions else -1


def _check_places(
    body: ast.MergeStatement,
    columns: Sequence[Expression],
    places: Sequence[int],
    sink: DiagnosticSink,
) -> None:
    first = columns[0]
    for node, column, place in zip(body.columns, columns, places, strict=False):
        if column.temporal is not first.temporal:
            message = f"{node.name} is {column.temporal.value}, the first {first.temporal.value}"
            sink.error("wrong-merge", message, node.span)
        elif place != places[0]:
            message = f"{node.name} stands in another place of its source than the first"
            sink.error("wrong-merge", message, node.span, "the sources have the same schema")


# Rows


def _all_rows(
    items: Sequence[SourceItem], wanted: Wanted, sink: DiagnosticSink
) -> list[_MergedRows] | None:
    """The rows of all sources; where some are a query's, packets give the fields that it has."""
    like = next(filter(None, map(_own_schema, items)), None)
    found = [_rows(item, like, wanted, sink) for item in items]
    good = [rows for rows in found if rows is not None]
    return good if len(good) == len(items) else None


def _rows(
    item: SourceItem, like: Schema | None, wanted: Wanted, sink: DiagnosticSink
) -> _MergedRows | None:
    names = item.names
    if isinstance(names, StreamNames):
        return _MergedRows(item, names.schema)
    if not isinstance(names, PacketNames):
        return None
    fields = _fields(names, like, wanted, item.node.span, sink)
    return None if fields is None else _MergedRows(item, schema_of(fields), fields)


def _own_schema(item: SourceItem) -> Schema | None:
    """Of what has columns in an order: a query, a STREAM."""
    names = item.names
    if isinstance(names, PacketNames) and names.are_records:
        return schema_of(columns_of(names, names.everything(item.node.span)))
    return names.schema if isinstance(names, StreamNames) else None


def _fields(
    names: PacketNames, like: Schema | None, wanted: Wanted, span: Span, sink: DiagnosticSink
) -> tuple[OutputColumn, ...] | None:
    if names.are_records:
        return columns_of(names, names.everything(span))
    if like is not None:
        return fields_like(names, like, span, sink)
    if wanted is None:
        return columns_of(names, names.everything(span))
    return columns_of(names, names.chosen(wanted, span))


def _check_schemas(rows: Sequence[_MergedRows], sink: DiagnosticSink) -> None:
    first = rows[0]
    for other in rows[1:]:
        if _types(other.schema) != _types(first.schema):
            shown = f"{other.item.names.shown} has other columns than {first.item.names.shown}"
            hint = "the sources of a MERGE have columns of the same types in the same places"
            sink.error("different-schemas", shown, other.item.node.span, hint)


def _types(schema: Schema) -> list[object]:
    return [column.type for column in schema.columns]


# Who reads it


def _wanted(body: ast.MergeStatement, options: QueryOptions, tables: Tables) -> Wanted:
    """The columns that readers name, where there are any, and those that are merged on."""
    if options.visibility != "internal":
        return None
    read = [_read_by(reader, table) for reader, table in tables.readers]
    named = [names for names in read if names is not None]
    if len(named) < len(read):
        return None
    return frozenset().union(*named, (column.name.lower() for column in body.columns))


def _read_by(reader: ast.Query, table: ast.Table) -> Wanted:
    """The names that may be columns of a table; all, where it is read by its columns' places."""
    body = reader.body
    if not isinstance(body, ast.SelectStatement) or table not in flat_sources(body.sources):
        return None
    own = {table.name.lower(), table.name.lower().rsplit("/", 1)[-1], (table.alias or "").lower()}
    found = set()
    for node in ast.walk(body):
        if isinstance(node, ast.Star | ast.Name) and _may_be_of(node, own):
            if isinstance(node, ast.Star):
                return None
            found.add(node.name.lower())
    return frozenset(found)


def _may_be_of(node: ast.Star | ast.Name, own: set[str]) -> bool:
    return not node.qualifier or node.qualifier[-1].lower() in own

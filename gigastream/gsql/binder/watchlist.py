# SPDX-License-Identifier: Apache-2.0
"""WATCHLIST_JOIN: packets that a list has, with the columns of its row (GSQL section 6.10).

WHERE equates every key column of the list with an expression of the packet; a column of the list is
then a function of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.binder.join_tree import conjuncts_of
from gigastream.gsql.binder.list_files import named_columns
from gigastream.gsql.binder.names import Scope, SourceNames
from gigastream.gsql.binder.sources import Tables
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.expressions import Expression, ListValue
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type
from gigastream.gsql.watchlists import MAX_KEYS, ListColumn, Watchlist
from gigastream.late_dataclass import dataclass, replace


def is_of_list(body: ast.SelectStatement) -> bool:
    """True of a WATCHLIST_JOIN."""
    return body.join is not None and body.join.kind == "WATCHLIST"


class ListNames(SourceNames):
    """The columns of a list; before it is known by which keys, they are of no use."""

    is_known = True

    def __init__(self, index: int, table: ast.Table, watchlist: Watchlist) -> None:
        super().__init__(index, [_name_of(table)], table.alias)
        self.watchlist = watchlist
        self.keys: tuple[Expression, ...] = ()

    def find(self, name: str, span: Span) -> Expression | None:
        at = self.watchlist.index(name)
        return None if at is None else self._value(at, span)

    def everything(self, span: Span) -> list[tuple[str, Expression]]:
        columns = enumerate(self.watchlist.columns)
        return [(column.name, self._value(at, span)) for at, column in columns]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.watchlist.columns]

    def match(self, span: Span) -> Expression:
        """Whether the list has a row for the packet."""
        return ListValue(type=Type.BOOL, span=span, watchlist=self.watchlist, keys=self.keys)

    def _value(self, at: int, span: Span) -> Expression:
        column = self.watchlist.columns[at]
        return ListValue(
            type=column.type,
            span=span,
            watchlist=self.watchlist,
            keys=self.keys,
            column=at,
            name=column.name,
        )


# FROM


def bind_list(table: ast.Table, tables: Tables) -> SourceNames:
    """The names of the list that FROM speaks of; of one that is wrong, and reported, none."""
    broken = SourceNames(1, [_name_of(table)], table.alias)
    declared = tables.catalog.watchlists.get(_name_of(table).lower())
    if declared is not None and not table.is_file:
        return ListNames(1, table, declared)
    if not table.is_file and table.interface is None:
        _report_unknown(table, tables)
        return broken
    if not tables.opens_lists:
        message = f"the list {_name_of(table)} is a file, which only who runs it here may name"
        hint = "a definition file declares it: WATCHLIST name { … } FROM 'file'"
        tables.sink.error("unreadable", message, table.name_span, hint)
        return broken
    columns = named_columns(_name_of(table), table.name_span, tables.sink)
    if columns is None:
        return broken
    found = tuple(ListColumn(name, Type.STRING) for name in columns)
    path = _name_of(table)
    return ListNames(1, table, Watchlist(path, path, found, is_bare=True, span=table.name_span))


def _name_of(table: ast.Table) -> str:
    """`bad.csv` without quotes reads as a protocol on an interface."""
    return table.name if table.interface is None else f"{table.interface}.{table.name}"


def _report_unknown(table: ast.Table, tables: Tables) -> None:
    lists = [item.name for item in tables.catalog.watchlists.values()]
    hint = did_you_mean(table.name, lists)
    hint = hint or "a definition file declares it: WATCHLIST name { … } FROM 'file'; or name a file"
    message = f"no watchlist {table.name}"
    tables.sink.error("unknown-table", message, table.name_span, hint)


# WHERE


@dataclass(frozen=True, slots=True)
class _Key:
    """A column of the list that WHERE equates with an expression of the packet."""

    column: int
    value: Expression
    span: Span


def bind_keys(statement: Statement) -> Statement:
    """Find the keys; the same statement with what is left of WHERE, as it is after errors."""
    names = statement.columns.sources[1]
    join = statement.body.join
    if not isinstance(names, ListNames) or join is None or not statement.sources_are_known:
        return statement
    if not statement.items[0].is_packets:
        message = "a watchlist is joined with packets, and this is no protocol"
        hint = "join it in the query that reads the packets"
        statement.sink.error("wrong-source", message, statement.items[0].node.span, hint)
        return statement
    errors = statement.sink.error_count
    keys, rest = _keys(statement, names)
    if statement.sink.error_count > errors:
        return statement
    if names.watchlist.is_bare:
        names.watchlist = _with_keys(names.watchlist, keys)
    _demand_all(names.watchlist, keys, join.span, statement.sink)
    if statement.sink.error_count > errors:
        return statement
    names.keys = tuple(keys[column].value for column in names.watchlist.keys)
    where = _conjunction(rest)
    return replace(statement, body=replace(statement.body, where=where))


def _conjunction(nodes: Sequence[ast.SyntaxExpression]) -> ast.SyntaxExpression | None:
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    return ast.Logical("AND", tuple(nodes), span=nodes[0].span)


def _keys(
    statement: Statement, names: ListNames
) -> tuple[dict[int, _Key], list[ast.SyntaxExpression]]:
    """The keys by their columns, and the conditions that equate none."""
    found: dict[int, _Key] = {}
    rest = []
    for node in conjuncts_of(statement.body.where):
        pair = _equated(node, statement.columns, names)
        if pair is None or pair[0] in found:
            rest.append(node)
            continue
        column, other = pair
        packets = Scope(statement.columns.sources[:1])
        value = statement.binder("WHERE", packets).bind(other)
        key = None if value is None else _checked(names.watchlist, column, value, node, statement)
        if key is not None:
            found[column] = key
    return found, rest


def _equated(
    node: ast.SyntaxExpression, scope: Scope, names: ListNames
) -> tuple[int, ast.SyntaxExpression] | None:
    """The key column of `p.x = w.k`, and what it is equated with."""
    if not (isinstance(node, ast.Comparison) and node.op == "="):
        return None
    for side, other in ((node.left, node.right), (node.right, node.left)):
        column = _column(side, scope, names)
        is_key = column is not None and (
            names.watchlist.is_bare or names.watchlist.columns[column].is_key
        )
        parts = [part for part in ast.walk(other) if isinstance(part, ast.Name)]
        reads_packets = parts and all(_column(part, scope, names) is None for part in parts)
        if column is not None and is_key and reads_packets:
            return column, other
    return None


def _column(node: ast.SyntaxExpression, scope: Scope, names: ListNames) -> int | None:
    """Which column of the list a name means, and means alone."""
    if not isinstance(node, ast.Name):
        return None
    found = [s for s in scope.candidates(node.qualifier) if s.find(node.name, node.span)]
    return names.watchlist.index(node.name) if found == [names] else None


def _checked(
    watchlist: Watchlist,
    column: int,
    value: Expression,
    node: ast.SyntaxExpression,
    statement: Statement,
) -> _Key | None:
    """The key, where a value of its type can be equal to one of the column's."""
    type_ = _type_of(value) if watchlist.is_bare else watchlist.columns[column].type
    if type_ is None or not _may_meet(type_, value.type):
        shown = watchlist.columns[column].name
        message = f"{value.type} is no key of a list"
        if type_ is not None:
            message = f"{shown} of {watchlist.name} is {type_}, and what it is equated with"
            message += f" {value.type}"
        hint = "keys are whole numbers, addresses, bool and strings, equated with their like"
        statement.sink.error("wrong-type", message, node.span, hint)
        return None
    return _Key(column, value, node.span)


def _type_of(value: Expression) -> Type | None:
    """What a column of a bare file is, by what it is equated with."""
    if value.type.is_address:
        return Type.INET
    good = value.type.is_integer or value.type in (Type.BOOL, Type.STRING)
    return value.type if good else None


def _may_meet(one: Type, other: Type) -> bool:
    if one.is_address and other.is_address:
        return Type.INET in (one, other) or one is other
    return one is other or (one.is_integer and other.is_integer)


def _with_keys(watchlist: Watchlist, keys: dict[int, _Key]) -> Watchlist:
    """A bare file's list: its keys are what WHERE equates."""
    columns = tuple(
        ListColumn(column.name, _type_of(keys[at].value) or column.type, True)
        if at in keys
        else column
        for at, column in enumerate(watchlist.columns)
    )
    return replace(watchlist, columns=columns)


def _demand_all(
    watchlist: Watchlist, keys: dict[int, _Key], span: Span, sink: DiagnosticSink
) -> None:
    missing = [watchlist.columns[at].name for at in watchlist.keys if at not in keys]
    if not keys and watchlist.is_bare:
        message = f"WHERE equates no column of {watchlist.name} with the packet's"
        sink.error("unbound-key", message, span, f"WHERE p.srcIP = w.{watchlist.columns[0].name}")
    elif missing:
        names = ", ".join(missing)
        message = f"WHERE does not equate the key {names} of {watchlist.name}"
        hint = f"every key column is equated: p.x = w.{missing[0]}"
        sink.error("unbound-key", message, span, hint)
    elif len(keys) > MAX_KEYS:
        sink.error("unbound-key", f"a list has at most {MAX_KEYS} keys", span)


def list_match(statement: Statement) -> Expression | None:
    """The condition that a list has a row for the packet; None: no list is joined."""
    sources = statement.columns.sources
    names = sources[1] if len(sources) > 1 else None
    join = statement.body.join
    if not isinstance(names, ListNames) or join is None or not names.keys:
        return None
    return names.match(join.span)

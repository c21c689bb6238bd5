# SPDX-License-Identifier: Apache-2.0
"""From text to trees: the part of GSQL that has answers today. ValueError for anything else."""

from __future__ import annotations

from functools import cache

from tests.answers.reference.cursor import Cursor
from tests.answers.reference.expressions import at_window, expression, name, primary, type_named
from tests.answers.reference.from_clause import (
    from_clause,
    join_prefix,
    let_through,
    parse_window,
)
from tests.answers.reference.grouping import group_by
from tests.answers.reference.syntax import Item, Literal, Name, OrderItem, Query
from tests.answers.reference.tokens import tokens


@cache
def parse_set(text: str) -> tuple[Query, ...]:
    """The queries of a text, which `;` separates."""
    cursor = Cursor(tokens(text))
    queries = []
    while cursor.token.kind != "end":
        queries += _query(cursor)
        if not cursor.accept(";"):
            break
    cursor.expect_end()
    return tuple(queries)


# Queries


def _query(cursor: Cursor) -> list[Query]:
    """A query behind those of its WITH, whose names nothing else in the set may have."""
    query = Query()
    while cursor.at("DEFINE") or cursor.at("PARAM"):
        if cursor.take().is_word("DEFINE"):
            _define(cursor, query)
        else:
            _parameters(cursor, query)
    tables = cursor.separated(lambda c: _table(c, query)) if cursor.accept("WITH") else []
    _body(cursor, query)
    return [*tables, query]


def _table(cursor: Cursor, owner: Query) -> Query:
    options = {"query_name": cursor.word(), "visibility": "internal"}
    found = Query(options={**owner.options, **options}, parameters=owner.parameters)
    cursor.expect("AS")
    cursor.expect("(")
    _body(cursor, found)
    cursor.expect(")")
    return found


def _body(cursor: Cursor, query: Query) -> None:
    if cursor.accept("MERGE"):
        _merge(cursor, query)
    else:
        _select(cursor, query)


def _select(cursor: Cursor, query: Query) -> None:
    cursor.expect("SELECT")
    query.distinct = cursor.accept("DISTINCT")
    if not cursor.accept("*"):
        query.items = cursor.separated(_item)
    window = parse_window(cursor) if at_window(cursor) else None
    query.filtered = _filtered(cursor)
    query.listed = cursor.accept("WATCHLIST_JOIN")
    kind = join_prefix(cursor)
    cursor.expect("FROM")
    is_one_sided = query.listed or query.filtered is not None
    query.source, behind = let_through(cursor) if is_one_sided else from_clause(cursor, kind)
    query.window = window or behind
    _clauses(cursor, query)


def _filtered(cursor: Cursor) -> tuple[Name, int] | None:
    if not cursor.accept("FILTER_JOIN"):
        return None
    cursor.expect("(")
    column = name(cursor)
    cursor.expect(",")
    ticks = int(cursor.take().text)
    cursor.expect(")")
    return column, ticks


def _merge(cursor: Cursor, query: Query) -> None:
    """SLACK drops nothing of inputs that have been sorted, and all have been."""
    query.merged = cursor.separated(name, ":")
    if cursor.accept("SLACK"):
        expression(cursor)
    cursor.expect("FROM")
    query.source, _ = from_clause(cursor, "INNER")


def _define(cursor: Cursor, query: Query) -> None:
    cursor.expect("{")
    while not cursor.accept("}"):
        option = cursor.word().lower()
        value = "" if cursor.at(";") else cursor.take().text
        query.options[option] = value.strip("'")
        cursor.accept(";")


def _parameters(cursor: Cursor, query: Query) -> None:
    cursor.expect("{")
    while not cursor.accept("}"):
        parameter, type_ = cursor.word().lower(), type_named(cursor.word())
        value = primary(cursor)
        assert isinstance(value, Literal)
        query.parameters[parameter] = Literal(type_, value.value)
        cursor.accept(";")


def _clauses(cursor: Cursor, query: Query) -> None:
    if cursor.accept("WHERE"):
        query.where = expression(cursor)
    if cursor.accept("GROUP", "BY"):
        query.group_by, query.sets = group_by(cursor, _item)
    if cursor.accept("SUPERGROUP"):
        query.supergroup = cursor.separated(Cursor.word)
    if cursor.accept("HAVING"):
        query.having = expression(cursor)
    if cursor.accept("CLOSING_WHEN"):
        query.closing_when = expression(cursor)
    if cursor.accept("CLEANING_WHEN"):
        query.cleaning_when = expression(cursor)
    if cursor.accept("CLEANING_BY"):
        query.cleaning_by = expression(cursor)
    if cursor.accept("ORDER", "BY"):
        query.order_by = cursor.separated(_order_item)
    if cursor.accept("LIMIT"):
        query.limit = int(cursor.take().text)
        if cursor.accept("PER"):
            query.per = cursor.separated(expression)


def _item(cursor: Cursor) -> Item:
    found = expression(cursor)
    if cursor.accept("AS"):
        return Item(found, cursor.word())
    return Item(found, found.name if isinstance(found, Name) else "")


def _order_item(cursor: Cursor) -> OrderItem:
    key = expression(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    return OrderItem(key, descending)

# SPDX-License-Identifier: Apache-2.0
"""The SELECT list: its expressions, `*`, and the names of its columns."""

from __future__ import annotations

from collections.abc import Iterable

from gigastream.gsql.binder.columns import Origins, demand_unique, made_name, unique
from gigastream.gsql.binder.expressions import Binder
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.queries import OutputColumn
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.late_dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class Item:
    """A column of the SELECT list."""

    name: str
    """Empty if the query gives it none."""
    expression: Expression | None
    """None if it was wrong, and reported."""
    span: Span


def select_list(statement: Statement, binder: Binder) -> list[Item]:
    """Bind the SELECT list; `*` becomes the columns that it stands for."""
    items: list[Item] = []
    names = statement.names_of(statement.body.items)
    for node, name in zip(statement.body.items, names, strict=True):
        if isinstance(node.expression, ast.Star):
            items += _star(statement, node.expression)
        else:
            items.append(Item(name, binder.bind(node.expression), node.span))
    demand_unique([(item.name, item.span) for item in items], "column", statement.sink)
    return items


def _star(statement: Statement, star: ast.Star) -> list[Item]:
    if statement.is_aggregation and not statement.body.distinct:
        message = "* cannot stand in an aggregation"
        hint = "name the group variables and aggregates"
        statement.sink.error("misplaced-star", message, star.span, hint)
        return [Item("", None, star.span)]
    sources = statement.columns.sources
    chosen = [s for s in sources if not star.qualifier or s.answers_to(star.qualifier)]
    if not chosen:
        message = f"{'.'.join(star.qualifier)} does not stand in FROM"
        statement.sink.error("unknown-source", message, star.span)
    pairs = statement.columns.everything(chosen, star.span)
    return [Item(name, expression, star.span) for name, expression in pairs]


def outputs(items: Iterable[Item], origins: Origins) -> tuple[OutputColumn, ...] | None:
    """The output columns; None if one of them was wrong."""
    items = list(items)
    taken = {item.name.lower() for item in items if item.name}
    found = []
    for position, item in enumerate(items, 1):
        if item.expression is None:
            return None
        name = item.name or unique(made_name(item.span, position), taken)
        found.append(origins.output(name, _settled(item.expression)))
    return tuple(found)


def _settled(expression: Expression) -> Expression:
    """A whole number that met nothing has the type int, or the next that holds it."""
    if isinstance(expression, Constant):
        return replace(expression, flexible=False)
    return expression

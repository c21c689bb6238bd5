# SPDX-License-Identifier: Apache-2.0
"""Joins as they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.gsql.binder.join_tree import conjuncts_of
from gigastream.gsql.binder.names import Equated, Qualifier
from gigastream.gsql.syntax import ast


def flat_sources(items: Sequence[ast.FromItem]) -> Iterator[ast.FromItem]:
    """The tables and unions of a FROM list, those of its JOINs too."""
    for item in items:
        if isinstance(item, ast.JoinedSource):
            yield from flat_sources((item.left, item.right))
        else:
            yield item


def join_conditions(items: Sequence[ast.FromItem]) -> Iterator[ast.SyntaxExpression]:
    """The conditions behind ON."""
    for item in items:
        if isinstance(item, ast.JoinedSource):
            yield from join_conditions((item.left, item.right))
            if item.condition is not None:
                yield item.condition


def is_join(body: ast.SelectStatement) -> bool:
    """True if a SELECT reads several sources at once."""
    several = len(body.sources) > 1 or body.join is not None
    return several or any(isinstance(item, ast.JoinedSource) for item in body.sources)


def equated_names(conditions: Sequence[ast.SyntaxExpression]) -> Equated:
    """Columns that `a.x = b.x` equates wherever a row is joined: their name alone is clear then."""
    found: dict[str, list[frozenset[Qualifier]]] = {}
    for node in (part for condition in conditions for part in conjuncts_of(condition)):
        if not (isinstance(node, ast.Comparison) and node.op == "="):
            continue
        left, right = node.left, node.right
        if not (isinstance(left, ast.Name) and isinstance(right, ast.Name)):
            continue
        name = left.name.lower()
        pair = frozenset(tuple(map(str.lower, side.qualifier)) for side in (left, right))
        if name == right.name.lower() and len(pair) == 2 and () not in pair:
            groups = found.setdefault(name, [])
            met = [group for group in groups if group & pair]
            groups[:] = [g for g in groups if g not in met] + [pair.union(*met)]
    return {name: tuple(groups) for name, groups in found.items()}

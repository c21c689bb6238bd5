# SPDX-License-Identifier: Apache-2.0
"""Joins that could forget nothing, or whose conditions make no sense (GSQL section 7)."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.binder.join_predicate import Band, Predicate, span_of
from gigastream.gsql.binder.join_tree import Branch, Tree, always_there, branches_of
from gigastream.gsql.binder.names import SourceNames
from gigastream.gsql.binder.sources import SourceItem
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Expression, Operation
from gigastream.gsql.queries import Sides
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Temporal


def refuse_spellings(statement: Statement) -> None:
    """Report a join that is written in two ways at once, or of one source."""
    body = statement.body
    joined = [item for item in body.sources if isinstance(item, ast.JoinedSource)]
    if body.join is not None and joined:
        message = f"{body.join.kind}_JOIN before FROM, and JOIN in it"
        hint = "one of the two: FROM A a LEFT JOIN B b ON …, LEFT_OUTER_JOIN FROM A a, B b WHERE …"
        statement.sink.error("two-joins", message, joined[0].span, hint)
    elif body.join is not None and len(body.sources) == 1:
        message = f"{body.join.kind}_JOIN joins two sources, and FROM names one"
        hint = f"{body.join.kind}_JOIN FROM A a, B b WHERE a.time = b.time"
        statement.sink.error("join-of-one", message, body.join.span, hint)
    _refuse_namesakes(statement)


def _refuse_namesakes(statement: Statement) -> None:
    """Report two sources of one name: no condition could tell them apart."""
    seen: dict[str, SourceItem] = {}
    for item in statement.items:
        called = item.names.shown
        first = seen.setdefault(called.lower(), item)
        if first is not item:
            message = f"two sources are called {called}"
            hint = f"give each its own name: FROM {_named(first, 'a')}, {_named(item, 'b')}"
            statement.sink.error("same-name", message, item.node.span, hint)


def _named(item: SourceItem, name: str) -> str:
    """A FROM item as it is written with this name."""
    node = item.node
    if isinstance(node, ast.UnionItem):
        return f"{' UNION '.join(map(_table, node.branches))} AS {name}"
    return f"{_table(node)} {name}"


def _table(node: ast.Table) -> str:
    return f"{node.interface}.{node.name}" if node.interface else node.name


def refuse_outsiders(statement: Statement, tree: Tree) -> None:
    """Report what is asked behind ON of a source that is not of that JOIN."""
    for branch in branches_of(tree):
        for conjunct in branch.predicate:
            outside = conjunct.ports - branch.ports
            if outside:
                shown = statement.items[min(outside)].names.shown
                message = f"{shown} stands outside of this JOIN"
                hint = "ON relates what is joined there; write the condition in WHERE"
                statement.sink.error("outside-join", message, conjunct.node.span, hint)


def refuse_unbounded(statement: Statement, branch: Branch, predicate: Predicate) -> bool:
    """Report a join whose rows would be held for ever; True if there is one."""
    if predicate.times:
        return False
    halves = list(predicate.halves)
    if halves:
        _refuse_half(statement, branch, *halves[0])
    elif predicate.opposed:
        _refuse_opposed(statement, branch, predicate.opposed)
    else:
        left, right = (_names(statement, side) for side in branch.sides)
        names = [" and ".join(n.shown for n in [*left, *right][:2])]
        if len([*left, *right]) > 2:
            shown = ", ".join(n.shown for n in left)
            names = [f"{right[-1].shown} and any of {shown}"]
        message = f"no condition relates the times of {names[0]}"
        hint = _relation(statement, branch)
        statement.sink.error("no-temporal-predicate", message, branch.span, hint)
    return True


def _relation(statement: Statement, branch: Branch) -> str:
    """What would relate the times of both sides."""
    sides = [
        [n for n in _names(statement, side) if n.index in always_there(side)]
        for side in branch.sides
    ]
    for side, found in zip(branch.sides, sides, strict=True):
        if not found:
            absent = " and ".join(n.shown for n in _names(statement, side))
            return f"{absent} may be absent: make their join a query, whose time is of both"
    ends = sides[0][0], sides[1][-1]
    for names in ends:
        if not _times_of(names):
            return f"{names.shown} has no temporal column: its query has to select one"
    a, b = map(_time_of, ends)
    return f"{a} = {b}, or a band: {a} >= {b} - 2 AND {a} <= {b} + 3"


def _refuse_half(statement: Statement, branch: Branch, sides: Sides, band: Band) -> None:
    """A band with one arm: the rows of the side that may be matched ever later stay for ever."""
    f, g = (_as_written(statement, branch, side, e) for side, e in enumerate(sides))
    has_least = band.least is not None
    rises = sides[0].temporal is Temporal.INCREASING
    held = branch.left if has_least == rises else branch.right
    missing = f"{f} >= {g} - 2" if has_least else f"{f} <= {g} + 2"
    shown = ", ".join(n.shown for n in _names(statement, held))
    message = f"the band has one arm, so its state has no bound: rows of {shown} are held for ever"
    hint = f"add the other arm: AND {missing}"
    span = span_of(band.conditions)
    statement.sink.error("one-armed-band", message, span, hint)


def _refuse_opposed(statement: Statement, branch: Branch, conditions: list[Expression]) -> None:
    words = [_names(statement, side)[0].shown for side in branch.sides]
    message = f"the times of {words[0]} and {words[1]} move apart: one increases, one decreases"
    hint = "a join relates times that move in one direction"
    statement.sink.error("no-temporal-predicate", message, span_of(conditions[:1]), hint)


def refuse_wide_bands(branch: Branch, predicate: Predicate, sink: DiagnosticSink) -> bool:
    """Report bands that are wider than what times are counted in; True if there is one."""
    wide = [band for band in predicate.bands.values() if band.is_too_wide]
    for band in wide:
        span = span_of(band.conditions) if band.conditions else branch.span
        message = "the band reaches beyond what times hold, so the state of the join has no bound"
        sink.error("wide-band", message, span, "a narrower band")
    return bool(wide)


def refuse_empty_bands(predicate: Predicate, sink: DiagnosticSink) -> None:
    """Report a band that no two times are within."""
    for band in predicate.bands.values():
        if band.is_whole and (band.least or 0) > (band.greatest or 0) and band.conditions:
            message = "no two rows are within this band: its arms exclude each other"
            sink.error("empty-band", message, span_of(band.conditions))


def refuse_void_test(
    node: ast.SyntaxExpression, condition: Expression | None, statement: Statement
) -> None:
    """Report IS NULL of what is never NULL: in Tigon's form it is asked before rows are joined."""
    if not (isinstance(node, ast.IsNull) and isinstance(condition, Operation)):
        return
    if condition.operands[0].nullable:
        return
    message = f"{node.operand.span.text} is never NULL here: it is asked before rows are joined"
    hint = "rows without a match: FROM A a LEFT JOIN B b ON … WHERE b.x IS NULL"
    statement.sink.error("void-test", message, node.span, hint)


# Names


def _names(statement: Statement, tree: Tree) -> Sequence[SourceNames]:
    return [item.names for item in statement.items if item.names.index in tree.ports]


def _time_of(names: SourceNames) -> str:
    """A temporal column of a source, for a hint."""
    return f"{names.shown}.{(_times_of(names) or ['ts'])[0]}"


def _times_of(names: SourceNames) -> list[str]:
    columns = names.everything(NOWHERE)
    return [name for name, column in columns if column.temporal.is_temporal]


def _as_written(statement: Statement, branch: Branch, side: int, e: Expression) -> str:
    return e.span.text or _time_of(_names(statement, branch.sides[side])[0])

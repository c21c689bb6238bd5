# SPDX-License-Identifier: Apache-2.0
"""FILTER_JOIN: packets that another packet of the same source came before (GSQL section 6.9).

What WHERE says of r alone is asked of r's packets, what it says of s of s's; equalities of both are
the keys. All other clauses are about r.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.gsql.binder.join_tree import conjuncts_of
from gigastream.gsql.binder.names import Scope, SourceNames
from gigastream.gsql.binder.statement import Statement
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Constant, Expression, FieldRef, Operation, ports_of
from gigastream.gsql.queries import BloomOptions, FilterJoin, ProtocolSource, Sides
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import dataclass, replace

DEFAULT_BLOOM = BloomOptions(filters=10, bits=1 << 20)
SHAPE = "FILTER_JOIN(time, 10) FROM TCP r, TCP s WHERE r.srcIP = s.srcIP"


@dataclass(frozen=True, slots=True)
class FilteredBy:
    """What lets r's packets through, before it is known which fields an s packet must have."""

    statement: Statement
    """Over r and s."""
    where: tuple[Expression, ...]
    keys: tuple[Sides, ...]
    times: Sides
    ticks: int

    def filter(self) -> FilterJoin:
        """The filter, when all names that the query uses are known."""
        build = self.statement.items[1].build
        source = None if build is None else build()
        assert isinstance(source, ProtocolSource)
        bloom = _bloom(self.statement)
        return FilterJoin(source, self.where, self.keys, self.times, self.ticks, bloom)


def is_filter_join(body: ast.SelectStatement) -> bool:
    """True of a FILTER_JOIN."""
    return body.join is not None and body.join.kind == "FILTER"


def bind_filter(statement: Statement) -> tuple[Statement, FilteredBy | None]:
    """The query over r alone, and what lets its packets through; None after errors."""
    clause = statement.body.join
    assert clause is not None
    if not statement.sources_are_known or not _reads_one_protocol(statement, clause.span):
        return statement, None
    errors = statement.sink.error_count
    _refuse_columns_of_s(statement)
    times, ticks = _times(statement, clause)
    keys, of_s, rest = _conditions(statement)
    if not keys and statement.sink.error_count == errors:
        message = "nothing of the two packets is equated: any packet would let any other through"
        statement.sink.error("unbound-key", message, clause.span, SHAPE)
    if times is None or ticks is None or statement.sink.error_count > errors:
        return statement, None
    found = FilteredBy(statement, of_s, keys, times, ticks)
    body = replace(statement.body, where=_conjunction(rest))
    columns = replace(statement.columns, sources=statement.columns.sources[:1])
    return replace(statement, body=body, items=statement.items[:1], columns=columns), found


def _bloom(statement: Statement) -> BloomOptions | None:
    options = statement.options
    if options.algorithm != "bloom":
        return None
    filters = options.num_bloom or DEFAULT_BLOOM.filters
    return BloomOptions(filters, options.bloom_size or DEFAULT_BLOOM.bits)


def _conjunction(nodes: Sequence[ast.SyntaxExpression]) -> ast.SyntaxExpression | None:
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    return ast.Logical("AND", tuple(nodes), span=nodes[0].span)


# FROM


def _reads_one_protocol(statement: Statement, span: Span) -> bool:
    tables = statement.body.sources
    read = {
        (t.name.lower(), t.interface, t.interface_set, t.host)
        for t in tables
        if isinstance(t, ast.Table)
    }
    packets = all(item.is_packets for item in statement.items)
    plain = all(isinstance(table, ast.Table) for table in tables)
    if len(tables) == 2 and len(read) == 1 and packets and plain:
        return True
    message = "a FILTER_JOIN reads the packets of one protocol on the same interfaces twice"
    statement.sink.error("wrong-source", message, span, SHAPE)
    return False


# What is said of s outside of WHERE


def _refuse_columns_of_s(statement: Statement) -> None:
    s = statement.columns.sources[1]
    for name in _names_outside_where(statement.body):
        if name.qualifier and s.is_called(name.qualifier):
            message = f"{name.name} is of a packet that lets others through, and is not among them"
            hint = f"only {statement.columns.sources[0].shown} has rows"
            statement.sink.error("misplaced-column", message, name.span, hint)


def _names_outside_where(body: ast.SelectStatement) -> Iterator[ast.Name]:
    parts: list[ast.SyntaxNode] = [*body.items, *body.group_by, *body.order_by]
    parts += [part for part in (body.window, body.having) if part is not None]
    for part in parts:
        yield from (node for node in ast.walk(part) if isinstance(node, ast.Name))


# FILTER_JOIN(time, 10)


def _times(statement: Statement, clause: ast.JoinClause) -> tuple[Sides | None, int | None]:
    assert clause.column is not None
    assert clause.ticks is not None
    sides = [_time_of(statement, clause.column, source) for source in statement.columns.sources]
    first, second = sides
    ticks = _ticks(statement, clause.ticks, first)
    times = None if first is None or second is None else (first, second)
    return times, ticks


def _time_of(statement: Statement, name: ast.Name, source: SourceNames) -> Expression | None:
    if name.qualifier and not any(
        each.answers_to(name.qualifier) for each in statement.columns.sources
    ):
        Scope(statement.columns.sources).resolve(name, statement.sink)
        return None
    is_first = source is statement.columns.sources[0]
    own = replace(name, qualifier=())
    found = Scope((source,)).resolve(own, statement.sink if is_first else _quiet())
    if found is None:
        return None
    is_time = isinstance(found, FieldRef) and found.clock != ""
    if is_time and found.temporal is Temporal.INCREASING:
        return found
    if is_first:
        message = f"{name.name} is not temporal, so a packet would be kept for ever"
        if found.temporal.is_temporal:
            message = f"{name.name} is no time since the epoch: nothing says when a window is over"
        statement.sink.error("not-temporal", message, name.span, "FILTER_JOIN(time, 5)")
    return None


def _ticks(statement: Statement, node: ast.SyntaxExpression, time: Expression | None) -> int | None:
    found = statement.binder("FILTER_JOIN", Scope(())).bind(node)
    if found is None or time is None:
        return None
    most = (time.type.limits[1] if time.type.is_integer else Type.TIMESTAMP.limits[1]) - 1
    most = min(most, Type.LLONG.limits[1] - 1)
    value = found.value if isinstance(found, Constant) else None
    is_whole = found.type.is_integer and isinstance(value, int)
    if is_whole and isinstance(value, int) and 0 <= value <= most:
        return value
    message = f"a window is a whole number of ticks of the time, from 0 to {most}"
    statement.sink.error("bad-literal", message, node.span, "FILTER_JOIN(time, 5)")
    return None


# WHERE


def _conditions(
    statement: Statement,
) -> tuple[tuple[Sides, ...], tuple[Expression, ...], list[ast.SyntaxExpression]]:
    """The keys, the conditions on s, and what is left of WHERE, which is r's."""
    keys: list[Sides] = []
    of_s: list[Expression] = []
    rest: list[ast.SyntaxExpression] = []
    binder = statement.binder("WHERE", statement.columns)
    for node in conjuncts_of(statement.body.where):
        bound = binder.condition(node)
        ports = frozenset() if bound is None else ports_of(bound)
        if bound is None or ports <= {0}:
            rest += [node] if bound is not None else []
        elif ports == {1}:
            of_s.append(bound)
        else:
            keys += _key(bound, node, statement)
    return tuple(keys), tuple(of_s), rest


def _key(bound: Expression, node: ast.SyntaxExpression, statement: Statement) -> list[Sides]:
    """What an equality of both packets equates; another condition of both is an error."""
    if isinstance(bound, Operation) and bound.operator == "=":
        left, right = bound.operands
        ports = [sorted(ports_of(side)) for side in (left, right)]
        if ports in ([[0], [1]], [[1], [0]]):
            sides = (left, right) if ports[0] == [0] else (right, left)
            return _fixed(sides, node, statement)
    message = "the two packets are related by equalities, and by the window, alone"
    statement.sink.error("not-a-key", message, node.span, SHAPE)
    return []


def _fixed(sides: Sides, node: ast.SyntaxExpression, statement: Statement) -> list[Sides]:
    if sides[0].type is not Type.STRING and not any(side.nullable for side in sides):
        return [sides]
    message = "a key of a FILTER_JOIN has a fixed size and a value: no string, nothing that is NULL"
    statement.sink.error("wrong-type", message, node.span, "string_hash(r.x) = string_hash(s.x)")
    return []


def _quiet() -> DiagnosticSink:
    """What is said of r's time is not said of s's again."""
    return DiagnosticSink()

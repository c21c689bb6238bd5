# SPDX-License-Identifier: Apache-2.0
"""What the parser makes of GSQL: immutable nodes, each with the place it came from.

Nodes say what was written, never what it means: names are unresolved and nothing has a type.
Equality ignores places, so that two spellings of one query compare equal.

Reading order: expressions; the FROM clause; query bodies; queries.
The nodes of definition files are in declarations.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from gigastream.gsql.source import NOWHERE, Span
from gigastream.late_dataclass import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    """The root of all nodes: it has a place."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class SyntaxExpression(SyntaxNode):
    """A value or a condition; GSQL draws no line between them before types are known."""


@dataclass(frozen=True, slots=True)
class Broken(SyntaxExpression):
    """What could not be read, and was reported; no further message about it is wanted.

    Only in what the parser returns when it is asked to keep broken queries.
    """


@dataclass(frozen=True, slots=True)
class TypeName(SyntaxNode):
    """The name of a type, as written: `uint`, `IP`, or a storage such as `fstring12`."""

    name: str


# Expressions (GSQL.md §3, §4) -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal(SyntaxExpression):
    """A constant. The kind says how it was written; the value's Python type follows from it.

    | kind | written | value |
    |---|---|---|
    | `int` | `35` | int, 0 … 2^64-1 |
    | `uint`, `ullong` | `35UL`, `35ULL` | int |
    | `hex`, `lhex` | `HEX'7fff'` (32 bits), `LHEX'…'` (64 bits) | int |
    | `float` | `1.5`, `1e3` | float |
    | `bool`, `null` | `TRUE`, `NULL` | bool, None |
    | `string` | `'it''s'` | str |
    | `ip`, `ipv6` | `IP_VAL'1.2.3.4'`, `IPV6_VAL'2001:db8::1'` | int, of 32 or 128 bits |
    | `ip_prefix`, `ipv6_prefix` | `IP_VAL'10.0.0.0/8'` | (address: int, length: int) |
    """

    kind: str
    value: int | float | bool | str | tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Name(SyntaxExpression):
    """A column or group variable: `col`, `alias.col`, `iface.Table.col`."""

    qualifier: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Star(SyntaxExpression):
    """`*` or `a.*` in a SELECT list; the star of `count(*)` is a flag of Call."""

    qualifier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter(SyntaxExpression):
    """`$name`: a parameter of the query."""

    name: str


@dataclass(frozen=True, slots=True)
class Define(SyntaxExpression):
    """`#name`: a string constant of the DEFINE block."""

    name: str


@dataclass(frozen=True, slots=True)
class InterfaceProperty(SyntaxExpression):
    """`@name` or `source.@name`: a property of the interface that a tuple came from."""

    name: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Unary(SyntaxExpression):
    """`-x`, `~x`, `!x` or `NOT x`. `x NOT IN …` is read as `NOT x IN …`, and so on."""

    op: str
    operand: SyntaxExpression


@dataclass(frozen=True, slots=True)
class Binary(SyntaxExpression):
    """Arithmetic: one of `+ - * / % & | << >>`, and `^` (between `|` and `&`)."""

    op: str
    left: SyntaxExpression
    right: SyntaxExpression


@dataclass(frozen=True, slots=True)
class Comparison(SyntaxExpression):
    """One of `= <> < <= > >=`; `!=` is read as `<>`."""

    op: str
    left: SyntaxExpression
    right: SyntaxExpression


@dataclass(frozen=True, slots=True)
class Logical(SyntaxExpression):
    """`AND` or `OR` of two or more conditions, as flat as it was written."""

    op: str
    operands: tuple[SyntaxExpression, ...]


@dataclass(frozen=True, slots=True)
class InList(SyntaxExpression):
    """`x IN [a, b, …]`: the items are literals, their negatives, parameters or defines."""

    operand: SyntaxExpression
    items: tuple[SyntaxExpression, ...]


@dataclass(frozen=True, slots=True)
class InPrefix(SyntaxExpression):
    """`x IN IP_VAL'10.0.0.0/8'`: the prefix is a prefix literal, a parameter or a define."""

    operand: SyntaxExpression
    prefix: SyntaxExpression


@dataclass(frozen=True, slots=True)
class Between(SyntaxExpression):
    """`x BETWEEN low AND high`, both ends included."""

    operand: SyntaxExpression
    low: SyntaxExpression
    high: SyntaxExpression


@dataclass(frozen=True, slots=True)
class IsNull(SyntaxExpression):
    """`x IS NULL`."""

    operand: SyntaxExpression


@dataclass(frozen=True, slots=True)
class PatternTest(SyntaxExpression):
    """`x LIKE pattern`, `ILIKE`, or `x ~ pattern`; `x !~ p` is read as `NOT x ~ p`."""

    op: str
    operand: SyntaxExpression
    pattern: SyntaxExpression
    escape: SyntaxExpression | None = None
    """Behind ESCAPE, of LIKE and ILIKE."""


@dataclass(frozen=True, slots=True)
class When(SyntaxNode):
    """One arm of a CASE."""

    condition: SyntaxExpression
    result: SyntaxExpression


@dataclass(frozen=True, slots=True)
class CaseExpression(SyntaxExpression):
    """`CASE WHEN … THEN … ELSE … END`; `CASE x WHEN v …` is read as `WHEN x = v`."""

    whens: tuple[When, ...]
    default: SyntaxExpression | None = None


@dataclass(frozen=True, slots=True)
class CastExpression(SyntaxExpression):
    """`CAST(x AS type)`."""

    operand: SyntaxExpression
    type: TypeName


@dataclass(frozen=True, slots=True)
class Call(SyntaxExpression):
    """`f(args)`, `count(*)`, `count(DISTINCT x)`, and `f$(args)`, a superaggregate.

    `filter` is the condition of `count(*) FILTER (WHERE p)`.

    Functions, aggregates, UDAFs and stateful functions look alike; the binder tells them apart.
    """

    name: str
    args: tuple[SyntaxExpression, ...] = ()
    star: bool = False
    distinct: bool = False
    superaggregate: bool = False
    filter: SyntaxExpression | None = None
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PredicateCall(SyntaxExpression):
    """`p[args]`: a predicate function."""

    name: str
    args: tuple[SyntaxExpression, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


# Windows and the FROM clause (GSQL.md §6 items 3, 7, 8 and the last lines) -----------------------


@dataclass(frozen=True, slots=True)
class Duration(SyntaxNode):
    """A length of a window. The unit is `ms`, `s`, `min`, `hour`, `day`, `rows` or None.

    Other spellings (`sec`, `minutes`) are read as these; None is the attribute's own unit.
    """

    value: int
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Window(SyntaxNode):
    """`[RANGE 5 min, SLIDE 1 min, WA ts]`, its parts in any order."""

    range: Duration | None = None
    slide: Duration | None = None
    attribute: Name | None = None


@dataclass(frozen=True, slots=True)
class FromItem(SyntaxNode):
    """Something that a query reads."""


@dataclass(frozen=True, slots=True)
class Table(FromItem):
    """A protocol, stream, query or list by its name, over an interface or a set of them.

    `P`; `iface.P` (an interface, or a set without brackets: the binder looks it up);
    `'host'.iface.P` or `host.iface.P`; `[set].P`; `lib/query`, whose name keeps its slashes.
    """

    name: str
    interface: str | None = None
    interface_set: str | None = None
    host: str | None = None
    alias: str | None = None
    window: Window | None = None
    is_file: bool = False
    """The name is a file's, in quotes: a watchlist."""
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)
    interface_span: Span = field(default=NOWHERE, compare=False, repr=False)
    alias_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UnionItem(FromItem):
    """`A UNION B AS M`: the alias and the window belong to the whole union."""

    branches: tuple[Table, ...]
    alias: str | None = None
    window: Window | None = None
    alias_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class JoinedSource(FromItem):
    """`A a LEFT JOIN B b ON p`; the kind is `INNER`, `LEFT_OUTER`, `RIGHT_OUTER` or `OUTER`.

    Without ON the condition is None and stands in WHERE, as TigonSQL writes it.
    """

    kind: str
    left: FromItem
    right: FromItem
    condition: SyntaxExpression | None = None


# Query bodies (GSQL.md §6) ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SelectItem(SyntaxNode):
    """`e [AS n]`."""

    expression: SyntaxExpression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class GroupItem(SyntaxNode):
    """`g [AS n]`."""

    expression: SyntaxExpression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Cube(SyntaxNode):
    """`CUBE(g, …)`."""

    items: tuple[GroupItem, ...]


@dataclass(frozen=True, slots=True)
class Rollup(SyntaxNode):
    """`ROLLUP(g, …)`."""

    items: tuple[GroupItem, ...]


@dataclass(frozen=True, slots=True)
class GroupingSets(SyntaxNode):
    """`GROUPING_SETS((g, …), …)`."""

    sets: tuple[tuple[GroupItem, ...], ...]


GroupElement = GroupItem | Cube | Rollup | GroupingSets


@dataclass(frozen=True, slots=True)
class OrderItem(SyntaxNode):
    """`e [ASC|DESC]`."""

    expression: SyntaxExpression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class JoinClause(SyntaxNode):
    """What stands before FROM, and makes its list a join.

    The kind is `INNER`, `LEFT_OUTER`, `RIGHT_OUTER`, `OUTER`, `FILTER` or `WATCHLIST`; only
    `FILTER_JOIN(column, ticks)` has the two other fields.
    """

    kind: str
    column: Name | None = None
    ticks: SyntaxExpression | None = None


@dataclass(frozen=True, slots=True)
class LimitClause(SyntaxNode):
    """`LIMIT k [PER g, …]`."""

    count: SyntaxExpression
    per: tuple[SyntaxExpression, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectStatement(SyntaxNode):
    """A SELECT: selection, aggregation, sampling, every join but MERGE.

    `window` windows the whole query. It is written behind the SELECT list, or behind a FROM list
    (one of several items is windowed by a bracket without SLIDE; a bracket with SLIDE behind the
    last of several is the query's). The bracket of the only FROM item, and that of a FILTER_JOIN or
    WATCHLIST_JOIN, is always put here: a Table's or UnionItem's own is of several items or a JOIN.
    """

    items: tuple[SelectItem, ...]
    sources: tuple[FromItem, ...]
    distinct: bool = False
    join: JoinClause | None = None
    window: Window | None = None
    where: SyntaxExpression | None = None
    group_by: tuple[GroupElement, ...] = ()
    supergroup: tuple[Name, ...] = ()
    having: SyntaxExpression | None = None
    cleaning_when: SyntaxExpression | None = None
    cleaning_by: SyntaxExpression | None = None
    closing_when: SyntaxExpression | None = None
    order_by: tuple[OrderItem, ...] = ()
    limit: LimitClause | None = None


@dataclass(frozen=True, slots=True)
class MergeStatement(SyntaxNode):
    """`MERGE a.t : b.t [: c.t …] [SLACK n] FROM A a, B b, …`."""

    columns: tuple[Name, ...]
    sources: tuple[FromItem, ...]
    slack: SyntaxExpression | None = None


# Queries (GSQL.md §1) -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ParameterDeclaration(SyntaxNode):
    """`name type [literal];` in a PARAM block; a signed number is Unary('-', Literal)."""

    name: str
    type: TypeName
    default: SyntaxExpression | None = None


@dataclass(frozen=True, slots=True)
class DefineEntry(SyntaxNode):
    """`option value;` in a DEFINE block: an option that GSQL.md §1 names, or a constant `#name`.

    The value is a text whether it was quoted or not; an on/off option without one is `true`.
    """

    name: str
    value: str
    value_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CommonTable(SyntaxNode):
    """`name AS (query)` behind WITH: a query that the one behind it, and later ones, can read."""

    name: str
    body: SelectStatement | MergeStatement
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Query(SyntaxNode):
    """One query. The name comes from `query_name`, or for a file's first one from the file."""

    name: str
    body: SelectStatement | MergeStatement
    parameters: tuple[ParameterDeclaration, ...] = ()
    defines: tuple[DefineEntry, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)
    tables: tuple[CommonTable, ...] = ()
    """Those of its WITH."""

    def option(self, name: str) -> DefineEntry | None:
        """Return the DEFINE entry of that name (any case), or None."""
        wanted = name.lower()
        return next((entry for entry in self.defines if entry.name.lower() == wanted), None)


# Walking ------------------------------------------------------------------------------------------


def children(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the nodes directly below a node, in the order written in its class."""
    kind: Any = type(node)
    for name in _names_below(kind):
        value = getattr(node, name)
        if isinstance(value, SyntaxNode):
            yield value
        elif isinstance(value, tuple):
            yield from _nodes_in(value)


@cache
def _names_below(kind: Any) -> tuple[str, ...]:
    """Return the fields of a class that may hold nodes."""
    return tuple(item.name for item in fields(kind) if not item.name.endswith("span"))


def _nodes_in(parts: tuple[object, ...]) -> Iterator[SyntaxNode]:
    for part in parts:
        if isinstance(part, SyntaxNode):
            yield part
        elif isinstance(part, tuple):
            yield from _nodes_in(part)


def walk(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield a node and all below it, parents first, left to right."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(tuple(children(current))))

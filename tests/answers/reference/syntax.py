# SPDX-License-Identifier: Apache-2.0
"""What a query's text says, as a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Literal:
    """A constant; of type `number` a whole number without a suffix, of `null` NULL."""

    type: str
    value: object


@dataclass(frozen=True)
class Prefix:
    """`IP_VAL'10.0.0.0/8'`: an address (int, or 16 bytes) and the bits of it that count."""

    address: int | bytes
    bits: int


@dataclass(frozen=True)
class Name:
    """A column, perhaps `qualifier.name`."""

    name: str
    qualifier: str = ""


@dataclass(frozen=True)
class Parameter:
    """`$name` or `#name`."""

    name: str


@dataclass(frozen=True)
class Operation:
    """An operator and its operands: arithmetic, comparisons, AND, OR, NOT, IS NULL."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Membership:
    """`x IN [a, b]`, or `x IN prefix`."""

    operand: Node
    values: tuple[Node, ...]


@dataclass(frozen=True)
class Case:
    """`CASE WHEN … THEN … ELSE … END`; without ELSE the last is NULL."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node


@dataclass(frozen=True)
class Cast:
    """`CAST(x AS type)`."""

    operand: Node
    type: str


@dataclass(frozen=True)
class Call:
    """`f(x, y)`, `p[x, y]`, `count(*)`, an aggregate's FILTER; the name is in lower case."""

    name: str
    arguments: tuple[Node, ...]
    filter: Node | None = None
    distinct: bool = False


Node = Literal | Prefix | Name | Parameter | Operation | Membership | Case | Cast | Call


def parts_of(node: object) -> Iterator[Node]:
    """A tree's nodes."""
    if isinstance(node, tuple):
        for part in node:
            yield from parts_of(part)
    elif isinstance(node, Node):
        yield node
        for part in vars(node).values():
            yield from parts_of(part)


def names_of(node: Node) -> set[str]:
    """The names in it that have no qualifier."""
    return {part.name for part in parts_of(node) if isinstance(part, Name) and not part.qualifier}


@dataclass(frozen=True)
class Item:
    """An expression and the name behind AS, or its own if it is a column's."""

    expression: Node
    name: str = ""


def names_shown(items: Sequence[Item]) -> list[str]:
    """The names of columns: of a join's `a.ts, b.ts` they are a_ts and b_ts."""
    counts = Counter(item.name.lower() for item in items)
    return [item.name if counts[item.name.lower()] == 1 else _qualified(item) for item in items]


def _qualified(item: Item) -> str:
    own = item.expression
    if isinstance(own, Name) and own.qualifier and own.name == item.name:
        return f"{own.qualifier}_{own.name}"
    return item.name


@dataclass(frozen=True)
class Table:
    """`interface.P`, `P`, or a query's name."""

    name: str
    interface: str = ""


@dataclass(frozen=True)
class Length:
    """A length of a window: nanoseconds, `rows`, or, without a unit, the attribute's own."""

    value: int
    unit: str = ""


@dataclass(frozen=True)
class Window:
    """`[RANGE 5 min, SLIDE 1 min, WA ts]`, as much of it as is written."""

    range: Length | None = None
    slide: Length | None = None
    attribute: Name | None = None


@dataclass(frozen=True)
class Input:
    """One source between the commas of FROM: a table, or a UNION of several."""

    tables: tuple[Table, ...]
    alias: str = ""
    window: Window | None = None


@dataclass(frozen=True)
class Join:
    """Two sources; kinds are INNER, LEFT_OUTER, RIGHT_OUTER and OUTER.

    Without a condition of its own (behind ON), WHERE has it, as in Tigon's form and behind commas.
    """

    kind: str
    left: From
    right: From
    condition: Node | None = None


From = Input | Join


def inputs_of(tree: From) -> list[Input]:
    """The sources of a FROM clause, as they are written."""
    if isinstance(tree, Input):
        return [tree]
    return [*inputs_of(tree.left), *inputs_of(tree.right)]


def conjuncts_of(condition: Node | None) -> list[Node]:
    """What AND joins on the outside of a condition."""
    if condition is None:
        return []
    if isinstance(condition, Operation) and condition.operator == "AND":
        return [part for operand in condition.operands for part in conjuncts_of(operand)]
    return [condition]


@dataclass(frozen=True)
class OrderItem:
    """A sort key."""

    expression: Node
    descending: bool


@dataclass
class Query:
    """One query; an empty `items` is `SELECT *`. Of a MERGE, `merged` are its columns."""

    options: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Literal] = field(default_factory=dict)
    distinct: bool = False
    items: list[Item] = field(default_factory=list)
    source: From = field(default_factory=lambda: Input(()))
    window: Window | None = None
    merged: list[Name] = field(default_factory=list)
    filtered: tuple[Name, int] | None = None
    """Of a FILTER_JOIN: its column and its ticks."""
    listed: bool = False
    """Whether it is a WATCHLIST_JOIN."""
    where: Node | None = None
    group_by: list[Item] = field(default_factory=list)
    """Every group variable once."""
    sets: list[frozenset[int]] = field(default_factory=list)
    """The grouping sets, as places in `group_by`; none where there is no CUBE or its like."""
    having: Node | None = None
    closing_when: Node | None = None
    supergroup: list[str] = field(default_factory=list)
    cleaning_when: Node | None = None
    cleaning_by: Node | None = None
    order_by: list[OrderItem] = field(default_factory=list)
    limit: int | None = None
    per: list[Node] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """All that it reads."""
        return [table for item in inputs_of(self.source) for table in item.tables]

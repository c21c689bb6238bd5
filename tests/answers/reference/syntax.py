# SPDX-License-Identifier: Apache-2.0
"""What a query's text says, as a tree."""

from __future__ import annotations

from collections.abc import Iterator
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
    """`f(x, y)`, `p[x, y]` or `count(*)`; the name is in lower case."""

    name: str
    arguments: tuple[Node, ...]


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


@dataclass(frozen=True)
class Table:
    """`interface.P`, `P`, or a query's name."""

    name: str
    interface: str = ""
    alias: str = ""


@dataclass(frozen=True)
class OrderItem:
    """A sort key."""

    expression: Node
    descending: bool


@dataclass
class Query:
    """One query; an empty `items` is `SELECT *`."""

    options: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Literal] = field(default_factory=dict)
    distinct: bool = False
    items: list[Item] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    where: Node | None = None
    group_by: list[Item] = field(default_factory=list)
    having: Node | None = None
    order_by: list[OrderItem] = field(default_factory=list)
    limit: int | None = None

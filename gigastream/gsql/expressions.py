# SPDX-License-Identifier: Apache-2.0
"""Checked expressions: every node knows its type, its temporal type and whether it may be NULL.

The binder makes them from the syntax tree; the planner moves and rewrites them; the back ends
(C, Spark) turn them into code. All names are resolved, all parameters and defines are constants,
all implicit conversions are explicit `Cast` nodes, and the operands of an operation have the
operation's operand type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gigastream.gsql.python_code import PythonCode
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.types import Column, Temporal, Type
from gigastream.gsql.watchlists import Watchlist
from gigastream.late_dataclass import dataclass, field, replace

INTERFACE_NAME = "@interface_name"
"""The accessor of the interface's own name, whatever a pcapng file calls it; likewise unnamed."""
ROW_NUMBER = "@row_number"
"""The accessor of a tuple's number among those of the protocol, which no query can name."""

ConstantValue = bool | int | float | bytes
"""IP: the address, an int in host order; IPV6, INET: 16 bytes; TIMESTAMP: ns; STRING: bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """Base of all checked expressions."""

    type: Type
    temporal: Temporal = Temporal.VARYING
    nullable: bool = False
    span: Span = field(compare=False)
    """Two expressions are equal wherever they stand."""
    is_chosen: bool = field(default=False, compare=False)
    """What is left of a CASE that constants or ranges decide: a column's values, not the column."""

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same node over other children (same number, same types)."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Expression):
    """A literal, parameter or define; `value` is None for NULL."""

    value: ConstantValue | None
    name: str = ""
    """`$name` or `#name` where it came from, for printing."""
    flexible: bool = False
    """A whole number written without a suffix: it takes the type of what it meets, if it fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRef(Expression):
    """A field of a packet protocol: only below the low level's border."""

    protocol: str
    """The protocol whose block declares the field."""
    field: str
    """The declared name (aliases resolved)."""
    accessor: str
    """Of the C function gs_field_<accessor>; of an address by type: srcIP_ip, …_ipv6, …_inet."""
    cost: int = 1
    port: int = 0
    """Index of the FROM item, and of the operator's input that has it."""
    clock: str = ""
    """`s`, `ms`, `us` or `ns`: a temporal field that counts time since the epoch."""
    is_optional: bool = False
    """Of `*`, which names no field: NULL in a packet that lacks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRef(Expression):
    """Column `index` of the stream that comes in at `port`."""

    index: int
    name: str
    port: int = 0

    @classmethod
    def to(cls, column: Column, index: int, *, port: int = 0, span: Span = NOWHERE) -> ColumnRef:
        """What reads this column as it comes in."""
        return cls(
            type=column.type,
            temporal=column.temporal,
            nullable=column.nullable,
            index=index,
            name=column.name,
            port=port,
            span=span,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRef(Expression):
    """Group variable `index` of the enclosing aggregation."""

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateRef(Expression):
    """Aggregate `index` of the enclosing aggregation."""

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuperaggregateRef(Expression):
    """Superaggregate `index` of the enclosing sampling query, of the supergroup at hand."""

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SupergroupState(Expression):
    """The state of this name of the supergroup at hand: what a stateful function is given first."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Expression):
    """An operator of GSQL section 4.

    `operator` is one of: + - * / % & | ^ << >> (arithmetic; operands are cast to `operand_type`),
    // (a quotient rounded down: of windows, no query can write it), neg ~ (unary),
    = <> < <= > >= (comparison, operands of one type), AND OR NOT, IS_NULL (unary),
    IS_PREFIX (address, Constant address; `prefix_length`), IN (x, constants…),
    COALESCE NULLIF GREATEST LEAST (of one type; no operand twice, whatever they nest).
    The right operand of << and >> is an ullong; the left one has the result's type.
    """

    operator: str
    operands: tuple[Expression, ...]
    prefix_length: int = 0
    checked: bool = False
    """The result can leave the type: the generated code checks, and the tuple has no value then."""

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, operands=children)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(Expression):
    """Conversion of `operand` to `type`; `checked` where a value may not fit (no value then)."""

    operand: Expression
    checked: bool = False

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, operand=children[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Expression):
    """CASE WHEN … THEN … ELSE … END, and IF(b, x, y): `branches` of (condition, value)."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*(e for branch in self.branches for e in branch), self.otherwise)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        pairs = tuple(zip(children[0:-1:2], children[1:-1:2], strict=True))
        return replace(self, branches=pairs, otherwise=children[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall(Expression):
    """A scalar function or predicate of a definition file."""

    name: str
    symbol: str
    """C symbol: gs_function_<name>_<types> or gs_predicate_<name>_<types>."""
    arguments: tuple[Expression, ...]
    handle: int | None = None
    """Index of the HANDLE argument (a Constant), or None."""
    partial: bool = False
    lfta_legal: bool = False
    hfta_legal: bool = True
    cost: int = 10
    header: str = ""
    """C header of a user's function; empty for one of configs/functions.gsql."""
    include: str = ""
    """Header of csrc/abi that holds one of configs/functions.gsql."""

    @property
    def handle_symbol(self) -> str:
        """The symbol of which gs_handle_…_new makes the handle."""
        return self.symbol

    @property
    def may_be_infinite(self) -> bool:
        """True for somebody's own function of floats: an infinity and NaN are no value."""
        return bool(self.header) and self.type is Type.FLOAT

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, arguments=children)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFunction(FunctionCall):
    """The C functions of a UDAF, whose names begin with `symbol`, or an extractor of its state.

    `arguments` are constants alone, those that each of the functions is given.
    """

    state: Type
    """fstringN, or one value."""
    prepared_by: str = ""
    """The symbol whose functions make its handle: that of the UDAF in the query."""

    @property
    def handle_symbol(self) -> str:
        return self.prepared_by


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall(FunctionCall):
    """A function in Python over the arrays of a batch: what a PythonMap is made of."""

    takes_null: tuple[bool, ...]
    """By argument: rows whose value is NULL are given to it, too."""
    may_be_null: bool
    """A NULL that it gives is one; else it is no value."""
    ends: bool
    """An exception ends the query; else rows of which it raises one have no value."""
    code: PythonCode = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonRow(PythonCall):
    """The arguments of an aggregate in Python, of a row, as the bytes that its group keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonAggregateCall(PythonCall):
    """An aggregate in Python, whose argument is what a group has kept of its rows."""

    row_types: tuple[Type, ...]
    """Of the function's arguments."""
    rows_take_null: tuple[bool, ...]
    most_bytes: int
    """Of rows that a group keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonResult(Expression):
    """What a function in Python has made of a row: a column, where another says that it has."""

    value: Expression
    given: Expression
    text: str
    """The call, for printing."""

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value, self.given)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, value=children[0], given=children[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class ListValue(Expression):
    """A column of the row of a watchlist that `keys` match; a packet that matches none is rejected.

    Only below the border, as a field is.
    """

    watchlist: Watchlist
    keys: tuple[Expression, ...]
    """One for each key column of the list, in their order."""
    column: int | None = None
    """None: whether there is such a row."""
    name: str = ""

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.keys

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, keys=children)


def is_of_supergroup(expression: Expression) -> bool:
    """Whether it asks what a supergroup keeps, and so depends on the rows before."""
    return any(isinstance(e, SupergroupState | SuperaggregateRef) for e in walk(expression))


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all below it, parents first."""
    yield expression
    for child in expression.children:
        yield from walk(child)


def ports_of(expression: Expression) -> frozenset[int]:
    """The inputs that an expression reads."""
    reads = (node for node in walk(expression) if isinstance(node, FieldRef | ColumnRef))
    return frozenset(leaf.port for leaf in reads)


def may_have_no_value(expression: Expression) -> bool:
    """True where a row may be dropped for it."""
    return any(map(_may_have_none, walk(expression)))


def _may_have_none(node: Expression) -> bool:
    if isinstance(node, FunctionCall):
        return node.partial or node.may_be_infinite
    if isinstance(node, PythonResult):
        return True
    return isinstance(node, Operation | Cast) and node.checked


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """`expression` with `change` applied to every node, children first."""
    children = expression.children
    new = tuple(rewrite(child, change) for child in children)
    if any(a is not b for a, b in zip(children, new, strict=True)):
        expression = expression.with_children(new)
    return change(expression)

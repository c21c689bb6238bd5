# SPDX-License-Identifier: Apache-2.0
"""Order inference (GSQL section 5): how an expression moves as the stream goes on.

`temporal_of` gives the temporal type, `monotone` the function that carries a bound of punctuation
through the expression, with its inverse. Both follow one table of rules (order_rules.py).

Bounds are of values that rise: a decreasing input, or a decreasing result, is held as its negative
(OPERATORS section 1).

Sound for wrap-around: an expression whose value leaves its type has no value, and its tuple is
dropped, so that the functions may be those of unlimited whole numbers. `time` alone wraps (GSQL
section 8), in February 2106: its bound never exceeds 2^32-1, and a packet from after that day comes
too late for its window; captures of then are asked about with `timestamp`.
Bounds are whole numbers: expressions of type float are varying.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gigastream.gsql.expressions import (
    Cast,
    ColumnRef,
    Constant,
    Expression,
    FieldRef,
    GroupRef,
    Operation,
)
from gigastream.gsql.order import bounds
from gigastream.gsql.order.functions import (
    BoundFunction,
    Declare,
    Leaf,
    Parts,
    Stepped,
    inverse_of,
    inverse_text,
)
from gigastream.gsql.order.rules import rule_of
from gigastream.gsql.stream_names import is_of_stream
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import dataclass

RECORD = "PKT"
"""The protocol whose clocks are the packet's own time. One that a packet carries in its bytes may
stand behind it, so that the packet's time promises nothing about it."""

NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds in a tick of a field's clock."""


@dataclass(frozen=True, slots=True)
class Input:
    """A temporal column, field or group variable that a monotone expression reads."""

    name: str
    temporal: Temporal
    port: int = 0
    """Input of the operator that has it."""
    index: int = -1
    """Position of the column or group variable; -1 for a packet's field."""
    clock: str = ""
    """`s`, `ms`, `us` or `ns` where it is the packet's time in that unit."""
    type: Type = Type.ULLONG


TIMESTAMP = Input("timestamp", Temporal.INCREASING, clock="ns", type=Type.TIMESTAMP)
"""The packet's time in ns since the epoch: what every clock of the low level is a function of."""


@dataclass(frozen=True, slots=True)
class Monotone:
    """An expression that never goes back, as a function of the bounds of what it reads."""

    temporal: Temporal
    """Of the result; the bounds of a decreasing one are of its negative."""
    inputs: tuple[Input, ...]
    function: BoundFunction
    """The parts that it is computed by (functions.py)."""

    def forward(self, *given: int) -> int:
        """The bound of the expression, given that of each input."""
        if len(given) != len(self.inputs):
            raise ValueError(f"{len(self.inputs)} bounds are wanted, not {len(given)}")
        return self.function.forward(given)

    def inverse(self, value: int) -> int:
        """The least bound b of the only input with forward(b) >= value.

        NONE where every bound has it, END where only the end of the stream does. With several
        inputs no bound of one of them is enough: ValueError.
        """
        if len(self.inputs) != 1:
            raise ValueError("an expression of several inputs has no inverse")
        return inverse_of(self.function, value)

    @property
    def is_identity(self) -> bool:
        """True if it is its only input, unchanged."""
        return self.function.is_identity

    def c_forward(self, names: Sequence[str], declare: Declare) -> str:
        """`forward` as a C expression of gs_bounds.h over these gs_bound variables.

        What is long and wanted more than once goes to `declare`, which names it.
        """
        return self.function.c(names, declare)

    @property
    def forward_text(self) -> str:
        """`b -> b/60`; with several inputs `(time, ts) -> time + ts`."""
        names = self._names()
        head = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"{head} -> {self.function.text(names)}"

    @property
    def inverse_text(self) -> str:
        """`v -> 60*v`, as it is for v > 0; empty with several inputs."""
        text = inverse_text(self.function, "v") if len(self.inputs) == 1 else None
        return "" if text is None else f"v -> {text}"

    def over_timestamp(self) -> Monotone | None:
        """The same as a function of the packet's time in ns; None if an input has no clock."""
        clocks = [_clock(item) for item in self.inputs]
        known = [clock for clock in clocks if clock is not None]
        return self.of(known) if len(known) == len(clocks) else None

    def of(self, functions: Sequence[Monotone]) -> Monotone:
        """The same over other functions, one for each of this one's inputs."""
        if len(functions) == 1:
            (inner,) = functions
            return Monotone(self.temporal, inner.inputs, self.function.over(inner.function))
        inputs = tuple(dict.fromkeys(item for function in functions for item in function.inputs))
        parts = Parts()
        leaves = [function.placed(parts, inputs) for function in functions]
        parts.place(self.function, leaves)
        return Monotone(self.temporal, inputs, parts.function())

    def placed(self, parts: Parts, inputs: Sequence[Input]) -> int:
        """Its number among the parts of a function of these inputs."""
        return parts.place(self.function, [parts.add(Leaf(inputs.index(i))) for i in self.inputs])

    @property
    def input_names(self) -> list[str]:
        """What it reads, with its port, as S0.time, where that is not of one alone."""
        is_of_one = len({item.port for item in self.inputs}) == 1
        return [item.name if is_of_one else f"S{item.port}.{item.name}" for item in self.inputs]

    def _names(self) -> list[str]:
        return ["b"] if len(self.inputs) == 1 else self.input_names


def distinct(functions: Iterable[Monotone]) -> tuple[Monotone, ...]:
    """Each function once, in order."""
    found = tuple(functions)
    return tuple(dict.fromkeys(found)) if len(found) > 1 else found


def _clock(item: Input) -> Monotone | None:
    """A clock's value as a function of the timestamp: whole ticks, at most what the type holds."""
    if item.clock not in NANOSECONDS or item.temporal is not Temporal.INCREASING:
        return None
    ticks, greatest = NANOSECONDS[item.clock], item.type.limits[1]
    parts = Parts()
    number = parts.add(Leaf(0))
    if ticks > 1:
        number = parts.add(Stepped(bounds.FloorDivide(ticks), number))
    if (bounds.END - 1) // ticks > greatest:
        parts.add(Stepped(bounds.AtMost(greatest), number))
    return Monotone(Temporal.INCREASING, (TIMESTAMP,), parts.function())


def temporal_of(expression: Expression) -> Temporal:
    """The temporal type of a node whose operands have theirs."""
    if isinstance(expression, Constant):
        return Temporal.CONSTANT
    if not expression.children:
        return expression.temporal
    if _is_constant(expression):
        return Temporal.CONSTANT
    rule = rule_of(expression)
    return Temporal.VARYING if rule is None else rule.temporal


def monotone(expression: Expression) -> Monotone | None:
    """The function that carries bounds through an expression; None if it is not temporal."""
    if not expression.temporal.is_temporal:
        return None
    inputs: list[Input] = []
    parts = Parts()
    _number(expression, inputs, parts)
    return Monotone(expression.temporal, tuple(inputs), parts.function())


def _number(expression: Expression, inputs: list[Input], parts: Parts) -> int:
    """The number of the part that an expression is."""
    rule = rule_of(expression)
    if rule is not None:
        return rule.add(parts, *[_number(operand, inputs, parts) for operand in rule.operands])
    item = _input(expression)
    if item not in inputs:
        inputs.append(item)
    return parts.add(Leaf(inputs.index(item)))


def _input(leaf: Expression) -> Input:
    if isinstance(leaf, FieldRef):
        clock = leaf.clock if leaf.protocol == RECORD or is_of_stream(leaf.protocol) else ""
        return Input(leaf.field, leaf.temporal, leaf.port, -1, clock, leaf.type)
    if isinstance(leaf, ColumnRef):
        return Input(leaf.name, leaf.temporal, leaf.port, leaf.index, "", leaf.type)
    if isinstance(leaf, GroupRef):
        return Input(leaf.name, leaf.temporal, 0, leaf.index, "", leaf.type)
    raise TypeError(f"{type(leaf).__name__} is no temporal leaf")


def _is_constant(expression: Expression) -> bool:
    if not isinstance(expression, Operation | Cast):
        return False
    return all(child.temporal is Temporal.CONSTANT for child in expression.children)

# SPDX-License-Identifier: Apache-2.0
"""The plan: what flows where, below and above the border between the low and the high level.

Nodes are frozen and refer to their inputs, so that a plan is a graph without cycles whose shared
queries are shared nodes. Each has the schema of what it puts out, knows how punctuation on its
inputs becomes punctuation on its output (`bounds`), and whether each temporal column is ordered or
only progressing (OPERATORS section 1). There are two back ends: generated C, and Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gigastream.gsql.expressions import Expression
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.queries import GroupVariable, OutputColumn, ProtocolSource
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.types import Order, Schema, Type


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A part of an aggregate that can be kept below the border and completed above it."""

    kind: str
    """A key of gigastream.plan.accumulators.KINDS."""
    argument: Expression | None
    type: Type
    """Of the argument; ULLONG for a count."""
    position: tuple[Expression, ...] = ()
    """FIRST, LAST: (timestamp, interface, position in the source) of a row."""


@dataclass(frozen=True, slots=True)
class Final:
    """How an aggregate's value is made of its accumulators."""

    kind: str
    """value, average, variance or deviation."""
    accumulators: tuple[int, ...]
    type: Type
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Base of all nodes.

    `name` is unique in the plan, but that an Output is named as its query, whose top node it reads.
    """

    name: str
    schema: Schema
    order: tuple[Order | None, ...] = ()
    """For each column of the schema; None where it is not temporal."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        """For each output column, the function that carries the inputs' bounds to it."""
        return tuple(None for _ in self.schema.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class LowNode(Node):
    """An LFTA: selection or partial aggregation over the packets of a protocol."""

    source: ProtocolSource
    predicates: tuple[Expression, ...]
    """Conjuncts of WHERE that are evaluated here, cheapest first."""
    signature: tuple[int, ...] = ()
    """Those of the plan's prefilter that a packet must pass before the LFTA sees it."""
    needs: tuple[Monotone, ...] = ()
    """What the consumers look at, over the packet's timestamp: a change is worth a punctuation."""
    options: dict[str, str] = field(default_factory=dict, hash=False, compare=False)

    @property
    def expressions(self) -> Iterator[Expression]:
        """Everything that is evaluated for a packet, the prefilter's predicates excepted."""
        yield from self.predicates


@dataclass(frozen=True, slots=True, kw_only=True)
class LowSelect(LowNode):
    """Selection low: the rows that pass, as they come."""

    outputs: tuple[OutputColumn, ...]

    @property
    def expressions(self) -> Iterator[Expression]:
        yield from self.predicates
        yield from (output.expression for output in self.outputs)

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        return tuple(over_timestamp(output.expression) for output in self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAggregate(LowNode):
    """Sub-aggregation in a direct-mapped table of fixed size."""

    groups: tuple[GroupVariable, ...]
    accumulators: tuple[Accumulator, ...]

    @property
    def expressions(self) -> Iterator[Expression]:
        yield from self.predicates
        yield from (group.expression for group in self.groups)
        for accumulator in self.accumulators:
            yield from accumulator_expressions(accumulator)

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        groups = tuple(over_timestamp(group.expression) for group in self.groups)
        return groups + (None,) * (len(self.schema.columns) - len(groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Node):
    """Selection high."""

    input: Node
    predicates: tuple[Expression, ...]
    outputs: tuple[OutputColumn, ...]
    why_high: str = field(default="", compare=False)
    """Over packets: what kept it above the border."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        return tuple(monotone(output.expression) for output in self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Node):
    """Aggregation high: over rows, or completing the partial groups of a PartialAggregate."""

    input: Node
    merges_partials: bool
    predicates: tuple[Expression, ...]
    groups: tuple[GroupVariable, ...]
    """Over the input's columns."""
    accumulators: tuple[Accumulator, ...]
    finals: tuple[Final, ...]
    """One for each aggregate of the query."""
    having: Expression | None
    outputs: tuple[OutputColumn, ...]
    """Over GroupRef and AggregateRef."""
    why_high: str = field(default="", compare=False)
    """Over packets: what kept it from beginning below the border."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def is_of_all(self) -> bool:
        """Without GROUP BY: one group of all rows, which is there where no row comes too."""
        return not self.groups

    @property
    def temporal_groups(self) -> tuple[int, ...]:
        """Indices of the group variables that make the window."""
        return tuple(i for i, g in enumerate(self.groups) if g.expression.temporal.is_temporal)

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        """Over the group variables, not over the input's columns."""
        return tuple(monotone(output.expression) for output in self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Node):
    """Rows of all inputs; the least of their bounds."""

    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLimit(Node):
    """ORDER BY … LIMIT for each closed window; the input's last columns are only sorted by."""

    input: Aggregate | Select
    keys: tuple[tuple[int, bool], ...]
    """(column of the input, descending)."""
    limit: int | None
    windows: tuple[int, ...]
    """Columns of the input that make the window."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Node):
    """LIMIT of a selection: the first rows that come, and then its end."""

    input: Node
    limit: int
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(Node):
    """What the user sees of a query."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Plan:
    """A query set: its nodes, inputs before consumers, and the prefilter that its LFTAs share."""

    nodes: tuple[Node, ...]
    prefilter: tuple[Expression, ...] = ()
    """Distinct cheap predicates over packet fields, each evaluated once a packet."""
    early_fields: tuple[str, ...] = ()
    """Accessors unpacked into a column for the whole burst; others are read where needed."""
    texts: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
    """The source of each query that an output needs, by name; inputs before readers."""
    pruned: tuple[str, ...] = field(default=(), compare=False)
    """Queries that no output needs."""

    @property
    def low(self) -> tuple[LowNode, ...]:
        return tuple(node for node in self.nodes if isinstance(node, LowNode))

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Output))


def accumulator_expressions(accumulator: Accumulator) -> Iterator[Expression]:
    """What is evaluated of a row for an accumulator."""
    if accumulator.argument is not None:
        yield accumulator.argument
    yield from accumulator.position


def over_timestamp(expression: Expression) -> Monotone | None:
    """How a packet expression carries a bound of the packet's time, or None."""
    function = monotone(expression)
    return None if function is None else function.over_timestamp()


def topological(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """All nodes below the roots, inputs before consumers, each once."""
    seen: dict[int, Node] = {}
    waiting = list(reversed(roots))
    while waiting:  # no recursion: a chain of queries may be of any length
        node = waiting[-1]
        open_inputs = [child for child in node.inputs if id(child) not in seen]
        if id(node) in seen or not open_inputs:
            seen.setdefault(id(node), node)
            waiting.pop()
        else:
            waiting += reversed(open_inputs)
    return tuple(seen.values())

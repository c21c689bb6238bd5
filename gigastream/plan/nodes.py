# SPDX-License-Identifier: Apache-2.0
"""What every operator of a plan is: what flows where, below and above the border.

Nodes are frozen and refer to their inputs, so that a plan is a graph without cycles whose shared
queries are shared nodes. Each kind is a file in gigastream/plan/operators/, which answers there all
that anybody asks of a node; nobody else asks which kind it is. How it becomes generated C stands in
gigastream/codegen/operators/, how it becomes DataFrames in spark_sink/operators/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import Expression, FunctionCall, PythonCall, walk
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.order.ranges import Known, Range
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.types import Order, Schema
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan.base_time import Alternatives, BaseTimes
from gigastream.plan.evaluated import Evaluated
from gigastream.plan.text import expression_text, punctuation_text

if TYPE_CHECKING:
    from gigastream.gsql.queries import CheckedQuery, OutputColumn, TimeRelation
    from gigastream.plan.builders import NodeNames
    from gigastream.plan.plan import Plan
    from gigastream.plan.python_calls import CalledRows

N = TypeVar("N", bound="Node")
Detail = tuple[str, tuple[str, ...]]
"""A label and the lines beside it."""
Quantities = tuple[bool, ...]
"""One for each column of a node."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """A time that must be passed before an operator lets go of what it holds."""

    name: str
    span: Span
    times: Alternatives
    is_group: bool = True
    """The query could ask for one answer at the end instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Base of all operators.

    `name` is unique in the plan, but that an Output is named as its query, whose top node it reads.
    """

    title: ClassVar[str]
    """What explain calls it."""
    is_low: ClassVar[bool] = False
    """An LFTA, below the border."""
    is_output: ClassVar[bool] = False
    passes_rows: ClassVar[bool] = False
    """Whether rows leave in the order in which they come, and at once."""
    holds_rows: ClassVar[bool] = True
    """Whether rows may wait in it for time to pass, or for others."""
    is_light: ClassVar[bool] = False
    """Whether a row costs little in it, beside what has made the row."""
    merges: ClassVar[bool] = False
    """Whether it puts the rows of its inputs in the order of a temporal column."""
    keeps_inputs_apart: ClassVar[bool] = False
    """Whether each input is a node of its own, though two of them may want the same."""
    sorts_in_order: ClassVar[bool] = False
    """Whether its in-order form is itself over inputs that are in order (OPERATORS section 1)."""

    name: str
    schema: Schema
    order: tuple[Order | None, ...] = ()
    """For each column of the schema; None where it is not temporal."""

    @property
    def kind(self) -> str:
        """The operator's name, as plans that leave this process and generated C have it."""
        return type(self).__name__

    # The graph

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        """The same over other inputs, as many as it has."""
        assert not inputs
        return self

    @property
    def undivided(self) -> str | None:
        """Why its answer is another where readers that go on side by side divide the packets.

        None: it is the same, up to the order of rows within a window.
        """
        return self.in_their_order

    @property
    def is_of_parts(self) -> bool:
        """Whether its answer is what it answers to each part of the groups below, together."""
        return False

    @property
    def has_few_rows(self) -> bool:
        """Whether it puts out about one row a window, however many packets there are."""
        return False

    @property
    def in_their_order(self) -> str:
        return f"{self.name} ({self.title}) has rows in their order"

    # Time

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        """For each output column, the function that carries the inputs' bounds to it."""
        return tuple(None for _ in self.schema.columns)

    @property
    def bounded(self) -> tuple[Expression, ...]:
        """The expressions whose bounds are kept while it runs."""
        return ()

    @property
    def watched(self) -> tuple[Expression, ...]:
        """Over the input's columns: something is due here when one of them grows."""
        return ()

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        """What consumers watch of its columns, over its inputs'; nothing where it answers them."""
        return ()

    def ordered_by(self, port: int) -> int | None:
        """The column in whose order an input must come, whatever the query says of it."""
        return None

    def ties_of(self, port: int) -> tuple[int, ...]:
        """The columns of an input that put rows of one time in order, where it must be one."""
        return ()

    def watched_of(self, port: int) -> tuple[Expression, ...]:
        """`watched` of one input."""
        return self.watched

    def asked_of(self, port: int, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        """`asked_below` of one input."""
        return self.asked_below(watched)

    def together(self, columns: frozenset[int]) -> frozenset[int]:
        """The input's columns whose bounds it takes together, given those that consumers do."""
        return frozenset()

    def with_joint(self, together: frozenset[int]) -> Node:
        """The same, which gives a joint bound of columns that consumers take together."""
        return self

    def with_steps(self, inputs: Sequence[BaseTimes]) -> Node:
        """The same, which knows how far its windows are from each other."""
        return self

    @property
    def related_times(self) -> tuple[TimeRelation, ...]:
        """Times of two inputs by which it lets rows go."""
        return ()

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        """For each column, the functions of base time that it is; `inputs` are the same of each."""
        return tuple(() for _ in self.schema.columns)

    def exact_ranges(self, inputs: Sequence[Known]) -> tuple[Range | None, ...]:
        """Of each column whose bounds are its values where those of a window are; else None."""
        return (None,) * len(self.schema.columns)

    def awaited(self, inputs: Sequence[BaseTimes]) -> tuple[Awaited, ...]:
        """Times of which one must be passed before what it holds goes; none where it does not."""
        return ()

    @property
    def asks_order_at(self) -> Span:
        """Where the query says that its inputs must come in order."""
        return NOWHERE

    # Rows

    @property
    def maker(self) -> Node:
        """What makes its rows, where it passes all that are in its input on as they are."""
        return self

    @property
    def column_expressions(self) -> tuple[Expression, ...]:
        """What each column is made of, where all of them are expressions; else nothing."""
        return ()

    @property
    def evaluated(self) -> Iterator[Evaluated]:
        """What is computed for a row."""
        return iter(())

    def columns_read(self, port: int) -> frozenset[int]:
        """Which columns of an input it looks at."""
        return frozenset(range(len(self.inputs[port].schema.columns)))

    def origins(self, column: int) -> Iterator[tuple[str, int]]:
        """The nodes that make the values of a column, and its place there."""
        yield self.name, column

    @property
    def calls(self) -> Iterator[FunctionCall]:
        """The function calls that it makes."""
        for expression, _ in self.evaluated:
            yield from calls_in(expression)

    def quantities(self, inputs: Sequence[Quantities]) -> Quantities:
        """Which columns say how much, given those of the inputs: numbers made of aggregates.

        A group variable, a packet's field or a column of another query may be a port or an
        identifier: how it is read is not known.
        """
        return (False,) * len(self.schema.columns)

    @property
    def ends_at(self) -> Span | None:
        """Where the query says that the stream ends here before its input does."""
        return None

    @property
    def host_calls(self) -> tuple[PythonCall, ...]:
        """The calls of functions in Python that it makes itself, over columns of its input."""
        return ()

    def over_called(self, rows: CalledRows) -> Node:
        """The same over rows of which functions in Python have made what it asks of them.

        Raises GsqlError where it can call none.
        """
        call = next(call for call in self.calls if isinstance(call, PythonCall))
        message = f"{call.name} is in Python, which a {self.title} cannot call"
        hint = "call it in a query over this one"
        raise GsqlError([Diagnostic("error", "python-call", message, call.span, hint)])

    # What explain shows

    def details(self, plan: Plan) -> Iterator[Detail]:
        """What it does, line by line; a label without lines is left out."""
        return iter(())

    @property
    def made_of(self) -> tuple[str, ...]:
        """What each column is made of, as GSQL; nothing where it is the input's."""
        return tuple(map(expression_text, self.column_expressions))

    def punctuation(self, index: int) -> str:
        """How punctuation comes to a temporal column."""
        function = self.bounds[index]
        return "no punctuation before the end" if function is None else punctuation_text(function)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneInputNode(Node):
    """Base of the operators that read one stream."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        (only,) = inputs
        return replace(self, input=only)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingNode(OneInputNode):
    """Base of the operators that put out rows of their input; of its columns perhaps the first."""

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        (columns,) = inputs
        return columns[: len(self.schema.columns)]

    def exact_ranges(self, inputs: Sequence[Known]) -> tuple[Range | None, ...]:
        (columns,) = inputs
        return tuple(columns[: len(self.schema.columns)])

    def origins(self, column: int) -> Iterator[tuple[str, int]]:
        yield from self.input.origins(column)

    def quantities(self, inputs: Sequence[Quantities]) -> Quantities:
        (columns,) = inputs
        return columns[: len(self.schema.columns)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseNode(PassingNode):
    """Base of the operators that a clause of a query asks for, on top of what makes its rows.

    Adding one means a line in gigastream.plan.operators.CLAUSES.
    """

    @classmethod
    def hidden_columns(cls, query: CheckedQuery) -> tuple[OutputColumn, ...]:
        """What the clause reads of the rows and SELECT does not show, to stand behind it."""
        return ()

    @classmethod
    def on_top(cls, query: CheckedQuery, rows: Node, names: NodeNames) -> Node:
        """The query's top over its rows so far: `rows` itself where it has no such clause."""
        raise NotImplementedError


def map_inputs(node: N, change: Callable[[Node], Node]) -> N:
    """The node over changed inputs."""
    return node.with_inputs(tuple(map(change, node.inputs)))


def calls_in(expression: Expression) -> Iterator[FunctionCall]:
    """The function calls of an expression."""
    return (part for part in walk(expression) if isinstance(part, FunctionCall))


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


def quantities_of(top: Node) -> Quantities:
    """Which columns of a node say how much; each node below it is asked once."""
    found: dict[int, Quantities] = {}
    for node in topological((top,)):
        found[id(node)] = node.quantities([found[id(child)] for child in node.inputs])
    return found[id(top)]


def over(columns: Sequence[Monotone | None], watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
    """Functions of columns as ones of what the columns are functions of, where all of these are."""
    return tuple(
        function.of(known)
        for function in watched
        if len(known := _known(columns, function)) == len(function.inputs)
    )


def _known(columns: Sequence[Monotone | None], function: Monotone) -> list[Monotone]:
    read = (columns[item.index] for item in function.inputs)
    return [column for column in read if column is not None]

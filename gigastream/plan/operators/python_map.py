# SPDX-License-Identifier: Apache-2.0
"""Functions in Python: rows as they come, and behind them what was made of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import (
    ColumnRef,
    FunctionCall,
    PythonAggregateCall,
    PythonCall,
    PythonResult,
    PythonRow,
)
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.types import Column, Schema, Type
from gigastream.late_dataclass import dataclass
from gigastream.plan.base_time import BaseTimes, through
from gigastream.plan.builders import NodeNames
from gigastream.plan.nodes import Detail, Node, OneInputNode, over
from gigastream.plan.text import expression_text

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan

COLUMNS_OF_CALL = 2
"""Its value, and whether there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonMap(OneInputNode):
    """Each batch is given to functions in Python; their results stand behind its columns.

    Of each call two columns: a value, perhaps NULL, and whether the row has a value at all.
    """

    title: ClassVar[str] = "functions in Python"
    passes_rows: ClassVar[bool] = True
    holds_rows: ClassVar[bool] = False

    python_calls: tuple[PythonCall, ...]
    """Their arguments are columns of the input."""

    @property
    def width(self) -> int:
        """Columns of the input."""
        return len(self.input.schema.columns)

    @property
    def bounds(self) -> tuple[Monotone | None, ...]:
        return tuple(
            monotone(ColumnRef.to(column, index)) if column.temporal.is_temporal else None
            for index, column in enumerate(self.schema.columns)
        )

    def asked_below(self, watched: Sequence[Monotone]) -> tuple[Monotone, ...]:
        return over(self.bounds, watched)

    def together(self, columns: frozenset[int]) -> frozenset[int]:
        return frozenset(column for column in columns if column < self.width)

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return through(self.bounds, inputs)

    @property
    def calls(self) -> Iterator[FunctionCall]:
        yield from self.python_calls

    @property
    def host_calls(self) -> tuple[PythonCall, ...]:
        return self.python_calls

    def origins(self, column: int) -> Iterator[tuple[str, int]]:
        if column < self.width:
            yield from self.input.origins(column)
        else:
            yield self.name, column

    def result(self, call: int, made_of: PythonCall) -> PythonResult:
        """What reads the result of a call; `made_of` is the call as the query has it."""
        at = self.width + COLUMNS_OF_CALL * call
        value, given = (ColumnRef.to(self.schema.columns[i], i) for i in (at, at + 1))
        return PythonResult(
            type=made_of.type,
            nullable=made_of.nullable,
            value=value,
            given=given,
            text=expression_text(made_of),
            span=made_of.span,
        )

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield "calls", tuple(map(_call_text, self.python_calls))

    def punctuation(self, index: int) -> str:
        return f"punctuation of {self.schema.columns[index].name}"


def _call_text(call: PythonCall) -> str:
    if isinstance(call, PythonRow):
        return f"{expression_text(call)}: what a group keeps of a row"
    of = "groups" if isinstance(call, PythonAggregateCall) else "rows"
    says = "an exception ends the query" if call.ends else f"{of} of an exception have no value"
    most = ""
    if isinstance(call, PythonAggregateCall):
        most = f", of rows of {call.most_bytes:,} bytes at most"
    return f"{expression_text(call)} of {call.code.file}{most}: {says}"


def python_map(name: str, stream: Node, calls: Sequence[PythonCall]) -> PythonMap:
    """Calls over columns of a stream."""
    names = NodeNames()
    names.reserve(column.name for column in stream.schema.columns)
    made = []
    for call in calls:
        made.append(Column(names.fresh(call.name), call.type, nullable=True))
        made.append(Column(names.fresh(f"{call.name}_given"), Type.BOOL))
    return PythonMap(
        name=name,
        schema=Schema((*stream.schema.columns, *made)),
        order=(*stream.order, *(None for _ in made)),
        input=stream,
        python_calls=tuple(calls),
    )

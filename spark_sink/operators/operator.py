# SPDX-License-Identifier: Apache-2.0
"""What the Spark back end asks of every operator of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.expressions import Expression
from gigastream.plan.base_time import BaseTimes
from gigastream.plan.nodes import Node
from spark_sink.lateness import Late, late_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from gigastream.plan import Plan
    from spark_sink.dataframes import Frames

N = TypeVar("N", bound=Node)
Times = Mapping[str, BaseTimes]
"""By node, its columns as functions of base time (lateness.py)."""
Lines = Iterator[tuple[str, str]]
"""A label, and what stands beside it."""


class SparkOperator(Generic[N]):
    """How one kind of node becomes DataFrame operations: a file of this folder each."""

    waits: ClassVar[bool] = False
    """Whether its rows wait for time to pass, and leave by an event time of theirs."""
    leaves_early: ClassVar[bool] = False
    """Whether rows of a stream leave Spark's store before their event time is passed."""
    behind_state: ClassVar[tuple[str, ...]] = ()
    """Fields of its node that ask what is over, and may change while a checkpoint lives."""

    def frame(self, frames: Frames, node: N) -> DataFrame:
        """The rows that it puts out, over those of its inputs."""
        raise NotImplementedError

    def late(self, node: N, inputs: Sequence[Late]) -> Late:
        """What its columns are of base time, of those of its inputs."""
        return late_rows(node, inputs)

    def lines(self, plan: Plan, node: N, times: Times) -> Lines:
        """What becomes of it, for people."""
        return iter(())

    def expressions(self, node: N) -> Iterator[Expression]:
        """What Spark evaluates for it."""
        return iter(())

    def refusals(self, node: N) -> Iterator[Diagnostic]:
        """What Spark cannot do for it, beside its expressions."""
        return iter(())

    def stream_refusals(self, node: N, times: Times) -> Iterator[Diagnostic]:
        """What it cannot do of a stream, and can where all rows are there."""
        return iter(())

    def is_of_windows(self, node: N, inputs: Sequence[Late]) -> bool:
        """Whether what it puts out for a time follows from rows of its inputs near that time."""
        return True

    def begins(self, node: N, inputs: Sequence[Late], base_ns: int) -> int:
        """The least base time of rows that go into what is not over at this one, both in ns."""
        return base_ns

    def closes(self, node: N, inputs: Sequence[Late], after_ns: int, until_ns: int) -> bool:
        """Whether something may be over at one base time that was not at another."""
        return True

    def columns_of_bits(self, node: N) -> Mapping[str, frozenset[int]]:
        """By stream of the low level, the columns of ullongs that are wanted as their bits."""
        return {}

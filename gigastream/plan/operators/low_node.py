# SPDX-License-Identifier: Apache-2.0
"""What all LFTAs are: operators over the packets of a protocol, below the border."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gigastream.gsql.expressions import Expression
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.queries import ProtocolSource, QueryOptions
from gigastream.plan.base_time import BaseTimes
from gigastream.plan.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class LowNode(Node):
    """An LFTA: selection or partial aggregation over the packets of a protocol."""

    is_low: ClassVar[bool] = True

    source: ProtocolSource
    predicates: tuple[Expression, ...]
    """Conjuncts of WHERE that are evaluated here, cheapest first."""
    signature: tuple[int, ...] = ()
    """Those of the plan's prefilter that a packet must pass before the LFTA sees it."""
    needs: tuple[Monotone, ...] = ()
    """What the consumers look at, over the packet's timestamp: a change is worth a punctuation."""
    options: QueryOptions = field(default=QueryOptions(), hash=False, compare=False)

    @property
    def expressions(self) -> Iterator[Expression]:
        """Everything that is evaluated for a packet, the prefilter's predicates excepted."""
        return (expression for expression, _ in self.evaluated)

    @property
    def own_needs(self) -> tuple[Monotone, ...]:
        """What it must announce whoever reads it; where it is nothing, the consumers decide."""
        return ()

    def base_times(self, inputs: Sequence[BaseTimes]) -> BaseTimes:
        return tuple(() if function is None else (function,) for function in self.bounds)


def over_timestamp(expression: Expression) -> Monotone | None:
    """How a packet expression carries a bound of the packet's time, or None."""
    function = monotone(expression)
    return None if function is None else function.over_timestamp()

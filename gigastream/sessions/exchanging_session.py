# SPDX-License-Identifier: Apache-2.0
"""A capture file that several threads divide, each of which has part of the groups, too.

Below the tables rows of packets go to whoever has their group (csrc/stream/exchange.h), so that no
group is in two tables, and what completes them is divided as well: each thread runs the whole plan
over its groups. Only windows are put in order behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.engine.events import Event
from gigastream.engine.exchange import Exchange, GroupShare
from gigastream.engine.opening import DEFAULT_BATCH_ROWS, random_key
from gigastream.engine.part_order import PartOrder
from gigastream.engine.statistics import OperatorStatistics, Statistics
from gigastream.gsql.types import Order
from gigastream.late_dataclass import replace
from gigastream.plan import Plan
from gigastream.plan.nodes import Node
from gigastream.records.source import AnySource
from gigastream.sessions.divided_session import DividedSession
from gigastream.sessions.session import Session
from gigastream.sessions.shape import NO_OPTIONS, SessionOptions
from gigastream.sessions.threaded_session import Handed, Names
from gigastream.settings import Settings
from gigastream.sources.files import FileSource


def exchanges_rows(plan: Plan, settings: Settings) -> bool:
    """Whether each thread can have part of the groups; else one completes them all."""
    if settings.output_punctuation or settings.deliver_every_burst:
        return False
    return all(node.is_of_parts for node in plan.nodes) and _has_windows_in_order(plan)


def _has_windows_in_order(plan: Plan) -> bool:
    """Or one for all time."""
    if not any(column.temporal.is_temporal for node in plan.low for column in node.schema.columns):
        return True
    return all(map(_ordered_columns, plan.outputs))


def _ordered_columns(output: Node) -> list[int]:
    """The columns in whose order a query's rows are."""
    return [at for at, order in enumerate(output.order) if order is Order.ORDERED]


class ExchangingSession(DividedSession):
    """A DividedSession of a plan and settings of which exchanges_rows() is true."""

    def __init__(
        self,
        plan: Plan,
        source: FileSource,
        settings: Settings,
        options: SessionOptions = NO_OPTIONS,
        *,
        extent_bytes: int = 0,
    ) -> None:
        """Open all, as a DividedSession."""
        self._exchange = Exchange(settings.jobs, settings.memory_bytes)
        rows, memory = settings.batch_rows or DEFAULT_BATCH_ROWS, settings.memory_bytes
        self._orders = {
            output.name: PartOrder(settings.jobs, _ordered_columns(output), rows, memory)
            for output in plan.outputs
        }
        key = settings.hash_key or random_key()  # whose a group is, is the same for all
        own = replace(settings, hash_key=key)
        super().__init__(plan, source, own, options, extent_bytes=extent_bytes)

    def close(self) -> None:
        """Give everything back; no thread waits for another any longer."""
        self._exchange.end()
        super().close()

    def statistics(self) -> Statistics:
        """The counters of all threads as those of one."""
        statistics = super().statistics()
        counted = [operator for part in self._counted for operator in part.operators]
        return replace(statistics, operators=_summed(counted), have_parts=True)

    def _open_above(
        self, plan: Plan, names: Names, settings: Settings, options: SessionOptions
    ) -> None:
        assert not options.taps, "streams of nodes come out of each part"
        self._asks = False

    def _open_part(
        self,
        plan: Plan,
        sources: Sequence[AnySource],
        number: int,
        settings: Settings,
        options: SessionOptions,
    ) -> Session:
        own = replace(settings, output_punctuation=True)  # by which windows are put in order
        part = GroupShare(self._exchange, number)
        return Session(plan, sources, own, replace(options, part=part))

    def _answered(self, handed: Handed) -> Iterator[Event]:
        part, turn = handed
        for event in turn:
            ordered = self._orders[event.query].add(part, event.batch)
            yield from (replace(event, batch=batch) for batch in ordered)


_SUMS = (
    *("rows_in", "rows_out", "rejected", "no_value", "held", "groups_refused", "rows_refused"),
    *("refused_for_memory", "beyond_limit", "out_of_order", "passed_over"),
    *("held_bytes", "peak_bytes"),
)


def _summed(operators: Sequence[OperatorStatistics]) -> tuple[OperatorStatistics, ...]:
    """One of each name, as if the parts were one."""
    found: dict[str, list[OperatorStatistics]] = {}
    for operator in operators:
        found.setdefault(operator.name, []).append(operator)
    return tuple(_one(parts) for parts in found.values())


def _one(parts: Sequence[OperatorStatistics]) -> OperatorStatistics:
    sums = {name: sum(getattr(part, name) for part in parts) for name in _SUMS}
    return replace(parts[0], **sums, promised_ns=min(part.promised_ns for part in parts))

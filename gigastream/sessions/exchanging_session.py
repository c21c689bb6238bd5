# SPDX-License-Identifier: Apache-2.0
"""Capture files that several threads divide, each of which has part of the groups, too.

Below the tables rows of packets go to whoever has their group (csrc/stream/exchange.h), so that no
group is in two tables, and what completes them is divided as well: each thread runs the plan over
its groups, as far up as the answer is what the parts answer together (gigastream/plan/parts.py).
Windows are put in order behind them, and what needs all groups is run once, above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigastream.engine.events import Event
from gigastream.engine.exchange import Exchange, GroupShare
from gigastream.engine.node_places import NodePlaces
from gigastream.engine.opening import random_key
from gigastream.engine.statistics import OperatorStatistics, Statistics
from gigastream.late_dataclass import replace
from gigastream.plan import Plan
from gigastream.plan.parts import parts_of_plan
from gigastream.records.source import AnySource
from gigastream.sessions.above_parts import AboveParts, order_of
from gigastream.sessions.divided_session import DividedSession
from gigastream.sessions.session import Session
from gigastream.sessions.shape import NO_OPTIONS, SessionOptions
from gigastream.sessions.threaded_session import Handed, Names
from gigastream.settings import Settings
from gigastream.sources.files import FileSource


def exchanges_rows(plan: Plan, settings: Settings) -> bool:
    """Whether each thread can complete part of the groups; else one completes them all."""
    if settings.output_punctuation or settings.deliver_every_burst:
        return False
    return parts_of_plan(plan).have_groups


class ExchangingSession(DividedSession):
    """A DividedSession of a plan and settings of which exchanges_rows() is true."""

    def __init__(
        self,
        plan: Plan,
        sources: Sequence[FileSource],
        settings: Settings,
        options: SessionOptions = NO_OPTIONS,
        *,
        extent_bytes: int = 0,
    ) -> None:
        """Open all, as a DividedSession."""
        self._exchange = Exchange(settings.jobs, settings.memory_bytes)
        self._parts = parts_of_plan(plan)
        key = settings.hash_key or random_key()  # whose a group is, is the same for all
        own = replace(settings, hash_key=key)
        super().__init__(plan, sources, own, options, extent_bytes=extent_bytes)

    def close(self) -> None:
        """Give everything back; no thread waits for another any longer."""
        self._exchange.end()
        super().close()

    def statistics(self) -> Statistics:
        """The counters of all threads as those of one."""
        statistics = super().statistics()
        counted = [operator for part in self._counted for operator in part.operators]
        found = {operator.name: operator for operator in (*_summed(counted), *statistics.operators)}
        operators = tuple(found[name] for name in self._names if name in found)
        return replace(statistics, operators=operators, have_parts=True)

    def _open_above(
        self, plan: Plan, names: Names, settings: Settings, options: SessionOptions
    ) -> None:
        assert not options.taps, "streams of nodes come out of each part"
        self._asks = False
        self._names = [node.name for node in plan.nodes if not node.is_output]
        below = (plan.nodes[at] for at in self._parts.below)
        self._orders = {node.name: order_of(node, settings) for node in below if node.is_output}
        self._above: AboveParts | None = None
        if self._parts.above:
            interface = names[0][0]
            self._above = AboveParts(plan, self._parts, interface, settings, options.include)
            self._highs.append(self._above.session)

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
        taps = [plan.nodes[at].name for at in self._parts.crossing]
        places = NodePlaces(elsewhere=self._parts.above)
        return Session(plan, sources, own, replace(options, part=part, taps=taps, places=places))

    def _answered(self, handed: Handed) -> Iterator[Event]:
        part, turn = handed
        for event in turn:
            if event.query in self._orders:
                ordered = self._orders[event.query].add(part, event.batch)
                yield from (replace(event, batch=batch) for batch in ordered)
            else:
                assert self._above is not None, "what is no output is read above"
                self._above.take(part, event)
        if self._above is not None:
            yield from self._above.session.batches()


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

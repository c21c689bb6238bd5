# SPDX-License-Identifier: Apache-2.0
"""A query set in the capture process: from an object to rows in files, and its counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from gigastream.compiled import read_object
from gigastream.daemon.messages import AttachOrder, SetStatistics
from gigastream.daemon.output_queries import output_queries
from gigastream.daemon.tails import Tails
from gigastream.daemon.targets import open_targets
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import EngineError
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.engine.statistics import NONE
from gigastream.plan import Plan
from gigastream.sessions.row_windows import check_row_windows
from gigastream.settings import Settings
from gigastream.sources.live import Source


class RunningSet:
    """Attached to an engine as soon as it is made, with its outputs open."""

    def __init__(
        self, order: AttachOrder, engine: Engine, sources: list[Source], settings: Settings
    ) -> None:
        """Read the object, open all that it needs, attach it; where that fails, nothing is changed.

        CompiledError, UntrustedError, OSError, EngineError, BudgetError, OutputError,
        SeveralSourcesError.
        """
        self.order = order
        self._engine = engine
        self.plan, _ = read_object(Path(order.object_path))
        check_row_windows(self.plan, sources)
        self._rows: Counter[str] = Counter()
        self._newest = {node.name: _top_of(self.plan, node.name) for node in self.plan.outputs}
        self.failure: str | None = None
        self.targets = open_targets(order.outputs, output_queries(self.plan))
        try:
            interfaces = len({source.interface for source in sources})
            self._attached = AttachedSet(self.plan, settings, interfaces=interfaces)
        except BaseException:
            self.end_outputs()
            raise
        try:
            engine.attach(self._attached)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """By which it is ordered about."""
        return self.order.name

    @property
    def queries(self) -> tuple[str, ...]:
        """Whose rows it puts out."""
        return tuple(node.name for node in self.plan.outputs)

    # ---- rows ----

    def take(self, tails: Tails) -> None:
        """Give what has come out to outputs and tails."""
        if self.failure is None:
            self._give(self._attached.taken(), tails)

    def look_for_failure(self) -> bool:
        """Whether it has just failed: then it is detached, and its outputs are ended."""
        if self.failure is not None:
            return False
        try:
            self._attached.check()
        except EngineError as error:
            self.failure = str(error)
            self._engine.detach(self._attached)
            self.end_outputs()
        return self.failure is not None

    def detach(self, tails: Tails) -> None:
        """End its input here, give what is still to come, and close it."""
        if self.failure is None:
            self._engine.detach(self._attached)
            self._give(self._attached.drained(), tails)
        self.close()

    def close(self) -> None:
        """End the outputs, and let the set go: what has not been taken goes nowhere."""
        self.end_outputs()
        self._engine.detach(self._attached)
        self._attached.close()

    def rotate(self) -> None:
        """Begin new files."""
        for target in self.targets:
            target.rotate()

    def tick(self) -> None:
        """What is due by the clock."""
        for target in self.targets:
            target.tick()

    def _give(self, events: Iterable[Event], tails: Tails) -> None:
        for event in events:
            count = event.batch.row_count
            if count == 0 or event.interface is not None:
                continue
            self._rows[event.query] += count
            for target in self.targets:
                target.write(event.query, event.batch)
            tails.write(self.name, event.query, event.batch)

    def end_outputs(self) -> None:
        """Nothing more comes."""
        for target in self.targets:
            target.close()

    # ---- counters ----

    def statistics(self) -> SetStatistics:
        """The counters so far."""
        lftas, operators = self._attached.lftas(), self._attached.operators()
        promises = [(node.name, node.promised_ns) for node in lftas]
        promises += [(node.name, node.promised_ns) for node in operators]
        reached: dict[str, int] = {}
        for name, promised_ns in promises:
            reached[name] = min(reached.get(name, promised_ns), promised_ns)
        newest = {query: reached.get(top, NONE) for query, top in self._newest.items()}
        return SetStatistics(
            name=self.name,
            queries=self.queries,
            lftas=lftas,
            operators=operators,
            outputs=tuple(target.statistics() for target in self.targets),
            rows={query: self._rows[query] for query in self.queries},
            newest_ns={query: at for query, at in newest.items() if at != NONE},
            failure=self.failure,
        )


def _top_of(plan: Plan, query: str) -> str:
    """The operator that makes the rows of an output."""
    (node,) = (output for output in plan.outputs if output.name == query)
    return node.inputs[0].name

# SPDX-License-Identifier: Apache-2.0
"""A session runs a plan over sources in this process: both levels, rows as windows close."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.codegen.kernel_filter import kernel_filter
from gigastream.engine import memory
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.engine.live import snap_bytes
from gigastream.engine.statistics import Statistics
from gigastream.plan import Plan
from gigastream.records.source import StreamSource
from gigastream.sessions.limit import PacketLimit
from gigastream.sessions.pace import Pace
from gigastream.sessions.row_windows import check_row_windows
from gigastream.sessions.shape import NO_OPTIONS, Closing, SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, are_small
from gigastream.sources.live import LiveSource
from gigastream.sources.packets import PacketSource

if TYPE_CHECKING:
    from gigastream.engine.statistics import StageCosts
    from gigastream.sessions.changes import Firsts, Succession

PACKET_BUDGET = 1 << 20
"""Packets after which the engine looks up, so that Python sees signals and shows progress."""
WAIT_MS = 100
LIMIT_WAIT_S = 0.001


class Session(Closing):
    """Opens everything on construction; close() gives it back. SourceError, EngineError."""

    def __init__(
        self,
        plan: Plan,
        sources: Sequence[FileSource | PacketSource | StreamSource | LiveSource],
        settings: Settings | None = None,
        options: SessionOptions = NO_OPTIONS,
    ) -> None:
        """Open a plan over sources."""
        check_row_windows(plan, sources)
        self._settings = settings or Settings()
        self._limit = options.limit
        if self._limit is None and self._settings.packets_max is not None:
            self._limit = PacketLimit(self._settings.packets_max)
        self._stopped = False
        self._include = options.include
        self._succession: Succession | None = None
        self._plan = plan
        self._sources = tuple(sources)
        interfaces = len({source.interface for source in sources})
        with ExitStack() as opened:
            self._queries = opened.enter_context(
                AttachedSet(
                    plan,
                    settings,
                    options.include,
                    interfaces=interfaces,
                    parts=options.parts,
                    part=options.part,
                    taps=options.taps,
                    places=options.places,
                    low_taps=options.low_taps,
                    is_brief=options.code is None and are_small(sources),
                    code=options.code,
                )
            )
            self._engine = opened.enter_context(Engine(settings))
            self._open_links(snap_bytes(plan, bool(self._settings.filter)))
            if options.begins:
                promises = options.links_are_open() if options.links_are_open is not None else {}
                self.begin(promises)
            self._opened = opened.pop_all()

    @property
    def code(self) -> Path:
        """The compiled object of its plan."""
        return self._queries.code

    def batches(self) -> Iterator[Event]:
        """Batches as they come, heartbeats among them, to the end of the input or stop()."""
        for turn in self.turns():
            yield from turn

    def turns(self) -> Iterator[tuple[Event, ...]]:
        """The same, together what the engine gave in one go, which may be nothing.

        Where all sources are silent that is so every WAIT_MS: the caller may look at the clock.
        """
        goes_on = True
        while goes_on:
            goes_on = self._run()
            yield tuple((self._succession or self._queries).taken())

    def stop(self) -> None:
        """End the input here: the open windows are answered. May be called by a signal handler."""
        self._stopped = True

    def measure_stages(self) -> None:
        """Measure from now on what each stage costs."""
        self._engine.measure_stages()

    def stage_costs(self) -> StageCosts:
        """What the stages have cost since."""
        return self._engine.stage_costs()

    def change(self, plan: Plan) -> Firsts:
        """Let another plan answer from here on: the same queries with other parameters.

        Only between two turns. ChangeError, EngineError: then nothing has changed. Its counters are
        those of the new plan.
        """
        from gigastream.sessions.changes import Succession

        check_row_windows(plan, self._sources)
        if self._succession is None:
            self._succession = Succession(self._engine, self._queries, self._plan)
        interfaces = len({source.interface for source in self._sources})
        queries = AttachedSet(
            plan, self._settings, self._include, interfaces=interfaces, only_whole=True
        )
        firsts = self._succession.change(queries, plan)
        self._queries, self._plan = queries, plan
        return firsts

    def want(self, wanted: Mapping[str, int]) -> None:
        """Ask interfaces for packet time (ns), on behalf of who gets the batches.

        Only between two turns.
        """
        for interface, timestamp_ns in wanted.items():
            self._engine.want(interface, timestamp_ns)

    def statistics(self) -> Statistics:
        """The counters so far."""
        used = memory.statistics(self._settings.memory_bytes)
        lftas, operators = self._queries.lftas(), self._queries.operators()
        lists = self._queries.lists()
        return Statistics(self._engine.statistics(), lftas, operators, used, lists)

    def failure(self) -> BaseException | None:
        """What the iterable of packets from memory raised that broke off; None: none did."""
        return self._engine.failure()

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        self._opened.close()
        if self._succession is not None:
            self._succession.close()

    # ---- opening ----

    def _open_links(self, snap: int) -> None:
        for source in self._sources:
            if isinstance(source, LiveSource):
                self._engine.add_link(source, snap)

    def begin(self, promises: Mapping[str, int]) -> None:
        """Open the files and get ready to read.

        `promises` says by interface what its packets are known not to be below (ns): earlier ones
        are late.
        """
        files = [source for source in self._sources if not isinstance(source, LiveSource)]
        self._engine.add_files(files, promises)
        self._engine.attach(self._queries)
        if any(isinstance(s, LiveSource) and s.settings.kernel_prefilter for s in self._sources):
            self._engine.set_prefilter(kernel_filter([self._plan]))
        self._engine.start()
        self._pace = Pace(self._settings.speed) if self._settings.speed else None

    # ---- running ----

    def _run(self) -> bool:
        """False: all is out."""
        if self._stopped:
            self._engine.stop()
        if self._pace is not None:
            self._keep_pace(self._pace)
        if self._limit is None:
            return self._engine.run(PACKET_BUDGET, WAIT_MS)
        return self._run_limited(self._limit)

    def _run_limited(self, limit: PacketLimit) -> bool:
        share = limit.take()
        if share == 0 and not limit.is_used_up:
            time.sleep(LIMIT_WAIT_S)  # another thread has the last ones, or gives them back
            return True
        if share == 0:
            self._engine.halt()
        before = self._packets_read()
        try:
            return self._engine.run(share, WAIT_MS)
        finally:
            limit.give_back(share, self._packets_read() - before)

    def _packets_read(self) -> int:
        return sum(source.read for source in self._engine.statistics())

    def _keep_pace(self, pace: Pace) -> None:
        """Let the engine read as far as the wall clock says; wait for it where it is ahead."""
        reached = pace.wait_for(self._engine.next_timestamp_ns, WAIT_MS / 1000)
        self._engine.replay_until(reached)

# SPDX-License-Identifier: Apache-2.0
"""A session runs a plan over sources in this process: both levels, rows as windows close."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gigastream.engine import counters
from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, check
from gigastream.engine.events import Event, Origin, origins, taken
from gigastream.engine.filters import add_filter
from gigastream.engine.host import NOTHING, UNKNOWN, HostSource, Scanned, message_of, scan
from gigastream.engine.live import configure, hint_for, snap_bytes
from gigastream.engine.opening import new_engine, start
from gigastream.engine.privileges import open_link
from gigastream.engine.statistics import Statistics
from gigastream.plan import Plan
from gigastream.sessions.limit import PacketLimit
from gigastream.sessions.pace import Pace
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from gigastream.sources.live import LiveSource
from gigastream.sources.packets import PacketSource

__all__ = ["EngineError", "Event", "Session", "Statistics"]

PACKET_BUDGET = 1 << 20
"""Packets after which the engine looks up, so that Python sees signals and shows progress."""
WAIT_MS = 100
LIMIT_WAIT_S = 0.001
LinksAreOpen = Callable[[], Mapping[str, int]]
"""Called when links are open; gives what Session.begin is told of each interface."""


class Session:
    """Opens everything on construction; close() gives it back. SourceError, EngineError."""

    def __init__(
        self,
        plan: Plan,
        sources: Sequence[FileSource | PacketSource | LiveSource],
        settings: Settings | None = None,
        *,
        taps: Sequence[str] = (),
        low_taps: bool = False,
        include: Sequence[Path] = (),
        links_are_open: LinksAreOpen | None = None,
        begins: bool = True,
        limit: PacketLimit | None = None,
    ) -> None:
        """Open a plan over sources.

        `taps` names nodes whose streams come out as events as well. With `low_taps` every LFTA's
        batches do, interface by interface, punctuation and heartbeats included. `links_are_open` is
        called when all links are open and no packet is read. Unless it `begins`, begin() is called.
        `limit` is shared with other sessions, in the place of the setting packets_max.
        """
        self._settings = settings or Settings()
        if limit is None and self._settings.packets_max is not None:
            limit = PacketLimit(self._settings.packets_max)
        self._limit = limit
        self._keep: list[Any] = []
        self._opened: list[HostSource | None] = []
        self._engine: Any = ffi.NULL
        self._stopped = False
        try:
            self._open_links(plan, sources, low_taps, include)
            if begins:
                self.begin(links_are_open() if links_are_open is not None else {}, taps)
        except BaseException:
            self.close()
            raise

    def batches(self) -> Iterator[Event]:
        """Batches as they come, heartbeats among them, to the end of the input or stop()."""
        for turn in self.turns():
            yield from turn

    def turns(self) -> Iterator[tuple[Event, ...]]:
        """The same, together what the engine gave in one go, which may be nothing.

        Where all sources are silent that is so every WAIT_MS: the caller may look at the clock.
        """
        error = ffi.new("struct gs_error *")
        status = lib.GS_OK
        while status != lib.GS_END:
            status = self._run(error)
            yield tuple(taken(self._engine, self._origins))

    def stop(self) -> None:
        """End the input here: the open windows are answered. May be called by a signal handler."""
        self._stopped = True

    def statistics(self) -> Statistics:
        """The counters so far."""
        opened = [None if host is None else host.source for host in self._opened]
        return counters.statistics(self._engine, self._settings.memory_bytes, opened)

    def failure(self) -> BaseException | None:
        """What the iterable of packets from memory raised that broke off; None: none did."""
        found = (host.source.failure for host in self._opened if host is not None)
        return next((failure for failure in found if failure is not None), None)

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        if self._engine != ffi.NULL:
            lib.gs_engine_free(self._engine)
            self._engine = ffi.NULL
        for host in self._opened:
            if host is not None:
                host.close()
        self._opened = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- opening ----

    def _open_links(
        self,
        plan: Plan,
        sources: Sequence[FileSource | PacketSource | LiveSource],
        low_taps: bool,
        include: Sequence[Path],
    ) -> None:
        self._nodes = [node.name for node in plan.nodes]
        self._sources = tuple(sources)
        interfaces = len({source.interface for source in sources})
        self._engine = new_engine(
            plan, self._settings, include, interfaces=interfaces, low_taps=low_taps
        )
        error = ffi.new("struct gs_error *")
        if self._settings.filter:
            self._keep += add_filter(self._engine, self._settings.filter)
        self._snap = snap_bytes(plan, bool(self._settings.filter))
        for source in sources:
            if isinstance(source, LiveSource):
                self._add_link(source, error)

    def begin(self, promises: Mapping[str, int], taps: Sequence[str] = ()) -> None:
        """Open the files and get ready to read.

        `promises` says by interface what its packets are known not to be below (ns): earlier ones
        are late.
        """
        error = ffi.new("struct gs_error *")
        for interface, promise in promises.items():
            name = os.fsencode(interface)
            check(lib.gs_engine_promise(self._engine, name, promise, error), error)
        self._promises = promises
        files = [source for source in self._sources if not isinstance(source, LiveSource)]
        for file, seen in zip(files, self._seen_before(files), strict=True):
            self._add(file, seen, error)
        for name_of_node in taps:
            check(lib.gs_engine_tap(self._engine, self._nodes.index(name_of_node), error), error)
        start(self._engine, self._settings.memory_bytes)
        self._origins: list[Origin] = origins(self._engine)
        self._pace = Pace(self._settings.speed) if self._settings.speed else None

    def _add_link(self, source: LiveSource, error: Any) -> None:
        source.check()
        if self._settings.heartbeat_ns == 0:
            raise SourceError(f"{source.label}: without heartbeats no window of a link would end")
        self._opened.append(None)
        texts = [ffi.new("char[]", os.fsencode(t)) for t in (source.interface, source.label)]
        config = ffi.new("struct gs_source_config *")
        config.interface, config.label = texts
        config.promise_ns = NOTHING
        kept = configure(config, source, self._snap)
        self._keep.append(source.group)
        status = open_link(lambda: lib.gs_engine_add_source(self._engine, config, error))
        del kept
        if status == lib.GS_REFUSED:
            raise SourceError(message_of(error), hint_for(message_of(error)))
        check(status, error)

    def _seen_before(self, files: Sequence[FileSource | PacketSource]) -> list[Scanned]:
        """What is known of files before they are opened: asked where one waits for another."""
        wanted, has_siblings = self._settings, len(self._sources) > 1
        return [scan(file, wanted) if has_siblings and file.is_file else UNKNOWN for file in files]

    def _add(self, source: FileSource | PacketSource, seen: Scanned, error: Any) -> None:
        host = HostSource(source)
        self._opened.append(host)
        texts = [ffi.new("char[]", os.fsencode(t)) for t in (source.interface, source.label)]
        config = ffi.new("struct gs_source_config *")
        config.interface, config.label = texts
        config.open, config.close, config.context = lib.gs_host_open, lib.gs_host_close, host.handle
        config.use_mmap = self._settings.use_mmap
        config.is_pipe = host.source.is_pipe
        config.promise_ns = max(seen.promise_ns, self._promises.get(source.interface, NOTHING))
        config.first_ns = seen.first_ns
        check(lib.gs_engine_add_source(self._engine, config, error), error)

    # ---- running ----

    def _run(self, error: Any) -> int:
        if self._stopped:
            lib.gs_engine_stop(self._engine)
        if self._pace is not None:
            self._keep_pace(self._pace)
        if self._limit is None:
            return self._run_engine(PACKET_BUDGET, error)
        return self._run_limited(self._limit, error)

    def _run_limited(self, limit: PacketLimit, error: Any) -> int:
        share = limit.take()
        if share == 0 and not limit.is_used_up:
            time.sleep(LIMIT_WAIT_S)  # another thread has the last ones, or gives them back
            return int(lib.GS_AGAIN)
        if share == 0:
            lib.gs_engine_halt(self._engine)
        before = self._packets_read()
        try:
            return self._run_engine(share, error)
        finally:
            limit.give_back(share, self._packets_read() - before)

    def _packets_read(self) -> int:
        return sum(source.read for source in self.statistics().sources)

    def _run_engine(self, packets: int, error: Any) -> int:
        status = int(lib.gs_engine_run(self._engine, packets, WAIT_MS, error))
        if status == lib.GS_REFUSED:
            raise self._problem() or SourceError(message_of(error))
        return check(status, error)

    def _problem(self) -> BaseException | None:
        """Why a source could not be opened here."""
        problems = (host.problem for host in self._opened if host is not None)
        return next((problem for problem in problems if problem is not None), None)

    def _keep_pace(self, pace: Pace) -> None:
        """Let the engine read as far as the wall clock says; wait for it where it is ahead."""
        upcoming = int(lib.gs_engine_next_timestamp(self._engine))
        lib.gs_engine_replay_until(self._engine, pace.wait_for(upcoming, WAIT_MS / 1000))

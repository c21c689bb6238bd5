# SPDX-License-Identifier: Apache-2.0
"""A session runs a plan over sources in this process: both levels, rows as windows close."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gigastream.engine import counters
from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, check
from gigastream.engine.events import Event, Origin, origins, taken
from gigastream.engine.filters import add_filter
from gigastream.engine.live import configure, hint_for, snap_bytes
from gigastream.engine.opening import new_engine
from gigastream.engine.pace import Pace
from gigastream.engine.statistics import Statistics
from gigastream.live import LiveSource
from gigastream.plan import Plan
from gigastream.settings import Settings
from gigastream.sources import FileSource, OpenSource, SourceError

__all__ = ["EngineError", "Event", "Session", "Statistics"]

PACKET_BUDGET = 1 << 20
"""Packets after which the engine looks up, so that Python sees signals and shows progress."""
WAIT_MS = 100
NOTHING = -(1 << 63)


class Session:
    """Opens everything on construction; close() gives it back. SourceError, EngineError."""

    def __init__(
        self,
        plan: Plan,
        sources: Sequence[FileSource | LiveSource],
        settings: Settings | None = None,
        *,
        taps: Sequence[str] = (),
        low_taps: bool = False,
        promises: Mapping[str, int] | None = None,
        include: Sequence[Path] = (),
        links_are_open: Callable[[], None] | None = None,
    ) -> None:
        """Open a plan over sources.

        `taps` names nodes whose streams come out as events as well. With `low_taps` every LFTA's
        batches do, interface by interface, punctuation and heartbeats included. `promises` says by
        interface what its packets are known not to be below (ns): earlier ones are late.
        `links_are_open` is called when all links are open, nothing is read and no thread is made.
        """
        self._settings = settings or Settings()
        self._promises = promises or {}
        self._keep: list[Any] = []
        self._opened: list[OpenSource | None] = []
        self._engine: Any = ffi.NULL
        self._stopped = False
        try:
            self._open(plan, sources, taps, low_taps, include, links_are_open)
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
        return counters.statistics(self._engine, self._opened)

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        if self._engine != ffi.NULL:
            lib.gs_engine_free(self._engine)
            self._engine = ffi.NULL
        for source in self._opened:
            if source is not None:
                source.close()
        self._opened = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- opening ----

    def _open(
        self,
        plan: Plan,
        sources: Sequence[FileSource | LiveSource],
        taps: Sequence[str],
        low_taps: bool,
        include: Sequence[Path],
        links_are_open: Callable[[], None] | None,
    ) -> None:
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
        if links_are_open is not None:
            links_are_open()
        for source in sources:
            if isinstance(source, FileSource):
                self._add(source, len(sources) > 1, error)
        names = [node.name for node in plan.nodes]
        for name in taps:
            check(lib.gs_engine_tap(self._engine, names.index(name), error), error)
        check(lib.gs_engine_start(self._engine, error), error)
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
        config.promise_ns = self._promises.get(source.interface, NOTHING)
        kept = configure(config, source, self._snap)
        status = lib.gs_engine_add_source(self._engine, config, error)
        del kept
        if status == lib.GS_REFUSED:
            raise SourceError(_message(error), hint_for(_message(error)))
        check(status, error)

    def _add(self, source: FileSource, has_siblings: bool, error: Any) -> None:
        promise = self._promise(source) if has_siblings else NOTHING
        opened = source.open()
        self._opened.append(opened)
        texts = [ffi.new("char[]", os.fsencode(t)) for t in (source.interface, source.label)]
        path = ffi.NULL if opened.path is None else ffi.new("char[]", os.fsencode(opened.path))
        self._keep += [*texts, path]
        config = ffi.new("struct gs_source_config *")
        config.interface, config.label, config.path = texts[0], texts[1], path
        config.descriptor = opened.descriptor
        config.use_mmap = self._settings.use_mmap
        config.is_pipe = opened.is_pipe
        config.promise_ns = max(promise, self._promises.get(source.interface, NOTHING))
        check(lib.gs_engine_add_source(self._engine, config, error), error)

    def _promise(self, source: FileSource) -> int:
        """What a file promises before it is opened: the least timestamp of its first two blocks."""
        if source.is_stdin or not os.path.isfile(source.path) or not self._settings.disorder_bytes:
            return NOTHING
        opened = source.open()
        promise, error = ffi.new("int64_t *"), ffi.new("struct gs_error *")
        path = ffi.NULL if opened.path is None else os.fsencode(opened.path)
        block = self._settings.disorder_bytes
        try:
            status = lib.gs_scan_promise(path, opened.descriptor, block, promise, error)
        finally:
            opened.close()
        if status == lib.GS_ERROR:
            raise SourceError(f"{source.label}: {_message(error)}")
        return int(promise[0]) if status == lib.GS_OK else NOTHING

    # ---- running ----

    def _run(self, error: Any) -> int:
        if self._stopped:
            lib.gs_engine_stop(self._engine)
        if self._pace is not None:
            self._keep_pace(self._pace)
        status = int(lib.gs_engine_run(self._engine, PACKET_BUDGET, WAIT_MS, error))
        if status == lib.GS_REFUSED:
            raise SourceError(_message(error))
        return check(status, error)

    def _keep_pace(self, pace: Pace) -> None:
        """Let the engine read as far as the wall clock says; wait for it where it is ahead."""
        upcoming = int(lib.gs_engine_next_timestamp(self._engine))
        lib.gs_engine_replay_until(self._engine, pace.wait_for(upcoming, WAIT_MS / 1000))


def _message(error: Any) -> str:
    return os.fsdecode(ffi.string(error.message))

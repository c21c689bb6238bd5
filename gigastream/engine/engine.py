# SPDX-License-Identifier: Apache-2.0
"""What reads: sources, clocks and filters, and the query sets that get the packets."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gigastream.engine import counters
from gigastream.engine._native import ffi, lib
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import EngineError, check
from gigastream.engine.filters import add_filter
from gigastream.engine.host import (
    NOTHING,
    UNKNOWN,
    HostSource,
    Scanned,
    message_of,
    refusal,
    scan,
)
from gigastream.engine.live import FULL_PACKET_BYTES, configure, hint_for
from gigastream.engine.opening import check_tables, engine_settings
from gigastream.engine.privileges import open_link
from gigastream.engine.statistics import SourceStatistics, StageCosts
from gigastream.late_dataclass import fields
from gigastream.liveness import Liveness, OnFailure
from gigastream.records.source import StreamSource
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from gigastream.sources.live import DEFAULT_MAX_SKEW_NS, LiveSource
from gigastream.sources.packets import PacketSource
from gigastream.timestamps import EXTERNAL, TIMESTAMPS, Timestamps

if TYPE_CHECKING:
    from gigastream.engine.extents import DividedFile

_INSTRUCTION = struct.Struct("=HBBI")
"""A `struct sock_filter`: code, jt, jf, k."""
File = FileSource | PacketSource | StreamSource


class Engine:
    """Gives the packets of its sources to every query set that is attached to it.

    It is used by one thread at a time. All sources are added before the first set is attached.
    Whoever calls run() attaches and detaches between two calls; between two calls it is also
    between two bursts. EngineError, SourceError.
    """

    def __init__(self, settings: Settings | None = None, *, is_resident: bool = False) -> None:
        """Make one that has no sources yet. FilterError for the setting `filter`.

        One that is resident goes on reading when all its query sets are answered: others may come.
        """
        self._settings = settings or Settings()
        self._error = ffi.new("struct gs_error *")
        self._keep: list[Any] = []
        self._opened: list[HostSource | None] = []
        self._attached: list[AttachedSet] = []
        engine = ffi.new("struct gs_engine **")
        native = engine_settings(self._settings, is_resident=is_resident)
        status = lib.gs_engine_new(native, engine, self._error)
        self._native: Any = engine[0]
        try:
            check(status, self._error)
            if self._settings.filter:
                self._keep += add_filter(self.native, self._settings.filter)
        except BaseException:
            self.close()
            raise

    @property
    def native(self) -> Any:
        """The `struct gs_engine *`. EngineError once it is closed."""
        if self._native == ffi.NULL:
            raise EngineError("the engine is closed")
        return self._native

    # ---- sources ----

    def add_link(self, source: LiveSource, snap: int = FULL_PACKET_BYTES) -> None:
        """Open a link at once.

        `snap` bytes of each packet are captured unless the link's settings say else: as many as the
        sets need that will ever be attached.
        """
        source.check()
        if self._settings.is_periodic and self._settings.heartbeat_ns == 0:
            raise SourceError(f"{source.label}: without heartbeats no window of a link would end")
        self._opened.append(None)
        config, texts = _config(source, self._settings.liveness_of(source.interface))
        config.promise_ns = NOTHING
        config.timestamps = TIMESTAMPS.index(self._timestamps(source))
        kept = configure(config, source, snap)
        self._keep.append(source.group)
        status = open_link(lambda: lib.gs_engine_add_source(self.native, config, self._error))
        del kept, texts
        if status == lib.GS_REFUSED:
            raise SourceError(message_of(self._error), hint_for(message_of(self._error)))
        check(status, self._error)

    def add_files(self, files: Sequence[File], promises: Mapping[str, int] | None = None) -> None:
        """Add files, pipes, lists of packets and STREAMs, which are opened when it is their turn.

        `promises` says by interface what its packets are known not to be below (ns): earlier ones
        are late. It holds of links, too, that were added before.
        """
        _check_descriptors([*(host.given for host in self._opened if host is not None), *files])
        promises = promises or {}
        for interface, promise in promises.items():
            name = os.fsencode(interface)
            check(lib.gs_engine_promise(self.native, name, promise, self._error), self._error)
        has_siblings = len(self._opened) + len(files) > 1
        seen = [self._scanned(file) if has_siblings else UNKNOWN for file in files]
        for file, scanned in zip(files, seen, strict=True):
            self._add_file(file, scanned, promises.get(file.interface, NOTHING))

    def _scanned(self, file: File) -> Scanned:
        """What is known of a file before it is opened: asked where one waits for another."""
        if not file.is_file or self._timestamps(file) != EXTERNAL:
            return UNKNOWN
        if isinstance(file, FileSource) and file.divided is not None:
            divided: DividedFile = file.divided
            return divided.extents.scanned(divided.file, lambda: scan(file, self._settings))
        return scan(file, self._settings)

    def _timestamps(self, source: File | LiveSource) -> Timestamps:
        return source.timestamps or self._settings.timestamps

    def _add_file(self, source: File, seen: Scanned, promise_ns: int) -> None:
        host = HostSource(source)
        self._opened.append(host)
        config, texts = _config(source, self._settings.liveness_of(source.interface))
        config.open, config.close, config.context = lib.gs_host_open, lib.gs_host_close, host.handle
        config.use_mmap = self._settings.use_mmap
        if isinstance(source, FileSource) and source.divided is not None:
            config.extents = source.divided.extents.native
            config.divided_file, config.reader = source.divided.file, source.divided.reader
        config.is_pipe = host.source.is_pipe
        config.is_records = isinstance(source, StreamSource)
        config.timestamps = TIMESTAMPS.index(self._timestamps(source))
        config.max_skew_ns = DEFAULT_MAX_SKEW_NS
        config.promise_ns = max(seen.promise_ns, promise_ns)
        config.first_ns = seen.first_ns
        check(lib.gs_engine_add_source(self.native, config, self._error), self._error)
        del texts

    # ---- query sets ----

    def attach(self, queries: AttachedSet) -> None:
        """Let a set get what is read from here on. BudgetError, ListError."""
        queries.open_files()
        status = lib.gs_engine_attach(self.native, queries.native, self._error)
        check_tables(status, self._error, queries.memory_bytes)
        self._attached.append(queries)

    def detach(self, queries: AttachedSet) -> None:
        """End the input of a set here: queries.drained() has what is still to come of it.

        Once more is harmless.
        """
        lib.gs_engine_detach(self.native, queries.native)
        self._attached = [each for each in self._attached if each is not queries]
        queries.raise_problem()

    # ---- running ----

    def start(self) -> None:
        """Get ready to read."""
        check(lib.gs_engine_start(self.native, self._error), self._error)

    def run(self, packets: int, wait_ms: int) -> bool:
        """Read so many packets at most, until a set has batches, which are then to be taken.

        Returns also where all sources have been silent for so long. False: the input has ended, or
        all sets are answered, and their last batches are out.
        """
        status = int(lib.gs_engine_run(self.native, packets, wait_ms, self._error))
        for queries in self._attached:
            queries.raise_problem()
        if status == lib.GS_REFUSED:
            raise self._problem() or self._refused(message_of(self._error))
        return bool(check(status, self._error) != lib.GS_END)

    def wake_by(self, descriptor: int) -> None:
        """Let run() return where this can be read: at once while the sources are silent, else soon.

        Soon is within 50 ms. From now on it returns after `wait_ms` in any case.
        """
        lib.gs_engine_wake_by(self.native, descriptor)

    def alarm(self, ring_percent: int) -> None:
        """Let run() return, too, where a link's ring is so full, or has dropped packets.

        It is looked at 20 times a second, since wake_by().
        """
        lib.gs_engine_alarm(self.native, ring_percent)

    def set_prefilter(self, program: Sequence[tuple[int, int, int, int]] | None) -> None:
        """Let the kernel reject what a program of classic BPF does; None: nothing.

        Of the links whose settings say `kernel_prefilter`. What is rejected is seen and counted by
        nobody, and tells no time. EngineError: links may pass more than before, none less.
        """
        packed = b"".join(_INSTRUCTION.pack(*instruction) for instruction in program or ())
        buffer = ffi.from_buffer(packed)
        native = ffi.cast("struct sock_filter *", buffer)
        length = len(packed) // _INSTRUCTION.size
        check(lib.gs_engine_set_prefilter(self.native, native, length, self._error), self._error)

    def renew(self, source: int, socket: int | None) -> bool:
        """Let a link's ring whose device was removed go on with that of another socket.

        It is one of open_packet_sockets, and stays the caller's; None: ask whether it could be.
        False: what was captured before is not read out yet. EngineError leaves it as it was.
        """
        number = -1 if socket is None else socket
        status = lib.gs_engine_renew(self.native, source, number, self._error)
        return bool(check(status, self._error) == lib.GS_OK)

    def unseen(self, until_ns: int, interface: str | None = None) -> None:
        """Say that an interface, or all links, may have had packets until then that none has read.

        Their reader may have crashed. For sets that are attached after the start windows that reach
        so far are cut.
        """
        name = ffi.NULL if interface is None else os.fsencode(interface)
        lib.gs_engine_unseen(self.native, name, until_ns)

    def want(self, interface: str, timestamp_ns: int) -> None:
        """Ask on behalf of who gets the sets' batches: for packet time to come so far."""
        lib.gs_engine_want(self.native, os.fsencode(interface), timestamp_ns)

    def stop(self) -> None:
        """End the input here; what the kernel has captured of a link is read."""
        lib.gs_engine_stop(self.native)

    def halt(self) -> None:
        """End the input here; what the kernel has captured is counted."""
        lib.gs_engine_halt(self.native)

    def sample(self, shift: int) -> None:
        """Give the sets 1 in 2^shift flows from now on, whole ones; 0: all. EngineError.

        The packets of the others tell the time, and are counted: `sampled_out`.
        """
        check(lib.gs_engine_sample(self.native, shift, self._error), self._error)

    def measure_stages(self) -> None:
        """Measure from now on what the stages cost, for the sets that are attached."""
        lib.gs_engine_measure_stages(self.native)

    def stage_costs(self) -> StageCosts:
        """What the stages have cost since."""
        native = ffi.new("struct gs_stage_costs *")
        lib.gs_engine_stages(self.native, native)
        names = [one.name for one in fields(StageCosts)]
        return StageCosts(**{name: int(getattr(native, name)) for name in names})

    @property
    def next_timestamp_ns(self) -> int:
        """Of the packet that is read next, as far as it is known; 2^63 - 1: there is none."""
        return int(lib.gs_engine_next_timestamp(self.native))

    def replay_until(self, timestamp_ns: int) -> None:
        """Let later packets wait."""
        lib.gs_engine_replay_until(self.native, timestamp_ns)

    def statistics(self) -> tuple[SourceStatistics, ...]:
        """The counters of the sources so far."""
        opened = [None if host is None else host.source for host in self._opened]
        return counters.sources(self.native, opened)

    def promises(self) -> tuple[int, ...]:
        """Of the sources: `promise_ns` of their counters, which costs next to nothing."""
        count = lib.gs_engine_source_count(self.native)
        return tuple(int(lib.gs_engine_source_promise(self.native, n)) for n in range(count))

    def failure(self) -> BaseException | None:
        """What the iterable of packets from memory raised that broke off; None: none did."""
        found = (host.source.failure for host in self._opened if host is not None)
        return next((failure for failure in found if failure is not None), None)

    def close(self) -> None:
        """Give everything back but the sets, which are no more attached."""
        lib.gs_engine_free(self._native)
        self._native = ffi.NULL
        for host in self._opened:
            if host is not None:
                host.close()
        self._opened = []

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _problem(self) -> BaseException | None:
        """Why a source could not be opened here."""
        problems = (host.problem for host in self._opened if host is not None)
        return next((problem for problem in problems if problem is not None), None)

    def _refused(self, message: str) -> SourceError:
        """The source's that the message begins with."""
        for host in self._opened:
            if host is not None and message.startswith(f"{host.given.label}: "):
                return refusal(host.given.label, message, host.source.damage)
        return SourceError(message)


def _check_descriptors(files: Sequence[File]) -> None:
    """A descriptor has one offset: two sources of it would read what the other has not."""
    seen = set()
    for file in files:
        number = file.opened if isinstance(file, FileSource) else None
        if number in seen:
            raise SourceError(f"{file.label}: descriptor {number} is a source already")
        if number is not None:
            seen.add(number)


def _config(source: File | LiveSource, liveness: Liveness) -> tuple[Any, list[Any]]:
    """A `struct gs_source_config *` with its names, and what must live until it is added."""
    texts = [ffi.new("char[]", os.fsencode(text)) for text in (source.interface, source.label)]
    config = ffi.new("struct gs_source_config *")
    config.interface, config.label = texts
    config.liveness_ns = liveness.silence_ns or 0
    config.on_failure = OnFailure(liveness.on_failure).number
    return config, texts

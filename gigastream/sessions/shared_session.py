# SPDX-License-Identifier: Apache-2.0
"""All cores for a replay: engines side by side, each of which answers for its share of packets.

Every engine reads all records and keeps time over all of them, so that windows, late packets and
the account are those of one. Both levels of it see the packets of its own share alone
(plan/sharing.py); the bytes of a file are read once (csrc/capture/shared_bytes.h). Rows come window
by window (shared_rows.py), and whoever ends early ends behind the same packet (common_end.py).
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from gigastream.engine import memory
from gigastream.engine.batch import EngineError
from gigastream.engine.events import Event
from gigastream.engine.share import MOST_PARTS, Share, SharedBytes
from gigastream.engine.statistics import (
    LftaStatistics,
    OperatorStatistics,
    StageCosts,
    Statistics,
)
from gigastream.late_dataclass import fields, replace
from gigastream.plan import Plan
from gigastream.plan.nodes import Node
from gigastream.plan.sharing import DESTINATION, SOURCE, NotShared, addresses_of
from gigastream.records.source import AnySource
from gigastream.sessions.common_end import CommonEnd, ReaderLimit
from gigastream.sessions.session import WAIT_MS, Session
from gigastream.sessions.shape import NO_OPTIONS, Closing, SessionOptions
from gigastream.sessions.shared_rows import SharedRows
from gigastream.sessions.time_column import time_column
from gigastream.settings import MAX_BURST_PACKETS, Settings
from gigastream.sources.files import FileSource, are_small
from gigastream.sources.packets import PacketSource

EVENTS_MAX = 64
"""Of one part, that wait though nobody waits for another."""
COUNTED_EVERY_S = 0.5
LOOK_EVERY_S = 0.2
"""Whether the program is ending, while a part waits for who takes its rows."""
_GREATEST = frozenset({"slots", "groups_most"})
"""Of the tables: every part has one of its own."""
Counted = TypeVar("Counted", LftaStatistics, OperatorStatistics)


def open_replay(
    plan: Plan,
    sources: Sequence[AnySource | PacketSource],
    settings: Settings,
    options: SessionOptions = NO_OPTIONS,
) -> Session | SharedSession:
    """Open a session with as many threads as the setting `jobs` says, where that can be."""
    try:
        check_shared(plan, sources, settings)
    except NotShared:
        return Session(plan, sources, settings, options)
    return SharedSession(plan, sources, settings, options)


def check_shared(
    plan: Plan, sources: Sequence[AnySource | PacketSource], settings: Settings
) -> None:
    """NotShared says why this is one engine's."""
    if settings.jobs == 1:
        raise NotShared("one is asked for")
    if not all(isinstance(source, FileSource) and source.is_file for source in sources):
        raise NotShared("what is read is not a capture file")
    if len({source.interface for source in sources}) > 1:
        raise NotShared("several interfaces are read")
    if are_small(sources):
        raise NotShared("so small a capture is read before a second thread is of use")
    if len(sources) > 1 and settings.packets_max is not None:
        raise NotShared("--count ends several captures where one engine has come in each")
    if len(sources) > 1 and any(map(_is_compressed, sources)):
        raise NotShared("several compressed captures are read as they are unpacked")
    if settings.speed is not None:
        raise NotShared("--speed replays no faster than the packets came")
    if settings.max_groups is not None or settings.max_rows is not None:
        raise NotShared("--max-groups and --max-rows count what is held together")
    addresses_of(plan)
    if _has_windows(plan.low) and not all(_has_windows([node]) for node in plan.outputs):
        raise NotShared("its rows do not say of which window they are")


def _has_windows(nodes: Sequence[Node]) -> bool:
    return any(time_column(node.schema) is not None for node in nodes)


def _is_compressed(source: AnySource | PacketSource) -> bool:
    return isinstance(source, FileSource) and source.is_compressed


class SharedSession(Closing):
    """Like a Session over files, by several threads. SourceError, EngineError, NotShared."""

    def __init__(
        self,
        plan: Plan,
        sources: Sequence[AnySource | PacketSource],
        settings: Settings,
        options: SessionOptions = NO_OPTIONS,
    ) -> None:
        """Open a plan over files, by as many engines as the setting `jobs` says."""
        self._parts = min(settings.jobs, MOST_PARTS)
        self._memory_bytes = settings.memory_bytes
        self._wants_punctuation = settings.output_punctuation or settings.deliver_every_burst
        self._changed = threading.Condition()
        self._is_closing = self._is_awaited = False
        self._problem: Exception | None = None
        self._running = self._parts
        self._waiting = [0] * self._parts
        self._rows = {node.name: SharedRows(node.schema, self._parts) for node in plan.outputs}
        self._end = CommonEnd(self._parts, settings.packets_max)
        self._files = [SharedBytes(self._parts) for _ in sources]
        self._threads: list[threading.Thread] = []
        self._sessions: list[Session] = []
        try:
            self._open(plan, sources, settings, options)
        except BaseException:
            self.close()
            raise
        self._counted = [session.statistics() for session in self._sessions]

    def _open(
        self,
        plan: Plan,
        sources: Sequence[AnySource | PacketSource],
        settings: Settings,
        options: SessionOptions,
    ) -> None:
        found, key = addresses_of(plan), secrets.randbits(64)
        own = replace(settings, burst=self._burst(sources, settings), output_punctuation=True)
        ends = SOURCE in found, DESTINATION in found
        for part in range(self._parts):
            share = Share(part, self._parts, *ends, key, self._files)
            limit = ReaderLimit(self._end, part)
            each = replace(options, share=share, limit=limit)
            self._sessions.append(Session(plan, sources, own, each))

    def _burst(self, sources: Sequence[AnySource | PacketSource], settings: Settings) -> int:
        """So many that as many are left of it; of several files bursts say which is read when."""
        if len(sources) > 1:
            return settings.burst
        return min(settings.burst * self._parts, MAX_BURST_PACKETS)

    def batches(self) -> Iterator[Event]:
        """Batches as they come, to the end of the input or stop()."""
        for turn in self.turns():
            yield from turn

    def turns(self) -> Iterator[tuple[Event, ...]]:
        """The same, together what was there; nothing, now and then."""
        self._start()
        goes_on = True
        while goes_on:
            with self._changed:
                goes_on, problem = self._running > 0, self._problem
                # of what a part that has failed lacks nothing is given
                events = () if problem is not None else tuple(self._taken())
                if not events and goes_on and problem is None:
                    self._await()
            if problem is not None:
                raise problem
            yield events

    def _start(self) -> None:
        for part in range(self._parts):
            name = f"gigastream-{part}"
            thread = threading.Thread(target=self._read, args=(part,), name=name)
            try:
                thread.start()
            except RuntimeError as problem:
                hint = "a smaller --jobs, or a higher limit of processes or memory"
                raise EngineError(f"{self._parts} threads: {problem}", hint) from None
            self._threads.append(thread)

    def stop(self) -> None:
        """End the input soon: the open windows are answered. May be called by a signal handler."""
        self._end.stop()

    def measure_stages(self) -> None:
        """Measure from now on what each stage costs, before anything is read."""
        for session in self._sessions:
            session.measure_stages()

    def stage_costs(self) -> StageCosts:
        """What the stages have cost, of all threads together."""
        costs = [session.stage_costs() for session in self._sessions]
        names = [field.name for field in fields(StageCosts) if field.name != "packets"]
        sums: dict[str, Any] = {name: sum(getattr(c, name) for c in costs) for name in names}
        return replace(costs[0], **sums)

    def change(self, _plan: Plan) -> NoReturn:
        """No other plan may answer from some packet on. ChangeError."""
        from gigastream.sessions.changes import ChangeError

        raise ChangeError("several threads answer this", "the setting jobs=1")

    def statistics(self) -> Statistics:
        """The counters, half a second old at most: those of reading are the same in all parts."""
        first, counted = self._counted[0], self._counted
        lftas = _summed([each.lftas for each in counted])
        operators = _summed([each.operators for each in counted])
        used = memory.statistics(self._memory_bytes)  # the engines are other threads'
        return replace(first, lftas=lftas, operators=operators, memory=used)

    def failure(self) -> BaseException | None:
        """What an iterable of packets raised: files are none."""
        return None

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        with self._changed:
            self._give_up()
        for thread in self._threads:
            thread.join()
        for session in self._sessions:
            session.close()

    # ---- with the lock ----

    def _give_up(self) -> None:
        """Nobody takes anything any more: no part waits for another, in C neither."""
        self._is_closing = True
        self._end.stop()
        for file in self._files:
            file.give_up()
        self._changed.notify_all()

    def _taken(self) -> Iterator[Event]:
        for rows in self._rows.values():
            while (event := rows.take()) is not None:
                if event.batch.row_count or self._wants_punctuation:
                    yield event
        self._waiting = [0] * self._parts
        self._changed.notify_all()

    def _await(self) -> None:
        """Who has given much goes on all the same: another part may not come on without it."""
        self._is_awaited = True
        self._changed.notify_all()
        self._changed.wait(WAIT_MS / 1000)
        self._is_awaited = False

    # ---- the other threads ----

    def _read(self, part: int) -> None:
        try:
            self._read_all(part)
        except Exception as problem:
            self._problem = self._problem or problem
        with self._changed:
            self._running -= 1
            for rows in self._rows.values():
                rows.end(part)
            self._changed.notify_all()

    def _read_all(self, part: int) -> None:
        session, due = self._sessions[part], 0.0
        for turn in session.turns():
            if turn:
                self._put(part, turn)
            if self._is_closing:
                return
            if time.monotonic() >= due:
                self._counted[part] = session.statistics()
                due = time.monotonic() + COUNTED_EVERY_S
        self._counted[part] = session.statistics()

    def _put(self, part: int, turn: Sequence[Event]) -> None:
        """Wait while there is much that nobody has taken."""
        with self._changed:
            for event in turn:
                self._rows[event.query].put(part, event)
            self._waiting[part] += len(turn)
            self._changed.notify_all()
            while self._waiting[part] > EVENTS_MAX and not (self._is_awaited or self._is_closing):
                self._changed.wait(LOOK_EVERY_S)
                if not threading.main_thread().is_alive():  # it awaits us, and takes nothing
                    self._give_up()


def _summed(parts: Sequence[Sequence[Counted]]) -> tuple[Counted, ...]:
    """Those of one plan, in the same order in each part, as if the parts were one."""
    return tuple(_sum(of_one) for of_one in zip(*parts, strict=True))


def _folded(name: str, values: Sequence[int]) -> int:
    if name == "promised_ns":
        return min(values)
    return max(values) if name in _GREATEST else sum(values)


def _sum(parts: Sequence[Counted]) -> Counted:
    """What has no sum is the first one's; what is promised is the least."""
    sums: dict[str, Any] = {}
    for item in fields(type(parts[0])):
        values = [getattr(part, item.name) for part in parts]
        if all(type(value) is int for value in values):
            sums[item.name] = _folded(item.name, values)
    return replace(parts[0], **sums)

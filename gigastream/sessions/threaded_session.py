# SPDX-License-Identifier: Apache-2.0
"""One engine thread for each part of the input; their partial rows are united here (DESIGN 4).

Each part has LFTAs of its own, which share nothing with the others'. What they put out, rows and
punctuation, goes to one high level by a queue of bounded length: where the output cannot follow,
the threads wait, the rings fill, and the kernel drops and counts. Nothing in the queue is dropped.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence

from gigastream.codegen.interfaces import is_read
from gigastream.engine import memory
from gigastream.engine.batch import EngineError
from gigastream.engine.events import Event
from gigastream.engine.live import rings
from gigastream.engine.statistics import LftaStatistics, Statistics
from gigastream.late_dataclass import dataclass, fields, replace
from gigastream.plan import Plan
from gigastream.records.source import AnySource
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.limit import PacketLimit
from gigastream.sessions.row_windows import check_row_windows
from gigastream.sessions.session import WAIT_MS, Session
from gigastream.sessions.shape import NO_OPTIONS, Closing, SessionOptions
from gigastream.settings import Settings
from gigastream.sources.live import LiveSource

TURNS_MAX = 8
"""Of all threads together, that wait for the high level."""
COUNTED_EVERY_S = 0.5
_GREATEST = ("slots", "groups_most", "ways")
"""Of tables: each part has one of its own."""


@dataclass(frozen=True, slots=True)
class _Route:
    """Where the batches of a part's stream go."""

    up: HighSession
    port: int
    interface: str | None
    """Whose streams come out there; None: what comes out is no interface's."""


Handed = tuple[int, Sequence[Event]]
"""(part, what came of a turn of its thread)."""
_NOTHING: Handed = (0, ())
Names = Sequence[Sequence[str]]
"""The interfaces of each part."""
Stream = tuple[int, str, str]
"""(part, stream, interface)."""


def parts_of(sources: Sequence[AnySource]) -> list[list[AnySource]]:
    """Divide the input: ring k of each link is in part k, files are in the first."""
    divided: list[list[AnySource]] = [[]]
    for source in sources:
        each: list[AnySource] = [*rings(source)] if isinstance(source, LiveSource) else [source]
        divided += [[] for _ in range(len(each) - len(divided))]
        for part, ring in zip(divided, each, strict=False):
            part.append(ring)
    return divided


def open_session(
    plan: Plan,
    sources: Sequence[AnySource],
    settings: Settings,
    options: SessionOptions = NO_OPTIONS,
) -> Session | ThreadedSession:
    """Open a session with as many threads as the links have rings. SourceError, EngineError."""
    check_row_windows(plan, sources)
    parts = parts_of(sources)
    if len(parts) > 1:
        return ThreadedSession(plan, parts, settings, options)
    return Session(plan, sources, settings, options)


class ThreadedSession(Closing):
    """Like a Session, over parts that are read at once. SourceError, EngineError."""

    def __init__(
        self,
        plan: Plan,
        parts: Sequence[Sequence[AnySource]],
        settings: Settings | None = None,
        options: SessionOptions = NO_OPTIONS,
    ) -> None:
        """Open all.

        With low_taps what the LFTAs put out is united interface by interface, and nothing else.
        """
        self._queue: queue.Queue[Handed | Exception | None] = queue.Queue(TURNS_MAX)
        self._is_closing = False
        self._highs: list[HighSession] = []
        self._lows: list[Session] = []
        self._threads: list[threading.Thread] = []
        try:
            self._open(plan, parts, settings or Settings(), options)
        except BaseException:
            self.close()
            raise

    def _open(
        self,
        plan: Plan,
        parts: Sequence[Sequence[AnySource]],
        settings: Settings,
        options: SessionOptions,
    ) -> None:
        self._memory_bytes = settings.memory_bytes
        names = [sorted({source.interface for source in part}) for part in parts]
        self._asks = settings.is_on_demand and not options.low_taps
        self._wanted: list[dict[str, int]] = [{} for _ in parts]
        self._open_above(plan, names, settings, options)
        limit = settings.packets_max and PacketLimit(settings.packets_max, len(parts))
        links = replace(options, begins=False, limit=limit or None)
        for number, part in enumerate(parts):
            self._lows.append(self._open_part(plan, part, number, settings, links))
            links = replace(links, code=self._lows[0].code)
        promises = options.links_are_open() if options.links_are_open is not None else {}
        for session in self._lows:
            session.begin(promises)
        self._counted = [session.statistics() for session in self._lows]
        for number in range(len(parts)):
            name = f"gigastream-{number}"
            self._threads.append(threading.Thread(target=self._read, args=(number,), name=name))

    def _open_above(
        self, plan: Plan, names: Names, settings: Settings, options: SessionOptions
    ) -> None:
        """Open what takes the batches of all parts."""
        low = replace(settings, low_level_only=True)
        if options.low_taps:
            self._routes = self._unions(plan, names, low, options)
        else:
            self._routes = self._high_level(plan, names, settings, options)

    def _open_part(
        self,
        plan: Plan,
        sources: Sequence[AnySource],
        number: int,
        settings: Settings,
        options: SessionOptions,
    ) -> Session:
        """Open what reads a part of the input, by a thread of its own."""
        low = replace(settings, low_level_only=True)
        return Session(plan, sources, low, replace(options, low_taps=True, taps=()))

    def _high_level(
        self, plan: Plan, names: Names, settings: Settings, options: SessionOptions
    ) -> dict[Stream, _Route]:
        """One for all."""
        flat = [name for part in names for name in part]
        up = HighSession(plan, flat, settings, include=options.include)
        self._highs.append(up)
        return _routes(up, names, None)

    def _unions(
        self, plan: Plan, names: Names, settings: Settings, options: SessionOptions
    ) -> dict[Stream, _Route]:
        """One for each interface, in which nothing but its low nodes' unions is."""
        found: dict[Stream, _Route] = {}
        for interface in dict.fromkeys(name for part in names for name in part):
            own = [[name for name in part if name == interface] for part in names]
            taps = [node.name for node in plan.low if is_read(node, interface)]
            flat = [name for part in own for name in part]
            up = HighSession(plan, flat, settings, taps=taps, include=options.include)
            self._highs.append(up)
            found.update(_routes(up, own, interface))
        return found

    def batches(self) -> Iterator[Event]:
        """Batches as they come, heartbeats among them, to the end of the input or stop()."""
        for turn in self.turns():
            yield from turn

    def turns(self) -> Iterator[tuple[Event, ...]]:
        """The same, together what came of one thread's turn; nothing, now and then. EngineError."""
        self._start()
        running = len(self._threads)
        while running:
            if self._is_closing:
                raise EngineError("the session is closed")
            handed = self._next()
            running -= handed is None
            yield tuple(self._answered(handed)) if handed else ()
            if self._asks:
                self._ask()

    def _start(self) -> None:
        for thread in self._threads:
            try:
                thread.start()
            except RuntimeError as problem:
                hint = "fewer of them, or a higher limit of processes or memory"
                raise EngineError(f"{len(self._threads)} threads: {problem}", hint) from None

    def stop(self) -> None:
        """End the input here: the open windows are answered. May be called by a signal handler."""
        for session in self._lows:
            session.stop()

    def statistics(self) -> Statistics:
        """The counters of all parts, half a second old at most, and those of the high level."""
        sources = [source for counted in self._counted for source in counted.sources]
        lftas = _summed([lfta for counted in self._counted for lfta in counted.lftas])
        operators = [o for up in self._highs for o in up.statistics().operators]
        used = memory.statistics(self._memory_bytes)
        lists = self._counted[0].lists  # each part has read the same
        threads = len(self._lows)
        return Statistics(tuple(sources), lftas, tuple(operators), used, lists, threads)

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        self._is_closing = True
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        for low in self._lows:
            low.close()
        for up in self._highs:
            up.close()

    # ---- the high level's thread ----

    def _next(self) -> Handed | None:
        """What a thread has put into the queue: nothing yet; None: it has ended."""
        try:
            item = self._queue.get(timeout=WAIT_MS / 1000)
        except queue.Empty:
            return _NOTHING
        if isinstance(item, Exception):
            raise item
        return item

    def _answered(self, handed: Handed) -> Iterator[Event]:
        part, turn = handed
        for own in turn:
            route = self._route(part, own)
            route.up.hand_over(route.port, own.batch)
            for event in route.up.batches():
                yield replace(event, interface=route.interface)
            if route.up.is_answered:
                self.stop()

    def _ask(self) -> None:
        """Let each part know what is waited for of its interfaces; it looks between its turns."""
        (up,) = self._highs
        wanted = up.wanted()
        found: list[dict[str, int]] = [{} for _ in self._lows]
        for (part, _, interface), route in self._routes.items():
            if route.port in wanted:
                least = min(wanted[route.port], found[part].get(interface, wanted[route.port]))
                found[part][interface] = least
        self._wanted = found

    # ---- the other threads ----

    def _read(self, part: int) -> None:
        try:
            self._read_all(part)
        except Exception as problem:
            self._put(problem)
        finally:
            self._put(None)

    def _read_all(self, part: int) -> None:
        session, due = self._lows[part], 0.0
        for turn in session.turns():
            if turn:
                self._put((part, turn))
            if self._is_given_up():
                return
            session.want(self._wanted[part])
            if time.monotonic() >= due:
                self._counted[part] = session.statistics()
                due = time.monotonic() + COUNTED_EVERY_S
        self._counted[part] = session.statistics()

    def _is_given_up(self) -> bool:
        """Whether nobody takes anything any more: a program that ends awaits its threads."""
        if not self._is_closing and not threading.main_thread().is_alive():
            self._is_closing = True
            self.stop()
        return self._is_closing

    def _route(self, part: int, event: Event) -> _Route:
        assert event.interface is not None
        return self._routes[part, event.query, event.interface]

    def _put(self, item: Handed | Exception | None) -> None:
        """Wait for room, unless nobody will make any."""
        while not self._is_given_up():
            try:
                return self._queue.put(item, timeout=WAIT_MS / 1000)
            except queue.Full:
                continue
        return None


def _routes(up: HighSession, names: Names, interface: str | None) -> dict[Stream, _Route]:
    """Find the port of each part's streams: of those of a name, one is each part's."""
    unused = {port: [n for n, other in enumerate(up.ports) if other == port] for port in up.ports}
    return {
        (part, stream, name): _Route(up, unused[stream, name].pop(0), interface)
        for part, own in enumerate(names)
        for stream, name in unused
        if name in own
    }


def _summed(lftas: Sequence[LftaStatistics]) -> tuple[LftaStatistics, ...]:
    """One of each name and interface, as if the parts were one."""
    counts = [f.name for f in fields(LftaStatistics) if f.name not in ("name", "interface")]
    found: dict[tuple[str, str], LftaStatistics] = {}
    for lfta in lftas:
        before = found.get((lfta.name, lfta.interface))
        if before is not None:
            sums = {name: getattr(before, name) + getattr(lfta, name) for name in counts}
            sums.update(
                (name, max(getattr(before, name), getattr(lfta, name))) for name in _GREATEST
            )
            sums["promised_ns"] = min(before.promised_ns, lfta.promised_ns)
            lfta = replace(lfta, **sums)
        found[lfta.name, lfta.interface] = lfta
    return tuple(found.values())

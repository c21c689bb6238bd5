# SPDX-License-Identifier: Apache-2.0
"""The capture process: reads the links, answers the sets that it is given, and takes orders.

One thread and one loop. Several rings of a link are several sources of its one engine. Nothing that
comes over the channel, and no output, ends the loop: what fails is told and leaves all as it was.
"""

from __future__ import annotations

import gc
import math
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

from gigastream.codegen.kernel_filter import kernel_filter
from gigastream.daemon.channel import OrderChannel
from gigastream.daemon.hangs import TURN
from gigastream.daemon.input_messages import PeerOrder
from gigastream.daemon.messages import (
    AttachOrder,
    CaptureNote,
    CaptureOver,
    CaptureReady,
    CaptureReport,
    CaptureStart,
    DetachOrder,
    EndOrder,
    Order,
    OrderDone,
    RenewOrder,
    RotateOrder,
    TailOrder,
    UntailOrder,
)
from gigastream.daemon.relief import Relief
from gigastream.daemon.renewing import TooEarlyError, renew_rings
from gigastream.daemon.reports import promises_of, report_of
from gigastream.daemon.running_set import RunningSet, Surroundings
from gigastream.daemon.stream_readers import StreamReaders
from gigastream.daemon.tails import Tails
from gigastream.daemon.targets import has_spool
from gigastream.engine import memory
from gigastream.engine.batch import EngineError
from gigastream.engine.engine import Engine
from gigastream.engine.privileges import confine, gain_no_privileges, give_up_privileges
from gigastream.engine.statistics import END
from gigastream.outputs import FORMATS
from gigastream.records.source import StreamSource
from gigastream.settings import DEFAULT_SLACK_NS
from gigastream.sources.files import FileSource
from gigastream.sources.live import Source, adopted_rings

PACKET_BUDGET = 1 << 20
"""Packets of a turn at the most: a turn costs what some 1,000 of them do."""
IDLE_S = 0.05
"""Between two looks for orders where nothing is read."""
BEHIND_S = 0.02
"""Between two tries to send what the supervisor was too slow for."""
ROWS_REPORT_S = 0.05
"""Between reports that are sent since rows go out."""
_PATIENCE_S = 10.0
"""For a supervisor that is slow to hear that all is over."""


class OrderRefused(Exception):  # noqa: N818 - an answer, not a fault
    """An order that cannot be carried out; the message is for a person."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def run_capture(channel_fd: int, start: CaptureStart) -> int:
    """Run in a process of its own, made by a fork; its exit code: 0 where all ended well."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)  # the supervisor decides: see the launcher
    channel = OrderChannel(channel_fd)
    capture = _Capture(channel, start)
    problem: Exception | None = None
    with ExitStack() as opened:
        try:
            capture.begin(opened)
            capture.run()
        except Exception as error:
            problem = error
        report = capture.end()
    hint = getattr(problem, "hint", None)
    told = None if problem is None else _told(problem)
    channel.say_last(CaptureOver(report=report, error=told, hint=hint))
    channel.flush_all(_PATIENCE_S)
    return 0 if problem is None else 1


class _Capture:
    def __init__(self, channel: OrderChannel, start: CaptureStart) -> None:
        self._channel, self._start = channel, start
        self._sources: list[Source | StreamSource] = []
        self._promises = {name: at for name, at in start.promises.items() if at != END}
        self._streams = StreamReaders(start.streams, start.promises)
        self._sets: dict[str, RunningSet] = {}
        self._prepared: dict[int, RunningSet] = {}
        """By the number of its order: opened, and not attached yet."""
        self._tails = Tails(channel)
        self._engine: Engine | None = None
        self._relief: Relief | None = None
        self._ends = False
        self._report_at = self._reported_at = 0.0
        self._all_is_sent = True
        self._last: CaptureReport | None = None

    # ---- beginning ----

    def begin(self, opened: ExitStack) -> None:
        """Open the input, give up what privileges are left, attach the sets that are there."""
        start = self._start
        memory.default_budget()
        gain_no_privileges(start.user)
        engine = opened.enter_context(Engine(start.settings, is_resident=True))
        self._open_sources(engine)
        _import_all()
        gc.freeze()  # what is loaded by now stays: no collection need walk over it
        give_up_privileges(start.user)
        held = confine([Path(folder) for folder in start.folders])
        self._around = Surroundings(engine, self._sources, start.settings, self._tails, self._note)
        self._relief = Relief(start, engine)
        engine.wake_by(self._channel.descriptor)
        self._engine = engine
        self._attach_first(engine)
        self._narrow()
        self._channel.say(
            CaptureReady(
                incarnation=start.incarnation,
                pid=os.getpid(),
                seccomp=held.seccomp,
                landlock=held.landlock,
            )
        )

    def _attach_first(self, engine: Engine) -> None:
        """Spools are opened before the start, which then goes on behind what they have promised.

        Sets are attached behind it: of links, windows that are running by now are cut.
        """
        orders = [order for order in self._start.sets if self._has_prepared(order)]
        for running in self._prepared.values():
            for target in running.targets:
                engine.add_files((), _greatest(self._promises, target.promises()))
        engine.start()
        self._around.has_started = True
        now_ns = time.time_ns()
        engine.unseen(now_ns)
        away_ns = (self._start.settings.slack_ns or DEFAULT_SLACK_NS) + 2 * self._start.report_ns
        self._streams.tell_unseen(engine, self._promises, now_ns, away_ns)
        for order in orders:
            self._carry_out(order)

    def _has_prepared(self, order: AttachOrder) -> bool:
        """Open what is to be there before the start; False: it could not be, which is said."""

        def prepare() -> None:
            if has_spool(order.outputs):
                self._prepared[order.number] = RunningSet(order, self._around, None)

        return self._has_done(order, prepare)

    def _open_sources(self, engine: Engine) -> None:
        start = self._start
        for link in start.links:
            rings = adopted_rings(
                *(link.interface, link.device, link.settings, link.sockets),
                is_renewed=link.is_renewed,
            )
            for ring in rings:
                engine.add_link(ring)
            self._sources += rings
        files = [FileSource(interface, path) for interface, path in start.files]
        self._sources += [*files, *self._streams.sources]
        engine.add_files([*files, *self._streams.sources], self._promises)

    # ---- the loop ----

    def run(self) -> None:
        """Turn after turn, to the end of the input or of the orders. EngineError, SourceError."""
        goes_on = True
        while goes_on:
            self._obey()
            goes_on = self._read()
            self._hand_out()
            self._tell()

    def _obey(self) -> None:
        for order in self._channel.orders():
            self._carry_out(order)
            self._all_is_sent = self._channel.flush()  # a turn may take a second
        if (self._ends or self._channel.is_over) and self._engine is not None:
            self._ends = True
            self._engine.stop()

    def _read(self) -> bool:
        """False: all is out. Where there are files alone, they wait for the first set."""
        if not (self._sets or self._start.links or self._ends):
            self._channel.wait(IDLE_S)
            return True
        assert self._engine is not None
        try:
            return self._engine.run(PACKET_BUDGET, self._turn_ms())
        except EngineError:
            if not [s for s in self._sets.values() if s.look_for_failure()]:
                raise
            return True

    def _turn_ms(self) -> int:
        """Until something is due; an order that comes ends the turn, of a busy link soon."""
        left_s = self._report_at - time.monotonic()
        if not self._all_is_sent:
            left_s = min(left_s, BEHIND_S)
        if self._relief is not None:
            left_s = min(left_s, self._relief.looks_after_s)
        return max(1, math.ceil(1000 * left_s))

    def _hand_out(self) -> None:
        """Before rows go out the supervisor hears how far: a next incarnation begins behind it."""
        has_rows = [running.collect() for running in self._sets.values()]
        if any(has_rows) and time.monotonic() >= self._reported_at + ROWS_REPORT_S:
            self._promise()
            self._channel.flush()
        for running in self._sets.values():
            try:
                with TURN.of(running.order.number):
                    running.give()
            except Exception as problem:
                running.fail(_told(problem))
            running.look_for_failure()
            if running.failure is not None:
                self._tails.end(running.name)

    def _tell(self) -> None:
        now = time.monotonic()
        if self._relief is not None and self._relief.is_due(now):
            self._relief.look(now, self._sets)
        if now >= self._report_at:
            self._report_at = now + self._start.report_ns / 1e9
            for running in self._sets.values():
                with TURN.of(running.order.number):
                    running.tick()
            self._report()
        self._all_is_sent = self._channel.flush()

    def _note(self, text: str) -> None:
        self._channel.say(CaptureNote(text=text))

    def _report(self) -> None:
        self._reported_at = time.monotonic()
        for text in self._streams.news():
            self._note(text)
        self._last = self.report()
        self._channel.report(self._last)

    def _promise(self) -> None:
        """The last report again, but for how far: to count everything so often would cost more."""
        if self._last is None or self._engine is None:
            self._report()
            return
        self._reported_at = time.monotonic()
        interfaces = (source.interface for source in self._sources)
        reached = zip(interfaces, self._engine.promises(), strict=True)
        over = {name: at for name, at in self._last.promises.items() if at == END}
        self._last = replace(self._last, promises={**promises_of(self._start, reached), **over})
        self._channel.report(self._last)

    def report(self) -> CaptureReport:
        """All counters so far."""
        sources = () if self._engine is None else self._engine.statistics()
        shift = 0 if self._relief is None else self._relief.shift
        return report_of(self._start, sources, self._sets.values(), shift)

    def end(self) -> CaptureReport:
        """Let all sets go, whose outputs end; the last counters."""
        for running in self._sets.values():
            running.end_outputs()
            self._tails.end(running.name)
        report = self.report()
        for running in self._sets.values():
            running.close()
        return report

    # ---- orders ----

    def _carry_out(self, order: Order) -> None:
        """And say how it went."""
        if self._has_done(order, lambda: self._do(order)):
            self._channel.say(OrderDone(number=order.number))

    def _has_done(self, order: Order, work: Callable[[], None]) -> bool:
        """False: it could not be done, which has been said."""
        try:
            work()
        except Exception as problem:
            hint, is_too_early = getattr(problem, "hint", None), isinstance(problem, TooEarlyError)
            done = OrderDone(number=order.number, error=_told(problem), hint=hint)
            self._channel.say(replace(done, is_too_early=is_too_early))
            return False
        return True

    def _do(self, order: Order) -> None:
        match order:
            case AttachOrder():
                with TURN.of(order.number):
                    self._attach(order)
            case DetachOrder():
                self._set(order.name).detach()
                self._tails.end(order.name)
                del self._sets[order.name]
                self._narrow()
            case RotateOrder():
                chosen = self._sets.values() if order.name is None else [self._set(order.name)]
                for running in chosen:
                    running.rotate()
            case TailOrder():
                self._tails.add(order, self._whose(order).name)
            case UntailOrder():
                self._tails.remove(order.tail)
            case RenewOrder():
                sockets = self._channel.handed()
                renew_rings(self._around.engine, self._start.links, order.link, sockets)
                self._report()  # that it is gone no more: the last report is sent again and again
            case PeerOrder():
                self._streams.take(order, self._channel.handed())
            case EndOrder():
                self._ends = True

    def _attach(self, order: AttachOrder) -> None:
        old = self._sets.get(order.name)
        if old is not None and not order.replaces:
            raise OrderRefused(f"there is a query set '{order.name}'", "another name, or drop it")
        self._widen()
        try:
            prepared = self._prepared.pop(order.number, None)
            new = prepared or RunningSet(order, self._around, old)
            new.begin()
            if old is not None:
                self._tails.end(order.name, new.queries)
            self._sets[order.name] = new
            self._streams.want(new.plan)
        finally:
            self._narrow()

    # ---- what the kernel rejects ----

    @property
    def _has_prefilter(self) -> bool:
        return any(link.settings.kernel_prefilter for link in self._start.links)

    def _widen(self) -> None:
        """Let all pass for a set that comes: what was rejected until now it has not seen."""
        if self._has_prefilter and self._around.has_started:
            self._around.engine.set_prefilter(None)
            self._around.engine.unseen(time.time_ns())

    def _narrow(self) -> None:
        """Let the kernel reject again what no set can accept, if it does: more may pass."""
        if self._has_prefilter and self._around.has_started:
            plans = [plan for running in self._sets.values() for plan in running.plans]
            try:
                self._around.engine.set_prefilter(kernel_filter(plans))
            except EngineError as problem:
                self._note(f"the kernel rejects less than it could: {problem}")

    def _set(self, name: str) -> RunningSet:
        if name not in self._sets:
            names = ", ".join(self._sets) or "none"
            raise OrderRefused(f"there is no query set '{name}'", f"there are: {names}")
        return self._sets[name]

    def _whose(self, order: TailOrder) -> RunningSet:
        """The set that has a query."""
        sets = self._sets.values() if order.set_name is None else [self._set(order.set_name)]
        found = [running for running in sets if order.query in running.queries]
        if not found and order.query in self._sets and not self._sets[order.query].queries:
            what = f"of {order.query} the low level alone runs here: its rows are in its spool"
            raise OrderRefused(what, "gigastream run --spool FOLDER shows them")
        if not found:
            raise OrderRefused(f"no query set at work puts out '{order.query}'")
        if len(found) > 1:
            names = ", ".join(running.name for running in found)
            raise OrderRefused(f"'{order.query}' is in several sets: {names}", "name the set")
        return found[0]


def _greatest(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(one.get(name, at), at) for name, at in other.items()}


def _told(problem: Exception) -> str:
    """What a person is told of it: of what we do not know, its kind, too."""
    if isinstance(problem, OSError) and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}"
    if isinstance(problem, MemoryError):
        return "there is not enough memory for it (ulimit -v; MemoryMax= of a service)"
    text = str(problem) or type(problem).__name__
    return text if hasattr(problem, "hint") else f"{type(problem).__name__}: {text}"


def _import_all() -> None:
    """What is needed later, which the user that we become may not be able to read."""
    for output_format in FORMATS.values():
        import_module(output_format.module)
    import_module("pyarrow.parquet")

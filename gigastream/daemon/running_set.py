# SPDX-License-Identifier: Apache-2.0
"""A query set in the capture process: from an object to rows in files, and its counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from gigastream.compiled import read_object
from gigastream.daemon.edges import edges_of
from gigastream.daemon.hangs import TURN
from gigastream.daemon.messages import AttachOrder, SetStatistics
from gigastream.daemon.output_queries import output_queries
from gigastream.daemon.tails import Tails
from gigastream.daemon.targets import SpoolTarget, Target, has_spool, open_targets
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import EngineError, NativeBatch
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.engine.statistics import NONE
from gigastream.engine.turns import Turn
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan import Plan
from gigastream.records.places import RecordFolder
from gigastream.records.source import StreamSource
from gigastream.sessions.edges import Edge, ended_queries
from gigastream.sessions.low_session import refuse_unspooled
from gigastream.sessions.row_windows import check_row_windows
from gigastream.sessions.spooled_set import SpooledSet
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.sources.live import Source
from gigastream.spool import SpoolSettings


def is_read_again(source: Source | StreamSource) -> bool:
    """Whether it is read from its beginning: links and ports go on, and what has ended is over."""
    if isinstance(source, StreamSource):
        opened = None if source.residence is None else source.residence.opened
        return opened is None or isinstance(opened, RecordFolder)
    return isinstance(source, FileSource)


@dataclass
class Surroundings:
    """What all sets of a capture process have in common."""

    engine: Engine
    sources: Sequence[Source | StreamSource]
    settings: Settings
    tails: Tails
    tell: Callable[[str], None] = lambda _text: None
    """For a person."""
    has_started: bool = False
    """The engine."""

    def reached(self) -> dict[str, int] | None:
        """By interface, the packet time (ns) that it has come to; None: it is not started."""
        if not self.has_started:
            return None
        found: dict[str, int] = {}
        for source in self.engine.statistics():
            found[source.interface] = max(
                found.get(source.interface, source.promise_ns), source.promise_ns
            )
        return found

    @property
    def interfaces(self) -> int:
        """How many there are."""
        return len({source.interface for source in self.sources})


class RunningSet:
    """Its outputs are open as soon as it is made; begin() attaches it."""

    def __init__(self, order: AttachOrder, around: Surroundings, old: RunningSet | None) -> None:
        """Read the object, and open all that it needs; where that fails, nothing is changed.

        `old` is the set that it replaces, which goes on to this one's first window. CompiledError,
        UntrustedError, OSError, EngineError, OutputError, SeveralSourcesError.
        """
        self.order, self._around = order, around
        self.plan, self._texts = read_object(Path(order.object_path))
        check_row_windows(self.plan, around.sources)
        self._output_queries = output_queries(self.plan)
        self._tops = {node.name: node.inputs[0].name for node in self.plan.outputs}
        self._events: list[Event] = []
        self._rows: Counter[str] = Counter()
        self._cut_before = 0
        """Rows left out by those that it has replaced, or before it rested."""
        self._edges: dict[str, Edge] = {}
        """Of a set that is being replaced."""
        self._ended: Collection[str] = ()
        """Queries that pass rows, and have had their last one."""
        self._begins: dict[str, Edge] | None = None
        """Where it has taken over, query by query; None: from nobody."""
        self._reached: set[str] = set()
        self._old: RunningSet | None = None
        self._attached: AttachedSet | None = None
        self._lent: list[Target] = []
        """Outputs that its successor has, too, and ends."""
        self.failure: str | None = None
        self.is_shed = False
        if has_spool(order.outputs):
            refuse_unspooled(self.plan)
        self._replaced, self._borrowed = old, [] if old is None else self._lent_by(old)
        but = {target.spec.path for target in self._borrowed}
        self.targets = [*self._borrowed, *self._opened(but)]

    def begin(self) -> None:
        """Attach it; where that fails its outputs are ended. EngineError, BudgetError."""
        old, self._replaced = self._replaced, None
        lent, self._borrowed = self._borrowed, []
        is_whole = self.order.first_window == "edge" or old is not None
        try:
            self._attached = self._attach(whole=is_whole)
        except BaseException:
            self._lent = lent
            self.end_outputs()
            raise
        if old is not None:
            self._take_over(old, lent)

    @property
    def name(self) -> str:
        """By which it is ordered about."""
        return self.order.name

    @property
    def queries(self) -> tuple[str, ...]:
        """Whose rows it puts out."""
        if self.order.low_level_only:
            return ()
        return tuple(query.name for query in self._output_queries)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Its own, and that of a set that it replaces."""
        return (self.plan, *(() if self._old is None else self._old.plans))

    def _attach(self, *, whole: bool) -> AttachedSet:
        around = self._around
        settings = replace(around.settings, low_level_only=self.order.low_level_only)
        attached = AttachedSet(
            self.plan,
            settings,
            interfaces=around.interfaces,
            low_taps=has_spool(self.order.outputs),
            only_whole=whole and not self.order.low_level_only,
            turn=Turn(TURN, self.order.number),
        )
        try:
            around.engine.attach(attached)
        except BaseException:
            attached.close()
            raise
        return attached

    def _opened(self, but: set[str]) -> list[Target]:
        """Outputs of its own, all but those at some paths."""
        specs = [spec for spec in self.order.outputs if spec.path not in but]
        return open_targets(specs, self._output_queries, self._open_spool, self._tell)

    def _tell(self, text: str) -> None:
        self._around.tell(f"{self.name}: {text}")

    def _open_spool(self, path: str, settings: SpoolSettings) -> SpooledSet:
        """Before the engine starts it is told what the spool has promised, else the spool is.

        With what a process begins with the spool waits for a disk that is full; what is added
        later is refused.
        """
        around = self._around
        return SpooledSet(
            self.plan,
            self._texts,
            path,
            settings,
            live={each.interface for each in around.sources if not is_read_again(each)},
            files={each.interface for each in around.sources if is_read_again(each)},
            reached=around.reached(),
            tell=self._tell,
            waits=None if around.has_started else around.reached,
        )

    # ---- one after another ----

    def _writes_as(self, old: RunningSet) -> bool:
        """Whether rows may go on in the outputs that another has open."""
        schemas = [
            {node.name: node.schema for node in plan.outputs} for plan in (self.plan, old.plan)
        ]
        is_open = old.failure is None
        return is_open and old.order.outputs == self.order.outputs and schemas[0] == schemas[1]

    def _lent_by(self, old: RunningSet) -> list[Target]:
        """Outputs that are gone on with: all, or the spools, which one set alone can write."""
        if self._writes_as(old):
            return old.targets
        paths = {spec.path for spec in self.order.outputs}
        spools = [target for target in old.targets if isinstance(target, SpoolTarget)]
        return [t for t in spools if t.spec.path in paths and old.failure is None]

    def _take_over(self, old: RunningSet, lent: list[Target]) -> None:
        """From a window's edge on where there is one and no spool is lent, else from here on."""
        self._rows, old._lent = old._rows, lent
        edges, spools = None, [target for target in lent if isinstance(target, SpoolTarget)]
        if spools:
            self._let_old_go(old)
            self._go_on_with(spools)
            return
        if self._attached is not None and old._attached is not None and old.failure is None:
            edges = edges_of(self._attached, self.plan, old.plan)
        if edges is not None and old._attached is not None:
            old._pass_what_came()
            old._attached.pass_punctuation()  # which says when its last window is out
            old._reached |= ended_queries(old._attached, old.plan)
        found = edges or {}
        known = {name: edge for name, edge in found.items() if edge is not None}
        old._edges = {name: edge.ends for name, edge in known.items()}
        old._ended = found.keys() - old._edges.keys()
        self._begins, self._old = {name: edge.begins for name, edge in known.items()}, old
        if not old._edges:
            self._let_old_go(old)

    def _pass_what_came(self) -> None:
        """Give what has come of queries that hold no rows: the next of them are another set's."""
        if self._attached is not None:
            self._attached.settle()
            self._events += self._attached.taken()
        events, self._events = self._events, []
        self._give(events)

    def _go_on_with(self, spools: Iterable[SpoolTarget]) -> None:
        """What is written there from here on is this set's, as it is attached now."""
        specs = {spec.path: spec for spec in self.order.outputs}
        for target in spools:
            target.go_on(specs[target.spec.path], self.plan, self._texts)

    def _let_old_go(self, old: RunningSet) -> None:
        """What one of the two has left out at the edge, the other has had whole."""
        left_out = old.cut_rows
        old._end_input()
        self._cut_before += left_out if old._edges else old.cut_rows
        if old._edges and self._attached is not None:
            self._cut_before -= sum(self._attached.cut_rows.values())
        self._old = None
        old.close()

    # ---- rows ----

    def collect(self) -> bool:
        """Take what has come out; whether there are rows."""
        has_rows = self._old.collect() if self._old is not None else False
        if self._attached is not None and self.failure is None:
            self._events += self._attached.taken()
        return has_rows or any(event.batch.row_count for event in self._events)

    def give(self) -> None:
        """Hand it on, to outputs and tails; let go of a predecessor whose last window is out."""
        old = self._old
        if old is not None:
            old.give()
            if old._is_done():
                self._let_old_go(old)
        events, self._events = self._events, []
        self._give(events)

    def _is_done(self) -> bool:
        is_over = self.failure is not None
        return self._old is None and (is_over or self._reached >= set(self._edges))

    def look_for_failure(self) -> bool:
        """Whether it has just failed: then it is detached, and its outputs are ended."""
        has_failed = self._old.look_for_failure() if self._old is not None else False
        if self.failure is not None or self._attached is None:
            return has_failed
        try:
            self._attached.check()
        except EngineError as error:
            self.fail(str(error))
        return has_failed or self.failure is not None

    def fail(self, reason: str) -> None:
        """It gets no more packets, and its outputs are ended: the others go on."""
        if self.failure is not None:
            return
        self.failure = reason
        self._tell(f"it has failed, and gets no more packets: {reason}")
        if self._old is not None:
            self._old.close()
            self._old = None
        if self._attached is not None:
            self._around.engine.detach(self._attached)
        self.end_outputs()

    def _give(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.interface is not None:
                for target in self.targets:
                    target.write_low(event)
                continue
            if event.query in self._ended:
                continue
            edge = self._edges.get(event.query)
            batch: NativeBatch | None = event.batch
            if edge is not None and edge.is_reached(event.batch.bounds):
                self._reached.add(event.query)
            if event.batch.row_count == 0:
                continue
            if edge is not None:
                batch = edge.before(event.batch)
            elif event.batch.is_cut and self._begins is not None:
                batch = self._own_of_last(event.query, event.batch)
            if batch is not None:
                self._write(event.query, batch)

    def _own_of_last(self, query: str, batch: NativeBatch) -> NativeBatch | None:
        """The stop answers windows, too, that its predecessor has had: they are not its own."""
        edge = (self._begins or {}).get(query)
        schema = next(node.schema for node in self.plan.outputs if node.name == query)
        own = None if edge is None else edge.behind(batch, schema)
        self._cut_before += batch.row_count - (0 if own is None else own.row_count)
        return own

    def _write(self, query: str, batch: NativeBatch) -> None:
        self._rows[query] += batch.row_count
        for target in self.targets:
            target.write(query, batch)
        self._around.tails.write(self.name, query, batch)

    # ---- coming and going ----

    def detach(self) -> None:
        """End its input here, give what is still to come, and close it."""
        self._end_input()
        self.close()

    def rest(self) -> None:
        """Be detached until wake(): outputs and tails stay."""
        if self._old is not None:
            self._let_old_go(self._old)
        self._end_input()
        if self._attached is not None:
            self._cut_before = self.cut_rows
            self._attached.close()
        self._attached, self.is_shed = None, True

    def wake(self) -> None:
        """Be attached again. EngineError, BudgetError: then it goes on resting."""
        if self.is_shed and self.failure is None:
            self._attached = self._attach(whole=self.order.first_window == "edge")
            self._go_on_with(t for t in self.targets if isinstance(t, SpoolTarget))
            self.is_shed = False

    def close(self) -> None:
        """End the outputs, and let the set go: what has not been taken goes nowhere."""
        if self._old is not None:
            self._old.close()
            self._old = None
        self.end_outputs()
        if self._attached is not None:
            self._around.engine.detach(self._attached)
            self._attached.close()

    def _end_input(self) -> None:
        if self._old is not None:
            self._old._end_input()
        if self._attached is not None and self.failure is None:
            self._around.engine.detach(self._attached)
            self._events += self._attached.drained()
            events, self._events = self._events, []
            self._give(events)

    def end_outputs(self) -> None:
        """Nothing more comes."""
        if self._old is not None:
            self._old.end_outputs()
        for target in self.targets:
            if target not in self._lent:
                target.close()

    def rotate(self) -> None:
        """Begin new files."""
        for target in self.targets:
            target.rotate()

    def tick(self) -> None:
        """What is due by the clock."""
        for target in self.targets:
            target.tick()

    # ---- counters ----

    @property
    def cut_rows(self) -> int:
        """Rows of windows that were not seen whole, left out.

        Until it has taken over they are its predecessor's: it leaves out what that one still has.
        """
        if self._old is not None:
            return self._cut_before + self._old.cut_rows
        own = 0 if self._attached is None else sum(self._attached.cut_rows.values())
        return self._cut_before + own

    def statistics(self) -> SetStatistics:
        """The counters so far."""
        attached = self._attached
        lftas = () if attached is None else attached.lftas()
        operators = () if attached is None else attached.operators()
        reached: dict[str, int] = {}
        promises = [(node.name, node.promised_ns) for node in lftas]
        promises += [(node.name, node.promised_ns) for node in operators]
        for name, promised_ns in promises:
            reached[name] = min(reached.get(name, promised_ns), promised_ns)
        newest = {query: reached.get(top, NONE) for query, top in self._tops.items()}
        return SetStatistics(
            name=self.name,
            queries=self.queries,
            lftas=lftas,
            operators=operators,
            outputs=tuple(target.statistics() for target in self.targets),
            rows={query: self._rows[query] for query in self.queries},
            newest_ns={query: at for query, at in newest.items() if at != NONE},
            cut_rows=self.cut_rows,
            shed=self.is_shed,
            failure=self.failure,
            lists=() if attached is None else attached.lists(),
        )

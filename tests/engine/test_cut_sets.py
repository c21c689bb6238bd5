# SPDX-License-Identifier: Apache-2.0
"""Sets that come and go amid windows: with `only_whole` their rows are those of whole windows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of
from tests.engine.traffic import SECOND_NS, crowd
from tests.strategies.files import NANOSECONDS, pcap

PACKETS, SECONDS, BACK_SECONDS, LAST_SECOND = 600, 300, 4, 1_700_000_900
INTERFACES = ("a", "b")
Row = tuple[object, ...]

COUNTS = """DEFINE {{ query_name {0}; visibility internal; }}
    SELECT tb, srcIP, count(*) AS n FROM {1} GROUP BY time/5 AS tb, srcIP;
"""
PAIR = COUNTS.format("left", "IP") + COUNTS.format("right", "UDP")
ASKED = "DEFINE { query_name asked; } "


def by(unit: int) -> Callable[[int], int]:
    """Windows of so many seconds, by their number."""
    return lambda time_ns: time_ns // SECOND_NS // unit


@dataclass(frozen=True)
class Case:
    """A query whose first column is that of its windows."""

    text: str
    last_of: Callable[[int], int]
    """The last window, as bounds have it, that a packet of this time (ns) is in."""
    first_of: Callable[[int], int] | None = None
    """The first that packets from this time on are in, where it is another."""
    sign: int = 1

    def bound(self, row: Row) -> int:
        value = row[0]
        assert isinstance(value, int)
        return self.sign * value

    def open_from(self, promise_ns: int) -> int:
        return (self.first_of or self.last_of)(promise_ns)


def falling(time_ns: int) -> int:
    """As C divides: towards zero."""
    left = LAST_SECOND - time_ns // SECOND_NS
    return -left // 10 if left < 0 else -(left // 10)


def sliding_start(time_ns: int) -> int:
    return time_ns // SECOND_NS // 4 * 4


CASES = {
    "seconds": Case("SELECT tb, count(*) AS n, sum(len) AS s FROM IP GROUP BY time AS tb", by(1)),
    "groups": Case(
        "SELECT tb, srcIP, count(*) AS n FROM UDP GROUP BY time/10 AS tb, srcIP", by(10)
    ),
    "best": Case(
        """SELECT tb, srcIP, sum(len) AS s FROM IP
        GROUP BY time/10 AS tb, srcIP ORDER BY s DESC, srcIP LIMIT 2""",
        by(10),
    ),
    "falling": Case(
        f"""SELECT rest, srcIP, count(*) AS n FROM IP
        GROUP BY ({LAST_SECOND}-time)/10 AS rest, srcIP""",
        falling,
        sign=-1,
    ),
    "sliding": Case(
        """SELECT window_start, srcIP, sum(len) AS s
        FROM IP [RANGE 12, SLIDE 4, WA time] GROUP BY srcIP""",
        sliding_start,
        lambda time_ns: sliding_start(time_ns - 12 * SECOND_NS) + 4,
    ),
    "extremes": Case("SELECT tb, max(len) - min(len) AS m FROM IP GROUP BY time/10 AS tb", by(10)),
    "two steps": Case(
        COUNTS.format("lower", "IP")
        + ASKED
        + "SELECT ten, count(*) AS hosts, sum(n) AS n FROM lower GROUP BY tb/4 AS ten",
        by(20),
    ),
    "of rows": Case(
        """DEFINE { query_name rows_; visibility internal; } SELECT time, len FROM IP;
        DEFINE { query_name asked; } SELECT tb, sum(len) AS s FROM rows_ GROUP BY time/10 AS tb""",
        by(10),
    ),
    "selected": Case(
        COUNTS.format("lower", "IP") + ASKED + "SELECT tb, srcIP, n*2 AS m FROM lower WHERE n > 1",
        by(5),
    ),
    "joined": Case(
        PAIR
        + ASKED
        + """SELECT left.tb, left.srcIP, left.n AS n, right.n AS m INNER_JOIN FROM left, right
        WHERE left.tb = right.tb AND left.srcIP = right.srcIP""",
        by(5),
    ),
    "joined, kept": Case(
        PAIR
        + ASKED
        + """SELECT left.tb, left.srcIP, left.n AS n, right.n AS m
        LEFT_OUTER_JOIN FROM left, right
        WHERE left.tb = right.tb AND left.srcIP = right.srcIP AND right.n > 1""",
        by(5),
    ),
    "merged": Case(PAIR + ASKED + "MERGE left.tb : right.tb FROM left, right", by(5)),
}
"""Hidden windows and rows without any have tests of their own."""
DISORDER = Settings(slots=8, hash_key=(3, 5), slack_ns=BACK_SECONDS * SECOND_NS)
SETTINGS = {
    "as it is": DISORDER,
    "by three": replace(DISORDER, burst=3, batch_rows=5),
    "at once": replace(DISORDER, flush="immediate", heartbeat_packets=7),
    "slowly": replace(DISORDER, flush="slow", heartbeat_ns=0, batch_rows=1),
    "lazily": replace(DISORDER, flush="lazy", burst=1),
}


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By interface; one in ten packets comes late, by less than the slack."""
    folder, found = tmp_path_factory.mktemp("captures"), {}
    for seed, name in enumerate(INTERFACES):
        found[name] = folder / f"{name}.pcap"
        packets = crowd(seed, PACKETS, 5, SECONDS, BACK_SECONDS)
        found[name].write_bytes(pcap(packets, magic=NANOSECONDS))
    return found


def sources(captures: dict[str, Path], interfaces: Sequence[str]) -> list[FileSource]:
    return [FileSource(name, str(captures[name])) for name in interfaces]


def rows_of(events: Iterable[Event]) -> Iterator[Row]:
    for event in events:
        if event.query == "asked" or event.query.startswith("query"):
            for row in event.batch.to_arrow().to_pylist() if event.batch.row_count else ():
                yield tuple(row.values())


def whole_run(
    plan: Plan, captures: dict[str, Path], interfaces: Sequence[str], settings: Settings
) -> list[Row]:
    with Session(plan, sources(captures, interfaces), settings) as session:
        return [row for event in session.batches() for row in rows_of([event])]


@dataclass
class Visit:
    """What sets that came and went have given."""

    whole: list[Row]
    all: list[Row]
    marked: int
    cut: int
    whole_from: int | None
    seen_ns: int
    """Of the packets before, the greatest timestamp."""
    promise_ns: int


class Visited:
    """An engine, and two sets of a plan that come and go together."""

    def __init__(
        self,
        plan: Plan,
        captures: dict[str, Path],
        interfaces: Sequence[str],
        settings: Settings,
        opened: ExitStack,
    ) -> None:
        self.engine = opened.enter_context(Engine(settings))
        self.engine.add_files(sources(captures, interfaces))
        self.sets = [
            opened.enter_context(
                AttachedSet(plan, settings, interfaces=len(interfaces), only_whole=only_whole)
            )
            for only_whole in (True, False)
        ]
        self.events: tuple[list[Event], list[Event]] = ([], [])

    def read(self, packets: int) -> None:
        goes_on = True
        until = self.packets_read + packets
        while goes_on and self.packets_read < until:
            goes_on = self.engine.run(until - self.packets_read, 0)
            self.take()

    def take(self) -> None:
        for events, queries in zip(self.events, self.sets, strict=True):
            events += queries.taken()

    def detach(self) -> None:
        for events, queries in zip(self.events, self.sets, strict=True):
            self.engine.detach(queries)
            events += queries.drained()

    @property
    def packets_read(self) -> int:
        return sum(source.read for source in self.engine.statistics())

    def seen_ns(self, interfaces: Sequence[str]) -> int:
        read = {source.interface: source.read for source in self.engine.statistics()}
        times = [
            packet.timestamp_ns
            for seed, name in enumerate(INTERFACES)
            if name in interfaces
            for packet in crowd(seed, PACKETS, 5, SECONDS, BACK_SECONDS)[: read[name]]
        ]
        return max(times)


def visit(
    plan: Plan,
    captures: dict[str, Path],
    interfaces: Sequence[str],
    settings: Settings,
    seed: int,
) -> Visit:
    chance = random.Random(seed)
    packets = PACKETS * len(interfaces)
    came, stayed = chance.randrange(1, packets // 2), chance.randrange(packets // 2)
    with ExitStack() as opened:
        at_work = Visited(plan, captures, interfaces, settings, opened)
        at_work.engine.start()
        at_work.read(came)
        seen_ns = at_work.seen_ns(interfaces)
        for queries in at_work.sets:
            at_work.engine.attach(queries)
        at_work.read(stayed)
        promise_ns = min(source.promise_ns for source in at_work.engine.statistics())
        at_work.detach()
        whole, every = (list(rows_of(events)) for events in at_work.events)
        query = next(iter(at_work.sets[0].cut_rows))
        marked = sum(e.batch.row_count for e in at_work.events[1] if e.batch.is_cut)
        assert not any(event.batch.is_cut for event in at_work.events[0])
        assert set(at_work.sets[1].cut_rows.values()) == {0}
        return Visit(
            whole,
            every,
            marked,
            sum(at_work.sets[0].cut_rows.values()),
            at_work.sets[0].whole_from(query),
            seen_ns,
            promise_ns,
        )


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("interfaces", [("a",), INTERFACES], ids="+".join)
def test_rows_are_those_of_whole_windows(
    name: str, how: str, interfaces: Sequence[str], captures: dict[str, Path]
) -> None:
    case, settings = CASES[name], SETTINGS[how]
    plan = plan_of(case.text, interfaces)
    full = whole_run(plan, captures, interfaces, settings)
    found = 0
    for seed in range(4):
        seen = visit(plan, captures, interfaces, settings, seed)
        first, end = case.last_of(seen.seen_ns) + 1, case.open_from(seen.promise_ns)
        expected = [row for row in full if first <= case.bound(row) < end]
        assert in_order(seen.whole) == in_order(expected), seed
        assert len(seen.whole) + seen.cut == len(seen.all), seed
        assert seen.marked >= seen.cut
        assert seen.whole_from is not None
        assert case.sign * seen.whole_from == first
        found += len(expected)
    assert found > 0


def test_windows_whose_column_is_not_shown(captures: dict[str, Path]) -> None:
    """They are known by the batches in which they leave: exactly, too."""
    group = "count(*) AS n, sum(len) AS s FROM IP GROUP BY time/10 AS tb"
    shown, hidden = (plan_of(f"SELECT {more}{group}", ["a"]) for more in ("tb, ", ""))
    for seed in range(4):
        seen = visit(shown, captures, ["a"], SETTINGS["by three"], seed)
        found = visit(hidden, captures, ["a"], SETTINGS["by three"], seed)
        assert found.whole == [row[1:] for row in seen.whole]
        assert found.cut == seen.cut > 0
        assert found.marked == found.cut
        assert found.whole_from is None


def test_what_is_dropped_above_the_windows_does_not_matter(captures: dict[str, Path]) -> None:
    counts = COUNTS.format("lower", "IP") + ASKED
    shown = plan_of(counts + "SELECT tb, srcIP, n*2 AS m FROM lower", ["a"])
    hidden = plan_of(counts + "SELECT srcIP, n*2 AS m FROM lower", ["a"])
    for seed in range(4):
        seen = visit(shown, captures, ["a"], SETTINGS["as it is"], seed)
        found = visit(hidden, captures, ["a"], SETTINGS["as it is"], seed)
        assert in_order(found.whole) == in_order(row[1:] for row in seen.whole)
        assert found.cut == seen.cut > 0


BAND = """SELECT left.tb AS a, right.tb AS b, left.srcIP, left.n AS n, right.n AS m {}
    FROM left, right WHERE left.tb >= right.tb - 1 AND left.tb <= right.tb + 2
    AND left.srcIP = right.srcIP"""


@pytest.mark.parametrize("kind", ["INNER_JOIN", "LEFT_OUTER_JOIN", "OUTER_JOIN"])
def test_a_join_over_a_band_gives_no_row_that_lacks_another(
    kind: str, captures: dict[str, Path]
) -> None:
    """Where both sides are kept none of its columns tells time: it goes by what it holds."""
    plan, settings = plan_of(PAIR + ASKED + BAND.format(kind), INTERFACES), SETTINGS["by three"]
    full = Counter(whole_run(plan, captures, INTERFACES, settings))
    whole = cut = 0
    for seed in range(4):
        seen = visit(plan, captures, INTERFACES, settings, seed)
        assert not Counter(seen.whole) - full, seed
        assert len(seen.whole) + seen.cut == len(seen.all)
        whole, cut = whole + len(seen.whole), cut + seen.cut
    assert whole > cut > 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT timestamp, srcIP, len FROM IP",
        "SELECT timestamp, len FROM IP LIMIT 9",
        COUNTS.format("unread", "IP") + ASKED + "SELECT timestamp, len FROM IP",
    ],
)
def test_rows_without_windows_are_whole(text: str, captures: dict[str, Path]) -> None:
    seen = visit(plan_of(text, ["a"]), captures, ["a"], DISORDER, 1)
    assert seen.whole == seen.all != []
    assert (seen.cut, seen.marked, seen.whole_from) == (0, 0, None)


def test_one_window_of_all_that_comes_is_never_whole(captures: dict[str, Path]) -> None:
    plan = plan_of("DEFINE { no_temporal_aggr true; } SELECT count(*) AS n FROM IP", ["a"])
    seen = visit(plan, captures, ["a"], DISORDER, 1)
    assert (seen.whole, len(seen.all), seen.cut, seen.marked) == ([], 1, 1, 1)


@pytest.mark.parametrize("name", ["groups", "merged", "joined"])
def test_a_set_that_is_there_before_the_start_has_no_cut(
    name: str, captures: dict[str, Path]
) -> None:
    plan = plan_of(CASES[name].text, INTERFACES)
    with ExitStack() as opened:
        at_work = Visited(plan, captures, INTERFACES, DISORDER, opened)
        for queries in at_work.sets:
            at_work.engine.attach(queries)
        at_work.engine.start()
        at_work.read(4 * PACKETS)
        whole, every = (list(rows_of(events)) for events in at_work.events)
        assert not any(event.batch.is_cut for events in at_work.events for event in events)
        assert set(at_work.sets[0].cut_rows.values()) == {0}
        assert [at_work.sets[0].whole_from(query) for query in at_work.sets[0].cut_rows] == [None]
    assert whole == every == whole_run(plan, captures, INTERFACES, DISORDER)


def test_nothing_has_been_seen_before_the_first_packet(captures: dict[str, Path]) -> None:
    plan = plan_of(CASES["groups"].text, INTERFACES)
    with ExitStack() as opened:
        at_work = Visited(plan, captures, INTERFACES, DISORDER, opened)
        at_work.engine.start()
        for queries in at_work.sets:
            at_work.engine.attach(queries)
        at_work.read(4 * PACKETS)
        whole, every = (list(rows_of(events)) for events in at_work.events)
    assert whole == every == whole_run(plan, captures, INTERFACES, DISORDER)


def test_a_set_can_take_the_place_of_another_at_a_windows_edge(captures: dict[str, Path]) -> None:
    """The old one's rows before what the new one has whole, then the new one's: all, once."""
    case = CASES["groups"]
    plan = plan_of(case.text, ["a"])
    with ExitStack() as opened:
        at_work = Visited(plan, captures, ["a"], DISORDER, opened)
        new, old = at_work.sets
        at_work.engine.attach(old)
        at_work.engine.start()
        at_work.read(PACKETS // 3)
        at_work.engine.attach(new)
        edge = new.whole_from(next(iter(new.cut_rows)))
        assert edge is not None
        at_work.read(PACKETS)
        after, before = (list(rows_of(events)) for events in at_work.events)
    assert all(case.bound(row) >= edge for row in after)
    together = [row for row in before if case.bound(row) < edge] + after
    assert in_order(together) == in_order(whole_run(plan, captures, ["a"], DISORDER))


def test_a_set_that_has_not_seen_a_packet_has_nothing_to_say(captures: dict[str, Path]) -> None:
    plan = plan_of(CASES["groups"].text, INTERFACES)
    with AttachedSet(plan, DISORDER, only_whole=True) as queries, Engine(DISORDER) as engine:
        assert (queries.cut_rows, queries.whole_from("asked")) == ({}, None)
        engine.add_files(sources(captures, INTERFACES))
        engine.attach(queries)
        engine.detach(queries)
        assert list(rows_of(queries.drained())) == []
        assert set(queries.cut_rows.values()) == {0}

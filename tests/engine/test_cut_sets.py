# SPDX-License-Identifier: Apache-2.0
"""Sets that come and go amid windows: with `only_whole` their rows are those of whole windows."""

from __future__ import annotations

import random
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
    "medians": Case("SELECT tb, median(len) AS m FROM IP GROUP BY time/10 AS tb", by(10)),
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

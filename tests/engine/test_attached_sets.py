# SPDX-License-Identifier: Apache-2.0
"""Query sets that share a reader, and come and go: each answers as if it were alone with it."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gigastream.engine import memory
from gigastream.engine._native import lib
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import EngineError, NativeBatch
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.engine.opening import BudgetError
from gigastream.engine.statistics import LftaStatistics, OperatorStatistics
from gigastream.paths import cache_directory
from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.captures import DEMO_CAPTURE
from tests.engine.stepping import plan_of

PACKETS = 2010
"""Of the demo's capture, in the order of their time."""
CUT = 777
HEAD_BYTES, RECORD_BYTES = 24, 16
TEXTS = {
    "frames": "SELECT tb, count(*) AS n, sum(len) AS bytes FROM ETH GROUP BY time AS tb",
    "records": "SELECT timestamp, caplen FROM PKT",
    "pairs": """SELECT tb, srcIP, destIP, count(*) AS n FROM TCP
        GROUP BY time/10 AS tb, srcIP, destIP""",
    "talkers": """SELECT minute, srcIP, sum(len) AS bytes FROM IP
        GROUP BY time_bucket('1 min', timestamp) AS minute, srcIP ORDER BY bytes DESC LIMIT 3""",
    "refused": "SELECT timestamp, destIP, srcPort FROM TCP WHERE rst = 1",
    "first": "SELECT timestamp, srcIP, destPort FROM TCP LIMIT 7",
    "second": "SELECT timestamp, srcIP FROM UDP LIMIT 20",
    "all": "SELECT count(*) AS n FROM IP",
}
_DEFINE = "DEFINE {{ query_name {}; no_temporal_aggr true; }} "
PLANS = {name: plan_of(_DEFINE.format(name) + text) for name, text in TEXTS.items()}
SMALL = Settings(slots=16, hash_key=(3, 5))
"""Many groups leave their tables early, always the same."""
LITTLE = replace(SMALL, memory_bytes=32 << 20)
READINGS = {
    "as it is": SMALL,
    "by three": Settings(slots=16, hash_key=(3, 5), burst=3),
    "with heartbeats": Settings(slots=16, hash_key=(3, 5), heartbeat_packets=7),
    "without a clock": Settings(slots=16, hash_key=(3, 5), heartbeat_ns=0),
    "in small blocks": Settings(slots=16, hash_key=(3, 5), disorder_bytes=4096, flush="immediate"),
}
TOGETHER = (
    ("frames", "pairs"),
    ("pairs", "frames", "talkers"),
    ("first", "records", "frames"),
    ("refused", "first", "second"),
    ("all", "second", "talkers", "pairs"),
)


@dataclass
class Answer:
    """What a query set has given, and what it counted."""

    rows: bytes = b""
    lftas: tuple[LftaStatistics, ...] = ()
    operators: tuple[OperatorStatistics, ...] = ()

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            self.rows += event.batch.csv() if event.batch.row_count else b""


@dataclass
class Reading:
    """An engine over the demo's capture, and the sets that it has."""

    engine: Engine
    settings: Settings
    opened: ExitStack
    sets: dict[str, AttachedSet] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)

    def attach(self, name: str) -> AttachedSet:
        queries = self.opened.enter_context(AttachedSet(PLANS[name], self.settings))
        self.engine.attach(queries)
        self.sets[name], self.answers[name] = queries, Answer()
        return queries

    def detach(self, name: str) -> Answer:
        """Let a set go; its whole answer."""
        queries = self.sets.pop(name)
        self.engine.detach(queries)
        self.answers[name].take(queries.drained())
        return self.counted(name, queries)

    def counted(self, name: str, queries: AttachedSet) -> Answer:
        answer = self.answers[name]
        answer.lftas, answer.operators = queries.lftas(), queries.operators()
        return answer

    def read(self, packets: int) -> None:
        """Read so many packets, or the rest."""
        until, goes_on = self.packets_read + packets, True
        while goes_on and self.packets_read < until:
            goes_on = self.engine.run(until - self.packets_read, 0)
            self.take()

    def read_all(self) -> dict[str, Answer]:
        while self.engine.run(1 << 20, 0):
            self.take()
        self.take()
        return {name: self.counted(name, queries) for name, queries in self.sets.items()}

    def take(self) -> None:
        for name, queries in self.sets.items():
            self.answers[name].take(queries.taken())

    @property
    def packets_read(self) -> int:
        return sum(source.read for source in self.engine.statistics())


@contextmanager
def reading(settings: Settings = SMALL, path: Path = DEMO_CAPTURE) -> Iterator[Reading]:
    """An engine that has not started."""
    with ExitStack() as opened:
        engine = opened.enter_context(Engine(settings))
        engine.add_files([FileSource("default", str(path))])
        yield Reading(engine, settings, opened)


def alone(plan: Plan, settings: Settings, path: Path = DEMO_CAPTURE) -> Answer:
    """What a run of its own gives."""
    with Session(plan, [FileSource("default", str(path))], settings) as session:
        answer = Answer()
        answer.take(session.batches())
        counted = session.statistics()
    return Answer(answer.rows, counted.lftas, counted.operators)


@pytest.fixture
def parts(tmp_path: Path) -> Sequence[Path]:
    """The demo's capture cut in two, in the midst of a window of every query."""
    data, at = DEMO_CAPTURE.read_bytes(), HEAD_BYTES
    for _ in range(CUT):
        at += RECORD_BYTES + int.from_bytes(data[at + 8 : at + 12], "little")
    paths = (tmp_path / "before.pcap", tmp_path / "after.pcap")
    paths[0].write_bytes(data[:at])
    paths[1].write_bytes(data[:HEAD_BYTES] + data[at:])
    return paths


# ---- at once ----


@pytest.mark.parametrize("how", READINGS)
@pytest.mark.parametrize("names", TOGETHER, ids="+".join)
def test_sets_of_one_reader_answer_as_if_alone(names: Sequence[str], how: str) -> None:
    settings = READINGS[how]
    with reading(settings) as together:
        for name in names:
            together.attach(name)
        together.engine.start()
        found = together.read_all()
    for name in names:
        assert found[name] == alone(PLANS[name], settings), name


def test_the_reader_stops_when_the_last_set_is_answered() -> None:
    with reading() as together:
        for name in ("first", "second"):
            together.attach(name)
        together.engine.start()
        together.read_all()
        read = together.packets_read
    needed = []
    for name in ("first", "second"):
        with Session(PLANS[name], [FileSource("default", str(DEMO_CAPTURE))], SMALL) as session:
            list(session.batches())
            needed.append(session.statistics().sources[0].read)
    assert min(needed) < max(needed) == read < PACKETS


def test_it_stops_too_where_the_one_that_was_not_answered_has_gone() -> None:
    with reading() as together:
        together.attach("first")
        together.attach("frames")
        together.engine.start()
        together.read(CUT)
        assert together.sets["first"].is_answered
        together.detach("frames")
        together.read_all()
        assert together.packets_read < PACKETS


def test_a_reader_without_sets_reads_on() -> None:
    with reading() as nobody:
        nobody.engine.start()
        assert nobody.read_all() == {}
        assert nobody.packets_read == PACKETS


# ---- later ----


@pytest.mark.parametrize("name", TEXTS)
def test_a_set_attached_later_answers_the_rest(name: str, parts: Sequence[Path]) -> None:
    with reading() as going:
        going.attach("pairs" if name == "frames" else "frames")
        going.engine.start()
        going.read(CUT)
        assert going.packets_read == CUT
        going.attach(name)
        found = going.read_all()
    assert found[name].rows == alone(PLANS[name], SMALL, parts[1]).rows
    first = next(iter(found))
    assert found[first] == alone(PLANS[first], SMALL)


def test_it_is_told_how_far_time_is(parts: Sequence[Path]) -> None:
    """What is below W is late for a set that has not seen why, too."""
    data = parts[0].read_bytes()
    late = data + parts[1].read_bytes()[HEAD_BYTES:] + data[HEAD_BYTES:]
    parts[0].write_bytes(late)
    settings = Settings(slots=16, hash_key=(3, 5), disorder_bytes=4096)
    with reading(settings, parts[0]) as going:
        going.engine.start()
        going.read(PACKETS)
        going.attach("records")
        found = going.read_all()["records"]
        assert going.engine.statistics()[0].late == CUT
    assert found.rows == b""
    assert [lfta.accepted for lfta in found.lftas] == [0]


def test_a_set_that_comes_after_the_end_has_an_answer_without_packets() -> None:
    with reading() as over:
        over.engine.start()
        over.read_all()
        over.attach("all")
        over.attach("pairs")
        found = over.read_all()
    assert (found["all"].rows, found["pairs"].rows) == (b"0\n", b"")


# ---- punctuation ----


def test_a_set_at_work_puts_out_batches_without_rows_once_it_is_asked() -> None:
    """Until then they would wake its reader for nothing."""
    with reading(READINGS["with heartbeats"]) as going:
        queries = going.attach("all")  # whose one row comes at the end
        going.engine.start()
        assert going.engine.run(CUT, 0)
        assert not list(queries.taken())
        queries.pass_punctuation()
        assert going.engine.run(PACKETS, 0)
        assert {event.batch.row_count for event in queries.taken()} == {0}


# ---- until ----


@pytest.mark.parametrize("name", TEXTS)
def test_a_set_that_is_detached_has_answered_what_it_has_seen(
    name: str, parts: Sequence[Path]
) -> None:
    other = "pairs" if name == "frames" else "frames"
    with reading() as going:
        going.attach(name)
        going.attach(other)
        going.engine.start()
        going.read(CUT)
        found = going.detach(name)
        rest = going.read_all()
    assert found == alone(PLANS[name], SMALL, parts[0])
    assert rest == {other: alone(PLANS[other], SMALL)}


def test_the_counters_of_a_detached_set_stay_without_its_engine() -> None:
    with AttachedSet(PLANS["pairs"], SMALL) as queries:
        with reading() as going:
            going.engine.attach(queries)
            going.engine.start()
            going.read(CUT)
        assert sum(lfta.accepted for lfta in queries.lftas()) > 0
        assert {lfta.interface for lfta in queries.lftas()} == {"default"}


def test_many_come_and_go() -> None:
    """Every one of them sees its ten packets; one sees all of them."""
    counts = b""
    with reading() as going:
        going.attach("frames")
        going.engine.start()
        for _ in range(PACKETS // 10):
            going.attach("all")
            going.read(10)
            counts += going.detach("all").rows
        found = going.read_all()
    assert sum(map(int, counts.split())) == int(alone(PLANS["all"], SMALL).rows)
    assert found["frames"] == alone(PLANS["frames"], SMALL)


def test_a_set_has_all_interfaces_of_its_engine() -> None:
    """And the end of each when it goes, whichever has gone how far."""
    counts = plan_of("DEFINE { no_temporal_aggr true; } SELECT count(*) AS n FROM IP", ["a", "b"])
    with AttachedSet(counts, SMALL) as queries, Engine(SMALL) as engine:
        engine.add_files([FileSource(name, str(DEMO_CAPTURE)) for name in ("a", "b")])
        engine.attach(queries)
        engine.start()
        while engine.run(100, 0) and sum(source.read for source in engine.statistics()) < 3 * CUT:
            pass
        engine.detach(queries)
        rows = b"".join(e.batch.csv() for e in queries.drained() if e.batch.row_count)
        assert int(rows) == sum(lfta.accepted for lfta in queries.lftas()) > CUT
        assert [lfta.interface for lfta in queries.lftas()] == ["a", "b"]
        assert all(lfta.accepted > 0 for lfta in queries.lftas())


# ---- objects and memory ----


@pytest.fixture
def nothing_left() -> None:
    """What other tests have left in circles would go whenever the collector comes by."""
    gc.collect()


def mapped_objects() -> int:
    """Objects of query sets that are loaded."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    folder = str(cache_directory())
    return len({line.split(maxsplit=5)[5] for line in lines if folder in line})


def held_batches() -> tuple[bytes, list[NativeBatch]]:
    """Batches of a set that is detached, and gone with its engine; what they say of their rows."""
    with reading() as going:
        queries = going.attach("pairs")
        going.engine.start()
        going.engine.run(CUT, 0)
        going.engine.detach(queries)
        batches = [event.batch for event in queries.drained()]
        text = b"".join(batch.csv() for batch in batches)
    return text, batches


@pytest.mark.usefixtures("nothing_left")
def test_batches_outlive_their_set_and_its_object() -> None:
    before = mapped_objects()
    text, batches = held_batches()
    assert text
    assert mapped_objects() == before + 1
    assert b"".join(batch.csv() for batch in batches) == text
    arrays = [batch.to_arrow() for batch in batches]
    del batches
    assert mapped_objects() == before + 1
    assert next(array.schema.names for array in arrays) == ["tb", "srcIP", "destIP", "n"]
    del arrays
    assert mapped_objects() == before


@pytest.mark.usefixtures("nothing_left")
def test_hundreds_of_sets_leave_nothing() -> None:
    objects, used = mapped_objects(), memory.statistics(None).held_bytes
    with reading() as going:
        going.engine.start()
        for turn in range(300):
            with AttachedSet(PLANS[list(PLANS)[turn % len(PLANS)]], SMALL) as queries:
                going.engine.attach(queries)
                going.engine.run(5, 0)
                if turn % 3 == 0:
                    going.engine.detach(queries)
                if turn % 2 == 0:
                    list(queries.taken())
        assert mapped_objects() == objects
        assert memory.statistics(None).held_bytes == used


@pytest.mark.usefixtures("nothing_left")
def test_tables_that_do_not_fit_are_refused_and_the_others_go_on() -> None:
    held = memory.statistics(LITTLE.memory_bytes).held_bytes
    with reading(LITTLE) as going:
        going.attach("pairs")
        going.engine.start()
        going.read(CUT)
        with (
            AttachedSet(PLANS["pairs"], replace(LITTLE, slots=1 << 22)) as great,
            pytest.raises(BudgetError, match="more than the memory that is given"),
        ):
            going.engine.attach(great)
        found = going.read_all()
    assert found["pairs"] == alone(PLANS["pairs"], LITTLE)
    assert memory.statistics(LITTLE.memory_bytes).held_bytes == held


# ---- refused ----


def test_sources_come_before_sets() -> None:
    with reading() as going:
        going.attach("frames")
        with pytest.raises(EngineError, match="sources are added before query sets"):
            going.engine.add_files([FileSource("other", str(DEMO_CAPTURE))])


def test_sources_come_before_packets() -> None:
    """Whether there is a set or not."""
    with reading() as going:
        going.engine.start()
        with pytest.raises(EngineError, match="sources are added before packets are read"):
            going.engine.add_files([FileSource("other", str(DEMO_CAPTURE))] * 8)
        going.read_all()
        assert going.packets_read == PACKETS


def test_a_reader_starts_once_and_first() -> None:
    with reading() as going:
        with pytest.raises(EngineError, match="before the start"):
            going.engine.run(1, -1)
        going.engine.start()
        with pytest.raises(EngineError, match="read already"):
            going.engine.start()
        going.read_all()
        assert going.packets_read == PACKETS


def test_a_set_that_was_never_attached_has_nothing() -> None:
    with AttachedSet(PLANS["pairs"], SMALL) as queries:
        assert_nothing_of(queries)


@pytest.mark.usefixtures("nothing_left")
def test_a_set_that_was_refused_has_nothing_and_holds_nothing() -> None:
    held = memory.statistics(LITTLE.memory_bytes).held_bytes
    great = replace(LITTLE, slots=1 << 22)
    with reading(LITTLE) as going, AttachedSet(PLANS["pairs"], great) as queries:
        with pytest.raises(BudgetError):
            going.engine.attach(queries)
        assert memory.statistics(LITTLE.memory_bytes).held_bytes == held
        assert_nothing_of(queries)
        going.engine.detach(queries)


def assert_nothing_of(queries: AttachedSet) -> None:
    lib.gs_attached_ask(queries.native, 1, 0, 5)
    assert not queries.is_answered
    assert (list(queries.taken()), list(queries.drained())) == ([], [])
    assert (queries.ports, queries.lftas(), queries.operators()) == ((), (), ())


def test_what_is_closed_says_so() -> None:
    with reading() as going:
        queries = going.attach("records")
        going.engine.start()
        going.engine.run(CUT, 0)
        taken = queries.taken()
        next(taken)
        queries.close()
        for ask in (lambda: next(taken), queries.lftas, lambda: going.engine.attach(queries)):
            with pytest.raises(EngineError, match="the query set is closed"):
                ask()
        engine = going.engine
    for ask in (engine.start, engine.statistics, engine.stop, lambda: engine.run(1, 0)):
        with pytest.raises(EngineError, match="the engine is closed"):
            ask()


def test_a_set_has_one_input() -> None:
    with reading() as going:
        queries = going.attach("frames")
        with pytest.raises(EngineError, match="an input already"):
            going.engine.attach(queries)
        going.engine.detach(queries)
        with pytest.raises(EngineError, match="an input already"):
            going.engine.attach(queries)
        with (
            AttachedSet(PLANS["pairs"], high_level_only=True) as high,
            pytest.raises(EngineError, match="an input already"),
        ):
            going.engine.attach(high)
        with pytest.raises(EngineError, match="needs an engine"):
            AttachedSet(PLANS["pairs"]).stand_alone(["default"])

# SPDX-License-Identifier: Apache-2.0
"""Threads that divide a file and have part of the groups each; the answers: test_divided.py."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.engine import memory
from gigastream.engine.batch import EngineError
from gigastream.engine.events import Event
from gigastream.engine.statistics import OperatorStatistics
from gigastream.late_dataclass import fields
from gigastream.plan.parts import parts_of_plan
from gigastream.sessions.divided_session import DividedSession
from gigastream.sessions.exchanging_session import _SUMS, ExchangingSession, exchanges_rows
from gigastream.sessions.replay import open_divided
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.engine import plan_of
from tests.engine.divided_queries import PAIRS, TEXTS
from tests.engine.test_threaded import rows
from tests.strategies import frames as f
from tests.strategies.files import Packet, pcap

TWO = Settings(jobs=2)
START_NS = 1_700_000_000 * 10**9


def _packet(at: int, step_ns: int, source: int) -> Packet:
    data = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(source, 2, f.UDP, f.udp(1, 2)))
    return Packet(START_NS + at * step_ns, data)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 packets of 700 sources, in 200 s."""
    packets = [_packet(at, 10**7, at * at % 701) for at in range(20_000)]
    path = tmp_path_factory.mktemp("exchange") / "capture.pcap"
    path.write_bytes(pcap(packets))
    return path


def _opened(text: str, path: Path, settings: Settings, extent_bytes: int) -> ExchangingSession:
    source = FileSource("default", str(path))
    session = open_divided(plan_of(text), [source], settings, extent_bytes=extent_bytes)
    assert isinstance(session, ExchangingSession)
    return session


def _alone(text: str, path: Path, settings: Settings) -> Session:
    return Session(plan_of(text), [FileSource("default", str(path))], settings)


# ---- who exchanges ----

KEPT = ", ".join(f"sum(len + {at}) AS s{at}" for at in range(8))

APART = {
    "one group of all": "SELECT tb, count(*) AS n FROM IPV4 GROUP BY time AS tb",
    "windows of two clocks": "SELECT tb, ts, srcIP, count(*) AS n FROM IPV4 "
    "GROUP BY time AS tb, timestamp AS ts, srcIP",
    "windows that are not shown": "SELECT srcIP, count(*) AS n FROM IPV4 "
    "GROUP BY time AS tb, srcIP",
    "texts": "SELECT tb, text(len) AS l, count(*) AS n FROM IPV4 GROUP BY time AS tb, text(len)",
}


SECONDS = "ULLONG(time) AS w"
MINUTES = "time_bucket('1 min', timestamp) AS w"
BEYOND = {
    "a column": ("w + 9223372035154775708", SECONDS),
    "one that falls": ("(9000000000000000000 - w) * 2", SECONDS),
    "on the way": ("w * 8000000000 / 8000000000", SECONDS),
    "nanoseconds": ("ULLONG(w) * 8 / 8", "time_bucket('1 s', timestamp) AS w"),
}
"""Of 2^63 and more, where bounds end: what is shown, and of which window."""
WITHIN = {
    "minutes": ("w", MINUTES),
    "their ends": ("w + 60000000000", MINUTES),
    "seconds of them": ("w / 1000000000", MINUTES),
    "milliseconds": ("ULLONG(w) / 1000000", MINUTES),
    "begins of hours": ("w * 3600", "time/3600 AS w"),
    "nanoseconds": ("w", "time*1000000000 AS w"),
    "nanoseconds of seconds": ("w * 1000000000", SECONDS),
    "nanoseconds of minutes": ("ULLONG(w) * 60000000000", "timestamp/60000000000 AS w"),
    "beyond below": ("w / 4", "ULLONG(timestamp) * 4 AS w"),
    "what falls": ("10000000000 - w", SECONDS),
}


def _over(shown: str, window: str) -> str:
    return f"SELECT {shown} AS x, id, {KEPT} FROM IPV4 GROUP BY {window}, packet_id AS id"


def _selected(shown: str, window: str) -> str:
    return (
        f"DEFINE {{ query_name a; visibility internal; }} SELECT w, id, {KEPT} FROM IPV4 "
        f"GROUP BY {window}, packet_id AS id; DEFINE {{ query_name b; }} "
        f"SELECT {shown} AS x, id, s0 FROM a"
    )


@pytest.mark.parametrize("text_of", [_over, _selected])
def test_windows_are_known_by_bounds_of_what_shows_them(
    text_of: Callable[[str, str], str],
) -> None:
    """By which a part says that it lacks groups of one, whether it has rows of it or none."""
    for shown in WITHIN.values():
        assert _is_answered_by_parts(text_of(*shown)), shown
    for shown in BEYOND.values():
        assert not _is_answered_by_parts(text_of(*shown)), shown


def _is_answered_by_parts(text: str) -> bool:
    plan = plan_of(text)
    below = parts_of_plan(plan).below
    return all(at in below for at, node in enumerate(plan.nodes) if node.is_output)


def test_groups_that_are_parted() -> None:
    for name in ("pairs", "parts", "shared", "cut"):
        assert exchanges_rows(plan_of(TEXTS[name]), TWO)
    assert any(low.table_of for low in plan_of(TEXTS["shared"]).low)
    no_window = (
        "DEFINE { no_temporal_aggr true; } SELECT srcIP, count(*) AS n FROM IPV4 GROUP BY srcIP"
    )
    assert exchanges_rows(plan_of(no_window), TWO)


@pytest.mark.parametrize("name", sorted(APART))
def test_groups_that_are_not(name: str) -> None:
    assert not exchanges_rows(plan_of(APART[name]), TWO)


@pytest.mark.parametrize("name", ["output_punctuation", "deliver_every_burst"])
def test_bounds_that_are_shown_are_those_of_one_high_level(name: str) -> None:
    assert not exchanges_rows(plan_of(PAIRS), Settings(jobs=2, **{name: True}))


# ---- what goes on ----


def test_no_group_is_in_two_tables(capture: Path) -> None:
    """Of tables with room for all, each group of one window leaves once, whoever has it."""
    text = "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/1000 AS tb, srcIP"
    one = Settings(slots=1 << 16, slack_ns=0, hash_key=(11, 13))
    with _alone(text, capture, one) as alone:
        groups = len(rows(alone.batches()))
    for jobs in (2, 5):
        with _opened(text, capture, replace(one, jobs=jobs), 5000) as session:
            list(session.batches())
            (lfta,) = session.statistics().lftas
        assert (lfta.accepted, lfta.rows_out, lfta.evicted) == (20_000, groups, 0)


@pytest.mark.parametrize("batch_rows", [1, 7, 100_000])
@pytest.mark.parametrize("jobs", [2, 3])
def test_windows_of_a_few_rows_come_in_their_order(
    jobs: int, batch_rows: int, capture: Path
) -> None:
    text = "SELECT ts, srcIP, count(*) AS n FROM IPV4 GROUP BY timestamp/20000000 AS ts, srcIP"
    settings = Settings(jobs=jobs, batch_rows=batch_rows, disorder_bytes=3000)
    with _opened(text, capture, settings, 2000) as session:
        events = list(session.batches())
    lines = [line.split(b",") for event in events for line in event.batch.csv().splitlines()]
    windows = [line[0] for line in lines]
    assert windows == sorted(windows)
    assert max(event.batch.row_count for event in events) <= batch_rows
    with _alone(text, capture, Settings(disorder_bytes=3000)) as alone:
        assert rows(events) == rows(alone.batches())


def test_every_column_that_grows_with_the_window_does(capture: Path) -> None:
    text = (
        "SELECT tb/50 AS h, 0 - tb AS back, tb, srcIP, count(*) AS n FROM IPV4 "
        "GROUP BY time AS tb, srcIP"
    )
    settings = Settings(jobs=3, batch_rows=64, disorder_bytes=3000)
    with _opened(text, capture, settings, 2000) as session:
        events = list(session.batches())
    found = [[int(v) for v in line.split(b",")[:3]] for e in events for line in _lines(e)]
    assert [(h, -back, tb) for h, back, tb in found] == sorted((h, -b, tb) for h, b, tb in found)
    assert len({tb for _, _, tb in found}) == 200


@pytest.mark.parametrize("slack_ns", [0, None])
def test_a_window_for_each_packet_takes_no_memory_without_bound(
    slack_ns: int | None, tmp_path: Path
) -> None:
    """Rows that are on their way lie close together, and not each in a parcel of its own."""
    path = tmp_path / "moments.pcap"
    path.write_bytes(pcap([_packet(at, 1000, at % 7) for at in range(60_000)]))
    text = "SELECT timestamp, srcIP, count(*) AS n FROM IPV4 GROUP BY timestamp, srcIP"
    settings = Settings(jobs=6, slack_ns=slack_ns, memory_bytes=32 << 20)
    with _opened(text, path, settings, 0) as session:
        assert len(rows(session.batches())) == 60_000
        counted = session.statistics()
    assert counted.operators[-1].groups_refused == 0
    assert counted.memory.peak_bytes < 32 << 20


def test_windows_leave_where_few_rows_cross(tmp_path: Path) -> None:
    """Nobody waits for as many as are worth it: of this file they never come together."""
    path = tmp_path / "few.pcap"
    path.write_bytes(pcap([_packet(at, 10**6, at % 7) for at in range(20_000)]))
    text = (
        "SELECT timestamp, srcIP, count(*) AS n FROM IPV4 WHERE packet_id % 100 = 0 "
        "GROUP BY timestamp, srcIP"
    )
    found = 0
    with _opened(text, path, Settings(jobs=2, slack_ns=0), 8000) as session:
        for _ in range(100):
            for low in session._lows:
                assert low._engine.run(64, 0)  # as its thread does; of 20,000 each reads 6,400
                found += sum(event.batch.row_count for event in low._queries.taken())
    assert 64 < found <= 128


def test_rows_that_are_gathered_are_in_the_account(capture: Path) -> None:
    """The room for all rows of a batch, when its first ones have come."""
    text = "SELECT ts, srcIP, count(*) AS n FROM IPV4 GROUP BY timestamp/20000000 AS ts, srcIP"
    settings = Settings(jobs=2, batch_rows=100_000, memory_bytes=48 << 20, disorder_bytes=3000)
    with _opened(text, capture, settings, 8000) as session:
        for _ in range(20):
            for part, low in enumerate(session._lows):
                assert low._engine.run(64, 0)  # as its thread does
                for event in low._queries.taken():
                    assert not list(session._orders["query"].add(part, event.batch))
    held = memory.statistics(settings.memory_bytes).held_bytes
    session._orders.clear()
    held -= memory.statistics(settings.memory_bytes).held_bytes
    assert held > 100_000 * (8 + 4 + 8)


def test_a_batch_promises_nothing(capture: Path) -> None:
    """What one part has promised another does not keep."""
    settings = Settings(jobs=3, batch_rows=16, disorder_bytes=3000)
    with _opened(PAIRS, capture, settings, 2000) as session:
        events = list(session.batches())
    assert {bound for event in events for bound in event.batch.bounds} == {-(1 << 63)}
    assert not any(event.batch.is_end for event in events)


def test_windows_that_are_met_by_turns_are_no_collisions(capture: Path) -> None:
    """Shorter than what readers are ahead, they leave for each other: the table does not grow."""
    text = "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/5 AS tb, srcIP"
    settings = Settings(jobs=2, slots=1 << 12, slack_ns=0, hash_key=(11, 13))
    with _opened(text, capture, settings, 8_000) as session:
        list(session.batches())
        (lfta,) = session.statistics().lftas
    assert lfta.evicted < lfta.accepted / 20


def test_windows_that_lack_groups_are_marked(capture: Path) -> None:
    """Batches have rows of windows that are whole, or of such that are not."""
    kept = ", ".join(f"sum(len + {at}) AS s{at}" for at in range(8))
    text = f"SELECT tb, id, {kept} FROM IPV4 GROUP BY time/20 AS tb, packet_id AS id"
    settings = Settings(jobs=2, memory_bytes=1 << 20, slots=16)
    with _opened(text, capture, settings, 3000) as session:
        events = list(session.batches())
        (counted,) = [o for o in session.statistics().operators if o.kind == "aggregate"]
    lacking = {line.split(b",")[0] for e in events if e.batch.is_partial for line in _lines(e)}
    whole = {line.split(b",")[0] for e in events if not e.batch.is_partial for line in _lines(e)}
    assert counted.groups_refused > 0
    assert lacking
    assert not lacking & whole


LACKING = {
    "windows": f"SELECT tb, id, {KEPT} FROM IPV4 GROUP BY time AS tb, packet_id AS id",
    "having": f"SELECT tb, id, {KEPT} FROM IPV4 GROUP BY time AS tb, packet_id AS id "
    "HAVING max(len + id % 40) > 80",
    "selection": f"DEFINE {{ query_name a; }} SELECT tb, id, {KEPT} FROM IPV4 "
    "GROUP BY time AS tb, packet_id AS id; DEFINE { query_name b; } "
    "SELECT a.tb / 3 AS t, a.id, a.s0 FROM a WHERE a.id % 40 < 3",
    "first": f"SELECT tb, id, {KEPT} FROM IPV4 GROUP BY time AS tb, packet_id AS id "
    "ORDER BY id LIMIT 1000",
    "groups": f"DEFINE {{ query_name a; visibility internal; }} SELECT tb, id, {KEPT} FROM IPV4 "
    "GROUP BY time AS tb, packet_id AS id; DEFINE { query_name b; } "
    "SELECT tb, id, max(s0) AS m FROM a GROUP BY tb/2 AS tb, id",
    "falling": f"SELECT 10000000000 - w AS x, id, {KEPT} FROM IPV4 "
    "GROUP BY ULLONG(time) AS w, packet_id AS id",
    "sliding": f"SELECT window_end, id, {KEPT} FROM IPV4 [RANGE 4 s, SLIDE 2 s, WA time] "
    "GROUP BY packet_id AS id",
}
"""Each group is a packet's: whatever is refused is a row less."""


@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("name", sorted(LACKING))
def test_windows_of_which_a_part_has_nothing_are_marked_too(
    name: str, jobs: int, capture: Path
) -> None:
    """Where it has refused all groups of one there is no row of its own that could say so."""
    settings = Settings(jobs=jobs, memory_bytes=4 << 20 if name == "sliding" else 2 << 20, slots=16)
    with _opened(LACKING[name], capture, settings, 3000) as session:
        _look_at_marks(session, LACKING[name], capture)


@pytest.mark.parametrize("text_of", [_over, _selected])
@pytest.mark.parametrize("name", sorted(BEYOND))
def test_windows_beyond_bounds_are_marked_too(
    name: str, text_of: Callable[[str, str], str], capture: Path
) -> None:
    """Above the parts, where all groups of one are, or where it is known by what comes in."""
    text = text_of(*BEYOND[name])
    settings = Settings(jobs=3, memory_bytes=3 << 19, slots=16)
    source = FileSource("default", str(capture))
    with open_divided(plan_of(text), [source], settings, extent_bytes=3000) as session:
        _look_at_marks(session, text, capture)


def _look_at_marks(session: DividedSession, text: str, capture: Path) -> None:
    """Windows of which one thread has more rows are marked, and no other rows of them are not."""
    with _alone(text, capture, Settings()) as alone:
        whole = Counter(window for event in alone.batches() for window in _windows(event))
    events = list(session.batches())
    found = Counter(window for event in events for window in _windows(event))
    marked = {window for e in events if e.batch.is_partial for window in _windows(e)}
    others = {window for e in events if not e.batch.is_partial for window in _windows(e)}
    lacking = {window for window, count in found.items() if count < whole[window]}
    assert lacking
    assert lacking <= marked
    assert not marked & others


def test_a_window_behind_one_that_lacks_groups_is_whole(tmp_path: Path) -> None:
    """Bounds go on to it in a batch without rows where nothing is taken of that one."""
    source = FileSource("default", str(_bursts(tmp_path)))
    text = (
        f"DEFINE {{ query_name a; }} SELECT tb, id, {KEPT} FROM IPV4 "
        "GROUP BY time AS tb, packet_id AS id; DEFINE { query_name b; } "
        "SELECT a.tb, a.id, a.s0 FROM a WHERE a.tb % 2 = 1"
    )
    settings = Settings(jobs=2, memory_bytes=2 << 20, slots=16, disorder_bytes=1000)
    whole: set[tuple[str, bytes]] = set()
    for _ in range(3):  # how many it meets is the threads' affair
        with open_divided(plan_of(text), [source], settings, extent_bytes=3000) as session:
            events = list(session.batches())
        marked = {window for e in events if e.batch.is_partial for window in _windows(e)}
        found = Counter(window for e in events for window in _windows(e) if e.query == "b")
        whole |= {window for window, count in found.items() if count == 3}
        assert any(query == "a" for query, _ in marked)
        assert not marked & {window for window, count in found.items() if count == 3}
    assert whole


def _bursts(folder: Path) -> Path:
    """In every other second many packets, else three; behind both many of another protocol."""
    path, packets, others = folder / "bursts.pcap", [], f.ethernet(f.ETHERTYPE_ARP, bytes(46))
    for second in range(20):
        count = 3 if second % 2 else 4000
        packets += [_packet(1000 * second + at // 8, 10**6, 7) for at in range(count)]
        packets += [Packet(START_NS + (1000 * second + 900) * 10**6, others)] * 900
    path.write_bytes(pcap(packets))
    return path


def _windows(event: Event) -> list[tuple[str, bytes]]:
    return [(event.query, line.split(b",")[0]) for line in _lines(event)]


def _lines(event: Event) -> list[bytes]:
    return event.batch.csv().splitlines()


def test_records_of_which_not_all_are_kept_as_they_were_walked_over(tmp_path: Path) -> None:
    """An extent has more of the least records than runs are kept of."""
    path = tmp_path / "small.pcap"
    path.write_bytes(pcap([Packet(START_NS + at * 10**6, bytes(at % 3)) for at in range(90_000)]))
    text = "SELECT tb, len, count(*) AS n FROM PKT GROUP BY time/20 AS tb, len"
    for settings in (TWO, Settings(jobs=2, disorder_bytes=100_000), Settings(jobs=2, burst=1)):
        with _opened(text, path, settings, 0) as session:
            answer = rows(session.batches())
            (source,) = session.statistics().sources
        assert source.read == 90_000
        with _alone(text, path, Settings(disorder_bytes=settings.disorder_bytes)) as alone:
            assert answer == rows(alone.batches())


def test_what_is_above_the_parts_holds_little(capture: Path) -> None:
    """Windows leave it as they close below: it hears how far all parts are."""
    text = (
        "DEFINE { query_name a; visibility internal; } SELECT tb, srcIP, count(*) AS n FROM IPV4 "
        "GROUP BY time AS tb, srcIP; DEFINE { query_name b; } SELECT tb, max(n) AS n FROM a "
        "GROUP BY tb; DEFINE { query_name c; } SELECT tb, n, srcIP FROM a GROUP BY tb, n, srcIP "
        "ORDER BY n DESC LIMIT 2"
    )
    settings = Settings(jobs=3, batch_rows=64, disorder_bytes=3000)
    with _opened(text, capture, settings, 2000) as session:
        seen = Counter(event.query for event in session.batches() for _ in _lines(event))
        peaks = {o.name: o.peak_bytes for o in session.statistics().operators}
        assert session._above is not None
        (port, *_), streams = session._above.session.ports, session._above._streams
    assert seen == {"b": 200, "c": 400}
    assert port[0] in streams
    assert peaks["b"] + peaks["c"] < 200_000


def test_every_counter_of_an_operator_is_of_all_parts() -> None:
    of_each = {"name", "kind", "promised_ns", "raised"}  # nobody of parts calls Python
    assert {field.name for field in fields(OperatorStatistics)} == {*_SUMS, *of_each}


# ---- ends ----


def _names() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("gigastream-")]


@pytest.mark.parametrize("turn", [0, 1])
def test_who_fails_keeps_nobody_waiting(
    turn: int, capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others have read all of theirs, and wait for rows that will never come."""
    turns = Session.turns

    def failing(session: Session) -> Iterator[Sequence[Event]]:
        for number, events in enumerate(turns(session)):
            if number == turn and session is failed:
                raise EngineError("no more of this")
            yield events

    monkeypatch.setattr(Session, "turns", failing)
    with _opened(PAIRS, capture, Settings(jobs=3), 2000) as session:
        failed = session._lows[1]
        with pytest.raises(EngineError, match="no more of this"):
            list(session.batches())
    assert not _names()


@pytest.mark.parametrize("taken", [0, 1])
def test_a_session_that_is_closed_keeps_nobody_waiting(taken: int, capture: Path) -> None:
    with _opened(PAIRS, capture, Settings(jobs=3, batch_rows=16), 2000) as session:
        batches = session.batches()
        for _ in range(taken):
            next(batches)
    with pytest.raises(EngineError, match="the session is closed"):
        list(batches)


MANY = (
    "SELECT tb, id, srcIP, sum(len) AS s FROM IPV4 GROUP BY time/20 AS tb, packet_id AS id, srcIP"
)


def test_a_stop_amid_many_groups(capture: Path) -> None:
    """What is under way between threads arrives: they have read the file up to a packet."""
    with _opened(MANY, capture, Settings(jobs=3, slack_ns=0, batch_rows=64), 3000) as session:
        batches = session.batches()
        events = [next(batches)]
        session.stop()
        events += batches
        read = session.statistics().sources[0].read
    with _alone(MANY, capture, Settings(packets_max=read, slack_ns=0)) as alone:
        assert rows(events) == rows(alone.batches())


def test_who_leaves_amid_many_groups_leaves_no_thread_behind(capture: Path) -> None:
    settings = Settings(jobs=3, slack_ns=0, batch_rows=64, memory_bytes=24 << 20)
    with _opened(MANY, capture, settings, 3000) as session:
        next(session.batches())
    assert not _names()
    session._orders.clear()
    del session  # and what is under way
    gc.collect()
    assert memory.statistics(settings.memory_bytes).held_bytes == 0


def test_who_is_closed_before_it_has_begun(capture: Path) -> None:
    with _opened(PAIRS, capture, TWO, 2000) as session:
        turns = session.turns()
        next(turns)
    assert not _names()
    with _opened(PAIRS, capture, TWO, 2000):
        pass
    assert not _names()

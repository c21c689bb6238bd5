# SPDX-License-Identifier: Apache-2.0
"""Queries that fill one table answer as each does with its own, and count as each does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.engine.statistics import LftaStatistics
from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.plan import Plan
from gigastream.sessions.divided_session import why_undivided
from gigastream.sessions.exchanging_session import ExchangingSession
from gigastream.sessions.replay import open_divided
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from tests.answers.engine import Given, given_by, plan_of, run
from tests.answers.mixture import Mixture, packets_of
from tests.captures import captures
from tests.engine.traffic import packet
from tests.strategies.files import NANOSECONDS, Packet, pcap

COUNTED = ("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted")
HASH_KEY = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
SETTINGS = Settings(hash_key=HASH_KEY, disorder_bytes=2_000, heartbeat_packets=37)
QUERIES = (
    "SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS bytes FROM IPV4 WHERE len > 60 "
    "GROUP BY time/60 AS tb, srcIP, destIP",
    "SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS bytes FROM IPV4 WHERE len < 100 "
    "GROUP BY time/60 AS tb, srcIP, destIP",
    "SELECT m, max(len) AS most, avg(ttl) AS ttls FROM IPV4 "
    "GROUP BY destIP AS d, time/60 AS m, srcIP AS s",
    "SELECT tb, srcIP, destIP, last(len) AS n, var(len) AS v, or_aggr(protocol) AS o FROM IPV4 "
    "WHERE len > 60 GROUP BY time/60 AS tb, srcIP, destIP",
    "SELECT tb, srcIP, destIP, count(*) AS n FROM IPV4 WHERE 300/(len - 60) > 1 "
    "GROUP BY time/60 AS tb, srcIP, destIP HAVING count(*) > 1",
    "SELECT tb, srcIP, destIP, min(len) AS least FROM IPV4 WHERE len > 5000 "
    "GROUP BY time/60 AS tb, srcIP, destIP",
    "SELECT tb, srcIP, destIP FROM IPV4 WHERE protocol = 6 GROUP BY time/60 AS tb, srcIP, destIP",
)
NO_VALUE = tuple(
    f"SELECT tb, g, count(*) AS n, sum(len) AS bytes FROM IPV4 WHERE {where} "
    "GROUP BY time/60 AS tb, 1000/(len - 60) AS g"
    for where in ("len > 50", "len < 70", "100/(ttl - 64) <> 3")
)


def text_of(queries: Sequence[str]) -> str:
    return ";\n".join(f"DEFINE {{ query_name q{at}; }} {q}" for at, q in enumerate(queries))


def written(folder: Path, packets: Sequence[Packet]) -> Path:
    path = folder / "made.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    return path


def sources(*paths: Path) -> list[FileSource]:
    return [FileSource("default", str(path)) for path in paths]


def counted(lftas: Sequence[LftaStatistics]) -> list[dict[str, object]]:
    return [{name: getattr(lfta, name) for name in ("name", *COUNTED)} for lfta in lftas]


def shared_as_apart(queries: Sequence[str], given: list[FileSource], settings: Settings) -> Given:
    """What the set answers, as it does without sharing."""
    plan = plan_of(text_of(queries))
    assert all(len(low.table_of) == len(queries) for low in plan.low)
    shared = run(plan, given, settings)
    apart = run(plan, given, replace(settings, share_groups=False))
    for name, rows in apart.rows.items():
        assert Counter(map(tuple, shared.rows[name])) == Counter(map(tuple, rows))
    assert counted(shared.statistics.lftas) == counted(apart.statistics.lftas)
    (source,), three = given, replace(settings, jobs=3)
    if why_undivided(plan, given, three) is None:
        session = open_divided(plan, [source], three, extent_bytes=2_000)
        assert isinstance(session, ExchangingSession)
        divided = given_by(plan, session)
        for name, rows in apart.rows.items():
            assert Counter(map(tuple, divided.rows[name])) == Counter(map(tuple, rows))
        assert counted(divided.statistics.lftas) == counted(apart.statistics.lftas)
    return shared


def check(queries: Sequence[str], given: list[FileSource], settings: Settings) -> None:
    """The rows and counters of the set, of the set without sharing, and of each query alone."""
    shared = shared_as_apart(queries, given, settings)
    for at, query in enumerate(queries):
        alone = run(plan_of(query, name=f"q{at}"), given, settings)
        (rows,), (lfta,) = alone.rows.values(), alone.statistics.lftas
        assert Counter(map(tuple, shared.rows[f"q{at}"])) == Counter(map(tuple, rows))
        (found,) = (own for own in shared.statistics.lftas if own.name == f"q{at}_low")
        assert [getattr(found, name) for name in COUNTED] == [
            getattr(lfta, name) for name in COUNTED
        ]
        assert found.rows_out >= found.evicted


MIXTURES = {
    "in order": Mixture(seed=1, steps_back=0.0),
    "stragglers": Mixture(seed=2, steps_back=0.6, back_ms=100_000, seconds=900),
    "many groups": Mixture(seed=3, packets=900, hosts=40, cut=0.2),
}
TABLES = (
    replace(SETTINGS, slots=2, burst=1),
    replace(SETTINGS, slots=8, burst=3, batch_rows=1),
    replace(SETTINGS, slots=64, burst=250),
    replace(SETTINGS, memory_bytes=1 << 20),
)


@pytest.mark.parametrize("mixture", MIXTURES.values(), ids=MIXTURES)
@pytest.mark.parametrize("policy", FLUSH_POLICIES, ids=lambda name: f"flush-{name}")
def test_rows_and_counters_are_those_of_tables_apart(
    policy: str, mixture: Mixture, tmp_path: Path
) -> None:
    capture = written(tmp_path, packets_of(mixture))
    for settings in TABLES:
        check(QUERIES, sources(capture), replace(settings, flush=policy))


@pytest.mark.parametrize("settings", TABLES[:3], ids=["2 slots", "8 slots", "64 slots"])
def test_a_packet_without_a_group_is_counted_for_each_that_it_passes(
    settings: Settings, tmp_path: Path
) -> None:
    packets = [packet(at / 9, at % 7, at % 5, payload=at % 40) for at in range(700)]
    check(NO_VALUE, sources(written(tmp_path, packets)), settings)


def test_a_sum_that_is_full_leaves_for_its_own_predicate_alone(tmp_path: Path) -> None:
    queries = tuple(
        f"SELECT tb, srcIP, count(*) AS n, sum(18446744073709551614) AS large FROM IPV4 "
        f"WHERE len > {least} GROUP BY time/60 AS tb, srcIP HAVING count(*) > 0"
        for least in (40, 60)
    )
    packets = [packet(at, payload=at % 40) for at in range(100)]
    plan = plan_of(text_of([query.replace(", sum(", ", avg(") for query in queries]))
    given = sources(written(tmp_path, packets))
    shared = run(plan, given, SETTINGS)
    assert shared.rows == run(plan, given, replace(SETTINGS, share_groups=False)).rows
    full = {lfta.name: lfta for lfta in shared.statistics.lftas}
    assert full["q0_low"].rows_out == full["q0_low"].accepted > 50
    assert full["q1_low"].rows_out == full["q1_low"].accepted > 20


MANY_KEEP = (
    "count(*) AS n, sum(len) AS bytes",
    "sum(ttl) AS ttls, avg(len) AS mean",
    "count(*) AS n",
    "max(len) AS most, count(*) AS n",
    "sum(len) AS bytes, min(ttl) AS least",
)
MANY_ASK = ("len > {}", "len < {} OR ttl > {}", "300/(len - {}) > 1", "len > {} AND ttl < 99")


def many(count: int) -> list[str]:
    """So many queries of the same groups, of several kinds of cells and of predicates."""
    return [
        f"SELECT tb, srcIP, destIP, {MANY_KEEP[at % len(MANY_KEEP)]} FROM IPV4 "
        f"WHERE {MANY_ASK[at % len(MANY_ASK)].replace('{}', str(42 + at))} "
        "GROUP BY time/60 AS tb, srcIP, destIP"
        for at in range(count)
    ]


@pytest.mark.parametrize("count", [8, 9, 16, 17, 32])
def test_many_predicates_fill_one_table(count: int, tmp_path: Path) -> None:
    """Of up to 8 a packet's bits are fetched, of more they are turned; vectors have 8 cells."""
    capture = written(tmp_path, packets_of(MIXTURES["many groups"]))
    for settings in TABLES[1:3]:
        shared_as_apart(many(count), sources(capture), settings)


def test_narrow_sums_leave_before_they_are_full(tmp_path: Path) -> None:
    """Of lengths that a capture claims, two of which are more than 32 bits."""
    lengths = (0xFFFFFFFF, 60, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFE, 0)
    packets = [
        replace(packet(at / 9, at % 3), length=lengths[at * 7 % len(lengths)]) for at in range(300)
    ]
    queries = [QUERIES[0].replace("> 60", f"> {least}") for least in (1, 60, 1 << 31)]
    settings = replace(SETTINGS, slots=64)
    lftas = shared_as_apart(queries, sources(written(tmp_path, packets)), settings).statistics.lftas
    assert all(lfta.evicted == 0 and lfta.rows_out > 50 for lfta in lftas)


def test_narrow_counts_leave_before_they_are_full(tmp_path: Path) -> None:
    packets = [packet(at / 10_000, payload=at % 40) for at in range(140_000)]
    queries = [QUERIES[0].replace("> 60", f"> {least}") for least in (1, 60)]
    settings = replace(SETTINGS, slots=64, heartbeat_packets=0)
    lftas = shared_as_apart(queries, sources(written(tmp_path, packets)), settings).statistics.lftas
    assert [(lfta.evicted, lfta.rows_out) for lfta in lftas] == [(0, 3)] * 2


def test_four_groups_share_four_slots(tmp_path: Path) -> None:
    packets = [packet(at / 900, at * 5 % 4) for at in range(500)]
    settings = replace(SETTINGS, slots=4)
    lftas = shared_as_apart(
        QUERIES[:3], sources(written(tmp_path, packets)), settings
    ).statistics.lftas
    assert [lfta.evicted for lfta in lftas] == [0, 0, 0]


def test_strings_of_one_predicate_do_not_take_the_room_of_others(tmp_path: Path) -> None:
    """Of 256 KiB that a packet's strings have, each predicate has all, and each packet again."""
    queries = tuple(
        f"SELECT tb, srcIP, count(*) AS n FROM IPV4 WHERE {where} GROUP BY time/60 AS tb, srcIP"
        for where in (
            "len > 30",
            "length(repeat(text(len), 20000)) > 10",
            "length(concat(repeat(text(len), 20000), repeat(text(ttl), 20000))) > 20",
            "length(concat(repeat(text(ttl), 20000), repeat(text(len), 20000))) > 30",
        )
    )
    packets = [packet(at / 9, at % 7, payload=at % 40) for at in range(100)]
    given = sources(written(tmp_path, packets))
    check(queries, given, SETTINGS)
    check(queries[::-1], given, SETTINGS)


Promise = tuple[object, Counter[bytes]]
"""Bounds, and the rows before them that follow the bounds before."""


def promises(plan: Plan, given: list[FileSource], settings: Settings) -> dict[str, list[Promise]]:
    """Of each query what was promised, and behind which rows."""
    found: dict[str, list[Promise]] = {}
    with Session(plan, given, replace(settings, output_punctuation=True)) as session:
        for event in session.batches():
            said, bounds = found.setdefault(event.query, []), tuple(event.batch.bounds)
            rows = Counter(event.batch.csv().splitlines())
            if said and said[-1][0] == bounds and not rows:
                continue
            said.append((bounds, rows))
    return found


def test_each_promises_by_the_windows_that_it_has_groups_in(tmp_path: Path) -> None:
    """One that takes a packet a minute does not wait for the other's groups."""
    queries = (QUERIES[2], QUERIES[0].replace("> 60", "> 1000"))
    packets = [packet(at / 4, at % 9, payload=1200 * (at % 240 == 7)) for at in range(3_000)]
    given = sources(written(tmp_path, packets))
    settings = replace(SETTINGS, flush="immediate", slots=1 << 12)
    plan = plan_of(text_of(queries))
    shared = promises(plan, given, settings)
    assert shared == promises(plan, given, replace(settings, share_groups=False))
    assert len(shared["q1"]) > 10


def test_a_table_that_several_fill_grows_and_is_told_for_each(tmp_path: Path) -> None:
    packets = [packet(at / 600, at * 7919 % 6_000, at % 2) for at in range(60_000)]
    queries = (QUERIES[0].replace("> 60", "> 1"), QUERIES[1], QUERIES[2])
    given = sources(written(tmp_path, packets))
    settings = replace(SETTINGS, memory_bytes=16 << 20, heartbeat_packets=2_000)
    check(queries, given, settings)
    tables = run(plan_of(text_of(queries)), given, settings).statistics.lftas
    assert len({table.slots for table in tables}) == 1
    assert [table.held_bytes > 0 for table in tables] == [True, False, False]
    assert tables[0].evicted > 0


def test_several_interfaces_have_a_table_each(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    made = []
    for seed, folder in enumerate(folders):
        folder.mkdir()
        made.append(written(folder, packets_of(Mixture(seed=seed, hosts=9))))
    given = [FileSource(folder.name, str(path)) for folder, path in zip(folders, made, strict=True)]
    names = [folder.name for folder in folders]
    plan = plan_of(text_of(QUERIES), interfaces=names)
    settings = replace(SETTINGS, slots=8)
    shared = run(plan, given, settings)
    apart = run(plan, given, replace(settings, share_groups=False))
    assert {name: Counter(map(tuple, rows)) for name, rows in shared.rows.items()} == {
        name: Counter(map(tuple, rows)) for name, rows in apart.rows.items()
    }
    assert counted(shared.statistics.lftas) == counted(apart.statistics.lftas)


@pytest.mark.skipif(not captures("good"), reason="no real captures here")
def test_real_captures_are_answered_the_same() -> None:
    plan = plan_of(text_of(QUERIES))
    settings = replace(SETTINGS, slots=8)
    for path in captures("good", "hostile")[::5]:
        try:
            shared = run(plan, sources(path), settings)
        except SourceError:
            continue
        apart = run(plan, sources(path), replace(settings, share_groups=False))
        for name, rows in apart.rows.items():
            assert Counter(map(tuple, shared.rows[name])) == Counter(map(tuple, rows)), path
        assert counted(shared.statistics.lftas) == counted(apart.statistics.lftas), path

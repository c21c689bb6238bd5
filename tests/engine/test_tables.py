# SPDX-License-Identifier: Apache-2.0
"""Tables of the low level: those that are too small grow, those that are the same are one."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gigastream.engine import opening
from gigastream.engine.statistics import LftaStatistics
from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.plan.explain import explain
from gigastream.query_texts import QueryTexts, inline_queries
from gigastream.sessions.low_session import LowSession
from gigastream.sessions.session import Session
from gigastream.sessions.spool_session import SpoolSession
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import Spool
from gigastream.spool.plan import plan_of_spools
from tests.captures import DEMO_CAPTURE
from tests.engine.stepping import plan_of
from tests.engine.traffic import packet
from tests.strategies.files import NANOSECONDS, pcap

MIB = 1 << 20
HOSTS = 12_000
PAIRS = "SELECT tb, srcIP, count(*) AS n, sum(len) AS bytes FROM IP GROUP BY time/60 AS tb, srcIP"
HASH_KEY = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
SMALL = Settings(
    memory_bytes=4 * MIB, heartbeat_packets=2_000, disorder_bytes=1 << 20, hash_key=HASH_KEY
)
"""Tables begin with an eighth of it; what collides is the same in every run."""


def written(folder: Path, hosts: int, packets: int, seconds: float = 100) -> Path:
    path = folder / f"{hosts}.pcap"
    chosen = random.Random(1).choices(range(hosts), k=packets) if hosts < packets else range(hosts)
    made = [packet(at * seconds / packets, host) for at, host in enumerate(chosen)]
    path.write_bytes(pcap(made, magic=NANOSECONDS))
    return path


def run(text: str, capture: Path, settings: Settings) -> tuple[Counter[Any], list[LftaStatistics]]:
    """(rows with their queries, tables at the end)."""
    rows: Counter[Any] = Counter()
    with Session(plan_of(text), [FileSource("default", str(capture))], settings) as session:
        for event in session.batches():
            rows.update((event.query, line) for line in event.batch.csv().splitlines())
        return rows, list(session.statistics().lftas)


@pytest.mark.parametrize("policy", FLUSH_POLICIES, ids=lambda name: f"flush-{name}")
def test_a_table_that_is_too_small_grows_and_the_rows_stay(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "DEFAULT_SLOTS", 4_096)
    capture = written(tmp_path, HOSTS, 10 * HOSTS)
    settings = replace(SMALL, flush=policy, memory_bytes=64 * MIB)
    rows, (grown,) = run(PAIRS, capture, settings)
    fixed_rows, (fixed,) = run(PAIRS, capture, replace(settings, slots=4_096))
    assert rows == fixed_rows
    assert fixed.slots == 4_096
    assert grown.slots > 4_096
    assert grown.evicted < 0.8 * fixed.evicted
    assert grown.accepted == fixed.accepted == 10 * HOSTS


@pytest.mark.parametrize(
    ("protocol", "groups", "aggregates", "slot_bytes"),
    [
        ("IPV4", "", "1 AS one", 4),
        ("IPV4", ", srcIP", "srcIP", 8),
        ("IPV4", ", srcIP, len", "srcIP, len", 16),
        ("IPV4", "", "count(*)", 16),
        ("IPV4", ", srcIP, destIP", "count(*)", 32),
        ("IPV4", ", srcIP", "count(*), sum(len), max(len)", 32),
        ("IPV4", "", "count(*), sum(len), min(timestamp), max(timestamp)", 64),
        ("IP", ", srcIP, destIP", "count(*), sum(len)", 64),
    ],
)
def test_slots_lie_in_lines_of_the_cache(
    protocol: str, groups: str, aggregates: str, slot_bytes: int
) -> None:
    plan = plan_of(f"SELECT tb, {aggregates} FROM {protocol} GROUP BY time/60 AS tb{groups}")
    held = []
    for slots in (1 << 12, 1 << 13):
        sources = [FileSource("default", str(DEMO_CAPTURE))]
        with Session(plan, sources, Settings(slots=slots)) as session:
            held += [table.held_bytes for table in session.statistics().lftas]
    of_a_slot = (held[1] - held[0]) / (1 << 12)
    bitmaps = 2.1  # a bit in each of 16 windows, and the levels above
    assert slot_bytes < of_a_slot < slot_bytes + bitmaps


def test_growth_ends_where_the_budget_does(tmp_path: Path) -> None:
    capture = written(tmp_path, HOSTS, 10 * HOSTS)
    _, (table,) = run(PAIRS, capture, replace(SMALL, memory_bytes=MIB, max_groups=1))
    assert table.held_bytes <= MIB // 4
    assert table.evicted > table.accepted / 4


def test_a_flood_grows_nothing(tmp_path: Path) -> None:
    """No packet meets its group: more slots would hold more groups that never come again."""
    capture = written(tmp_path, 60_000, 60_000)
    _, (table,) = run(PAIRS, capture, replace(SMALL, max_groups=10))
    assert table.evicted > 40_000
    assert table.held_bytes <= SMALL.memory_bytes // 8


def test_growth_that_leaves_as_many_rows_is_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few hosts are met, and most come once: what is not pushed out leaves all the same."""
    monkeypatch.setattr(opening, "DEFAULT_SLOTS", 4_096)
    path = tmp_path / "most_come_once.pcap"
    made = [packet(at / 500, at % 40 if at % 5 == 0 else 1_000 + at) for at in range(150_000)]
    path.write_bytes(pcap(made, magic=NANOSECONDS))
    _, (table,) = run(PAIRS, path, replace(SMALL, memory_bytes=64 * MIB))
    assert table.accepted == 150_000
    assert table.slots == 4 * 4_096


def test_slots_that_a_query_asks_for_stay(tmp_path: Path) -> None:
    capture = written(tmp_path, 2_000, 30_000)
    text = f"DEFINE {{ query_name q; aggregate_slots 64; }} {PAIRS}"
    _, (table,) = run(text, capture, SMALL)
    assert table.slots == 64


# ---- one for several queries ----

OTHER = PAIRS.replace("time/60", "time/30")


def both(first: str, second: str) -> str:
    return f"DEFINE {{ query_name a; }} {first}; DEFINE {{ query_name b; }} {second}"


@pytest.mark.parametrize(
    ("second", "tables"),
    [
        (PAIRS, 1),
        (PAIRS + " HAVING count(*) > 2", 1),
        (PAIRS + " ORDER BY bytes DESC LIMIT 2", 1),
        (PAIRS.replace("FROM IP", "FROM IPV4"), 2),
        (PAIRS.replace("GROUP", "WHERE len > 0 GROUP"), 2),
        (PAIRS.replace("sum(len)", "max(len)"), 2),
        (PAIRS.replace(" AS tb", " AS minute").replace("tb,", "minute,"), 2),
        (OTHER, 2),
    ],
)
def test_the_same_table_serves_several_queries(second: str, tables: int) -> None:
    settings = Settings(hash_key=(1, 3))
    rows, lftas = run(both(PAIRS, second), DEMO_CAPTURE, settings)
    assert len(lftas) == tables
    alone = (
        run(both(PAIRS, OTHER), DEMO_CAPTURE, settings)[0],
        run(both(OTHER, second), DEMO_CAPTURE, settings)[0],
    )
    assert _of("a", rows) == _of("a", alone[0])
    assert _of("b", rows) == _of("b", alone[1])


@pytest.mark.parametrize("options", ["flush lazy;", "aggregate_slots 64;", "max_lfta_disorder 1;"])
def test_a_table_that_is_asked_to_be_another_is_one(options: str) -> None:
    text = both(PAIRS, PAIRS).replace("query_name b;", f"query_name b; {options}")
    assert len(plan_of(text).low) == 2
    shared = text.replace("query_name a;", f"query_name a; {options}")
    assert len(plan_of(shared).low) == 1


def test_parts_of_a_union_stay_apart() -> None:
    text = "SELECT tb, count(*) AS n FROM PKT UNION PKT GROUP BY time/60 AS tb"
    rows, lftas = run(both(text, text), DEMO_CAPTURE, Settings())
    assert len(lftas) == 4
    assert _of("a", rows) == _of("b", rows)


def test_selections_that_carry_the_same_are_one_too() -> None:
    text = "SELECT tb, TCP_data, count(*) AS n FROM TCP GROUP BY time/{} AS tb, TCP_data"
    assert len(plan_of(both(text.format(60), text.format(30))).low) == 1


def test_explain_says_who_shares() -> None:
    shown = explain(plan_of(both(PAIRS, PAIRS + " ORDER BY n DESC LIMIT 1")))
    assert shown.count("feeds      a, b") == 2


def test_a_spool_answers_a_query_whose_stream_another_named(tmp_path: Path) -> None:
    text = both(PAIRS, PAIRS + " HAVING count(*) > 2")
    texts = QueryTexts(inline_queries((text,)), interfaces={"default": {}})
    source = [FileSource("default", str(DEMO_CAPTURE))]
    with LowSession(plan_of(text), texts, source, Settings(), tmp_path / "spool") as session:
        assert sum(session.turns()) > 0
    alone = replace(texts, files=inline_queries((text[text.index("DEFINE", 1) :],)))
    spool = Spool(tmp_path / "spool")
    plan = plan_of_spools([spool], alone)
    assert [node.name for node in plan.low] == ["a_low"]
    with SpoolSession([spool], plan, [texts.interfaces], Settings()) as reading:
        read = Counter(line for e in reading.batches() for line in e.batch.csv().splitlines())
    rows, _ = run(text, DEMO_CAPTURE, Settings())
    assert read == _of("b", rows)


def _of(query: str, rows: Counter[Any]) -> Counter[Any]:
    return Counter({line: count for (name, line), count in rows.items() if name == query})


def adaptive(option: str, capture: Path, **settings: Any) -> tuple[Counter[Any], LftaStatistics]:
    text = f"DEFINE {{ {option} }} {PAIRS}".replace("time/60", "time/5")
    rows, (table,) = run(text, capture, replace(SMALL, **settings))
    return rows, table


@pytest.mark.parametrize("option", ["aggregate_slots adaptive;", "flush adaptive;"])
def test_an_adaptive_table_becomes_as_small_as_its_groups_allow(
    tmp_path: Path, option: str
) -> None:
    capture = written(tmp_path, hosts=100, packets=20_000)
    rows, table = adaptive(option, capture)
    expected, other = adaptive("", capture)
    assert rows == expected
    assert table.slots < other.slots
    assert 8 * 100 <= table.slots < 16 * 100, "eight for a group, as a power of two"
    assert table.held_bytes < other.held_bytes
    assert table.evicted * 8 <= table.accepted


def test_it_grows_again_where_more_groups_come(tmp_path: Path) -> None:
    few = [packet(at / 200, at % 20) for at in range(8_000)]
    many = random.Random(1).choices(range(2_000), k=40_000)
    packets = [*few, *(packet(40 + at / 400, host) for at, host in enumerate(many))]
    path = tmp_path / "more.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    rows, table = adaptive("aggregate_slots adaptive;", path, disorder_bytes=1 << 16)
    expected, _ = adaptive("", path, disorder_bytes=1 << 16)
    assert rows == expected
    assert table.slots >= 2 * 2_000


def test_a_size_that_somebody_has_given_stays(tmp_path: Path) -> None:
    capture = written(tmp_path, hosts=100, packets=20_000)
    for option in ("flush adaptive; aggregate_slots 4096;", "aggregate_slots 4096;"):
        assert adaptive(option, capture)[1].slots == 4096
    assert adaptive("aggregate_slots adaptive;", capture, slots=2048)[1].slots == 2048


def test_what_it_is_is_told() -> None:
    text = f"DEFINE {{ aggregate_slots adaptive; }} {PAIRS}"
    assert "as many slots as the groups of the last windows need" in explain(plan_of(text))

# SPDX-License-Identifier: Apache-2.0
"""max_rows of a run: no operator holds more; what it refuses is counted, what it has stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.engine.statistics import OperatorStatistics
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.sources.packets import PacketSource
from tests.engine.joins import Checker, Pushed, push, told_all
from tests.engine.stepping import NOTHING, plan_of
from tests.engine.test_joins import CASES
from tests.engine.traffic import packet, udp_packet
from tests.strategies.files import NANOSECONDS, pcap

MOST = 40
ROWS = 100
SECONDS, SECOND_NS = 1000, 10**9
OWN_BYTES = (1 << 30) + 1
"""A limit that no other test has: who has the same one shares the account, and its peak."""
SORTED = "SELECT tb, srcIP, count(*) AS n FROM IP GROUP BY time/60 AS tb, srcIP ORDER BY srcIP DESC"


def run(text: str, max_rows: int | None) -> tuple[list[str], OperatorStatistics, list[bool]]:
    """Rows, the counters of ORDER BY, and which batches are marked, of a window of 100 hosts."""
    packets = [packet(at / 10, at) for at in range(ROWS)]
    source = PacketSource([(one.timestamp_ns, one.data) for one in packets])
    rows, marks = [], []
    with Session(plan_of(text), [source], Settings(max_rows=max_rows)) as session:
        for event in session.batches():
            rows += event.batch.csv().decode().splitlines()
            marks.append(event.batch.is_partial)
        (order,) = (o for o in session.statistics().operators if o.kind == "order")
    return rows, order, marks


def test_order_by_refuses_what_it_has_no_room_for() -> None:
    rows, order, marks = run(SORTED, MOST)
    assert len(rows) == MOST
    assert (order.rows_in, order.rows_refused, order.rows_out) == (ROWS, ROWS - MOST, MOST)
    assert (order.groups_refused, order.refused_for_memory) == (0, 0)
    assert all(marks)
    assert rows == sorted(rows, key=lambda row: int(row.split(",")[1].split(".")[3]), reverse=True)


@pytest.mark.parametrize("limit", [1, 10, MOST - 1])
def test_rows_that_limit_would_cut_make_room(limit: int) -> None:
    text = f"{SORTED} LIMIT {limit}"
    rows, order, marks = run(text, MOST)
    assert rows == run(text, None)[0]
    assert (order.rows_refused, order.beyond_limit) == (0, ROWS - limit)
    assert not any(marks)


def test_a_join_holds_as_many_of_both_sides_as_the_run_allows() -> None:
    case = CASES["at most so many"]
    assert case.max_rows == 3
    unlimited = replace(case, max_rows=None)
    rows = [(at, at, -at, at % 2, b"x", None) for at in range(10)]
    batches = [Pushed(at % 2, (row,), (NOTHING,) * 3) for at, row in enumerate(rows)]
    batches += [Pushed(port, (), (20, NOTHING, NOTHING)) for port in (0, 1)]
    checker = Checker(case)
    with HighSession(
        unlimited.plan(), ("default",), replace(told_all(), max_rows=case.max_rows)
    ) as session:
        for batch in batches:
            checker.check(batch, push(session, unlimited, batch))
            (join,) = session.statistics().operators
            assert join.held == checker.model.held <= case.max_rows
            assert join.rows_refused == checker.model.refused
        assert join.rows_refused == 7


def test_rows_that_are_whole_and_not_by_turns_take_no_more_memory(tmp_path: Path) -> None:
    """A batch is one or the other: each, of a row or two, would keep the room of thousands.

    Of every other second a second host is refused; all seconds are held when the rows come that
    meet them, in a batch.
    """
    text = """DEFINE { query_name pairs; }
    SELECT a.t, a.host, b.n AS m FROM hosts a, days b WHERE a.t/100000 = b.t;
    DEFINE { query_name hosts; visibility internal; }
    SELECT t, srcIP AS host, count(*) AS n FROM UDP GROUP BY time AS t, srcIP;
    DEFINE { query_name days; visibility internal; }
    SELECT t, srcIP, count(*) AS n FROM UDP GROUP BY time/100000 AS t, srcIP"""
    packets = [udp_packet(at * SECOND_NS, 1, 2) for at in range(SECONDS)]
    packets += [udp_packet(at * SECOND_NS, 3, 2) for at in range(0, SECONDS, 2)]
    packets += [udp_packet(5 * SECONDS * SECOND_NS, 1, 2)] * (SECONDS + 100)
    capture = tmp_path / "seconds.pcap"
    capture.write_bytes(pcap(packets, magic=NANOSECONDS))
    settings = Settings(
        max_groups=SECONDS,
        slots=64,
        burst=1,
        batch_rows=4096,
        slack_ns=SECONDS * SECOND_NS,
        memory_bytes=OWN_BYTES,
    )
    with Session(plan_of(text), [FileSource("default", str(capture))], settings) as session:
        marks = [event.batch.is_partial for event in session.batches() if event.batch.row_count]
        peak = session.statistics().memory.peak_bytes
    assert len(marks) > SECONDS
    assert sum(marks) > SECONDS // 3
    assert peak < 4 << 20


TALKERS = """DEFINE { query_name talkers; visibility internal; }
SELECT tb, srcIP, count(*) AS n FROM UDP GROUP BY time/600 AS tb, srcIP"""
OVER_TALKERS = {
    "select": "SELECT tb, srcIP, n*2 AS n FROM talkers",
    "join": "SELECT a.tb, a.srcIP, b.n AS n FROM talkers a, all_ b WHERE a.tb = b.tb",
    "merge": "MERGE a.tb : b.tb FROM talkers a, talkers b",
    "order": "SELECT tb, srcIP, sum(n) AS n FROM talkers GROUP BY tb, srcIP ORDER BY n",
}


@pytest.mark.parametrize("above", OVER_TALKERS)
@pytest.mark.parametrize("batch_rows", [1, 8, 4096])
def test_rows_of_incomplete_windows_say_so_however_they_are_cut(
    above: str, batch_rows: int
) -> None:
    """The batch that is full goes in the middle of the rows: those behind it are no better."""
    packets = [udp_packet(at * SECOND_NS // 10, at, 2) for at in range(ROWS)]
    text = f"""{TALKERS};
    DEFINE {{ query_name all_; visibility internal; }}
    SELECT tb, count(*) AS n FROM UDP GROUP BY time/600 AS tb;
    DEFINE {{ query_name asked; }} {OVER_TALKERS[above]}"""
    source = PacketSource([(one.timestamp_ns, one.data) for one in packets])
    settings = Settings(max_groups=MOST + 3, batch_rows=batch_rows, flush="lazy")
    with Session(plan_of(text), [source], settings) as session:
        batches = [event.batch for event in session.batches() if event.batch.row_count]
        marks = [batch.is_partial for batch in batches for _ in range(batch.row_count)]
    assert len(marks) >= MOST
    assert all(marks)

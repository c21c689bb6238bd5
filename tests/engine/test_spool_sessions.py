# SPDX-License-Identifier: Apache-2.0
"""Into a spool and out of it, in this process: order, memory, and what a restart promises."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.plan import plan_queries
from gigastream.plan.base_time import base_bound
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.sessions.low_session import LowSession
from gigastream.sessions.spool_session import SpoolSession
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import END, Spool, SpoolSettings
from gigastream.spool.plan import plan_of_spools
from tests.engine.stepping import memory_file
from tests.engine.traffic import SECOND_NS, crowd
from tests.strategies.files import NANOSECONDS, pcap

COUNTS = """SELECT tb, srcIP, count(*) AS packets
    FROM IPV4 GROUP BY time/10 AS tb, srcIP"""
INTERFACES = ("east", "west")
TEXTS = QueryTexts(inline_queries((COUNTS,)), interfaces={name: {} for name in INTERFACES})
SMALL = SpoolSettings(segment_rows=20, sync=10 * SECOND_NS)
HOSTS, WINDOWS = 10, 60
by_policy = pytest.mark.parametrize("policy", FLUSH_POLICIES, ids=lambda name: f"flush-{name}")


def captures(seed: int = 1) -> list[FileSource]:
    """Ten minutes of ten hosts on each interface."""
    sources = []
    for at, interface in enumerate(INTERFACES):
        packets = crowd(seed + at, 3000, hosts=HOSTS, seconds=10 * WINDOWS)
        sources.append(FileSource(interface, memory_file(pcap(packets, magic=NANOSECONDS))[1]))
    return sources


@contextmanager
def as_pipes(files: Sequence[FileSource]) -> Iterator[list[FileSource]]:
    """The same packets, in pipes that hold all of them: nobody need write meanwhile."""
    with ExitStack() as stack:
        sources = []
        for file in files:
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(Path(file.path).read_bytes())
            sources.append(FileSource(file.interface, f"/dev/fd/{reading}"))
        yield sources


def spool_of(
    root: Path,
    settings: Settings,
    query: str = COUNTS,
    *,
    stop_after: int | None = None,
    sources: Sequence[FileSource] = (),
) -> None:
    """A spool; after so many turns the run is as if it had been killed."""
    texts = replace(TEXTS, files=inline_queries((query,)))
    plan = plan_queries(check_texts(texts).queries)
    session = LowSession(plan, texts, sources or captures(), settings, root, SMALL)
    for turn, _ in enumerate(session.turns()):
        if turn == stop_after:
            break
    session.close()


def over(spool: Spool) -> SpoolSession:
    return SpoolSession([spool], plan_of_spools([spool]), [TEXTS.interfaces])


@by_policy
def test_the_stream_that_is_behind_is_read_first(policy: str, tmp_path: Path) -> None:
    """Else all groups of one interface would wait for the other's first window."""
    spool_of(tmp_path, Settings(flush=policy, slack_ns=SECOND_NS, batch_rows=8))
    most, rows = 0, 0
    with over(Spool(tmp_path)) as session:
        for event in session.batches():
            rows += event.batch.row_count
            (operator,) = session.statistics().operators
            most = max(most, operator.held)
    assert rows > 0.9 * HOSTS * WINDOWS
    assert most <= 8 * HOSTS


@by_policy
def test_every_line_says_how_far_packet_time_is(policy: str, tmp_path: Path) -> None:
    spool_of(tmp_path, Settings(flush=policy, slack_ns=SECOND_NS, batch_rows=8))
    (node,) = plan_of_spools([Spool(tmp_path)]).low
    for track in Spool(tmp_path).tracks():
        lines = track.poll()
        assert lines[-1].base_ns == END
        assert len({line.base_ns for line in lines}) > WINDOWS // 2
        for line in lines:
            assert line.base_ns == base_bound(node, line.bounds)


def test_a_restart_takes_nothing_back(tmp_path: Path) -> None:
    settings = Settings(flush="immediate", slack_ns=SECOND_NS, batch_rows=8)
    with as_pipes(captures()) as sources:
        spool_of(tmp_path, settings, stop_after=80, sources=sources)
    half = {track.interface: track.poll()[-1].base_ns for track in Spool(tmp_path).tracks()}
    assert all(0 < reached < END for reached in half.values())
    with as_pipes(captures()) as sources:
        spool_of(tmp_path, settings, sources=sources)
    for track in Spool(tmp_path).tracks():
        lines = track.poll()
        assert [line.kind for line in lines].count("run") == 2
        assert half[track.interface] in [line.base_ns for line in lines]
        assert all(a.base_ns <= b.base_ns and a.bounds <= b.bounds for a, b in pairwise(lines))
        for before, line in pairwise(lines):
            for batch in track.read(line):
                assert min(batch.column(0).to_pylist()) >= before.bounds[0]


def test_what_is_missing_is_said_and_not_waited_for(tmp_path: Path) -> None:
    spool_of(tmp_path, Settings())
    (gone,) = tmp_path.rglob("west")
    gone.rename(tmp_path.with_name("west"))
    with over(Spool(tmp_path)) as session:
        rows = sum(event.batch.row_count for event in session.batches())
        assert rows > 0.9 * HOSTS * WINDOWS
        assert {account.interface for account in session.accounts() if account.rows} == {"east"}
        (damage,) = session.damage
        assert "west" in damage


def test_a_stream_that_has_changed_since_the_plan_was_made_is_another(tmp_path: Path) -> None:
    """Its columns are the same, and its rows are not what the plan is of."""
    spool_of(tmp_path, Settings())
    spool = Spool(tmp_path)
    plan = plan_of_spools([spool])
    spool_of(tmp_path, Settings(), COUNTS.replace("time/10", "time/20"))
    with SpoolSession([spool], plan, [TEXTS.interfaces]) as session:
        assert not any(event.batch.row_count for event in session.batches())
        assert len(session.damage) == len(INTERFACES)
    with over(Spool(tmp_path)) as session:
        assert any(event.batch.row_count for event in session.batches())


def test_streams_under_their_writers_names_fill_no_table_here(tmp_path: Path) -> None:
    """Two queries fill one where they are written; over the spool nothing does."""
    both = f"{COUNTS}; DEFINE {{ query_name b; }} {COUNTS.replace('GROUP', 'WHERE len > 60 GROUP')}"
    spool_of(tmp_path, Settings(), both)
    other = both.replace("query_name b", "query_name c").replace("AS packets", "AS n")
    asked = replace(TEXTS, files=inline_queries((f"DEFINE {{ query_name d; }} {other}",)))
    plan = plan_of_spools([Spool(tmp_path)], asked)
    written = plan_of_spools([Spool(tmp_path)])
    assert {low.name for low in plan.low} == {low.name for low in written.low}
    assert not any(low.table_of for low in plan.low)

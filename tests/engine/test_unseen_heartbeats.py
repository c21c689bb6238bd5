# SPDX-License-Identifier: Apache-2.0
"""Heartbeats that nobody sees, of files read as fast as they go: by packets as well as by time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of
from tests.engine.traffic import packet
from tests.strategies.files import NANOSECONDS, pcap

SECONDS = 10_000
"""Of capture time, a packet each."""
BETWEEN = 4096
BATCH_ROWS = 4096
BURST = 256

SELECTION = "DEFINE { query_name q; } SELECT time, len FROM IPV4"
SILENT_SIDE = """
DEFINE { query_name l; } SELECT time, len FROM a.IPV4;
DEFINE { query_name r; } SELECT time, len FROM b.IPV4 WHERE ttl = 255;
DEFINE { query_name q; } MERGE l.time : r.time FROM l, r
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sparse") / "sparse.pcap"
    packets = [packet(second) for second in range(SECONDS)]
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    return path


def sizes(session: Session) -> list[int]:
    """Rows of each batch of q."""
    return [
        each.batch.row_count
        for turn in session.turns()
        for each in turn
        if each.query == "q" and each.batch.row_count > 0
    ]


@pytest.mark.parametrize("burst", [1, 7, 256])
def test_a_second_with_one_packet_has_no_batch_of_its_own(capture: Path, burst: int) -> None:
    settings = Settings(burst=burst, batch_rows=BATCH_ROWS)
    with Session(plan_of(SELECTION), [FileSource("default", str(capture))], settings) as session:
        found = sizes(session)
    assert sum(found) == SECONDS
    assert len(found) <= 2 + SECONDS // BETWEEN + SECONDS // BATCH_ROWS


def test_where_heartbeats_are_seen_there_is_one_a_second(capture: Path) -> None:
    settings = Settings(output_punctuation=True)
    with Session(plan_of(SELECTION), [FileSource("default", str(capture))], settings) as session:
        beats = sum(each.batch.is_heartbeat for turn in session.turns() for each in turn)
    assert beats >= SECONDS - 1


def test_a_side_of_which_nothing_is_taken_holds_the_other_up_for_so_long(capture: Path) -> None:
    sources = [FileSource(name, str(capture)) for name in "ab"]
    settings = Settings(burst=BURST, batch_rows=BATCH_ROWS, slack_ns=0)
    behind = rows = 0
    with Session(plan_of(SILENT_SIDE, "ab"), sources, settings) as session:
        for turn in session.turns():
            rows += sum(each.batch.row_count for each in turn if each.query == "q")
            read = sum(source.read for source in session.statistics().sources)
            behind = max(behind, read // 2 - rows)
    assert rows == SECONDS
    assert behind <= BETWEEN + BATCH_ROWS + BURST

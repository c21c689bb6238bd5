# SPDX-License-Identifier: Apache-2.0
"""Files that are read as fast as they go: heartbeats are rarer, old windows leave whole."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of
from tests.engine.traffic import packet
from tests.strategies.files import NANOSECONDS, pcap

SECONDS = 10_000
"""Of capture time, a packet each."""
BETWEEN = 512
BATCH_ROWS = 4096
BURST = 256
HOSTS = 50

TALKERS = (
    "DEFINE { query_name q; } SELECT tb, srcIP, count(*) FROM IP GROUP BY time/60 AS tb, srcIP"
)
SELECTION = "DEFINE { query_name q; } SELECT time, len FROM IPV4"
SILENT_SIDE = """
DEFINE { query_name l; visibility internal; } SELECT time, len FROM IPV4;
DEFINE { query_name r; visibility internal; } SELECT time, len FROM IPV4 WHERE ttl = 255;
DEFINE { query_name q; } MERGE l.time : r.time FROM l, r
"""
SPARSE_SIDE = """
DEFINE { query_name l; visibility internal; } SELECT time, len FROM a.IPV4;
DEFINE { query_name r; visibility internal; } SELECT time, len FROM b.IPV4;
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
    settings = Settings(burst=BURST, batch_rows=BATCH_ROWS, slack_ns=0)
    behind = rows = 0
    sources = [FileSource("default", str(capture))]
    with Session(plan_of(SILENT_SIDE), sources, settings) as session:
        for turn in session.turns():
            rows += sum(each.batch.row_count for each in turn)
            behind = max(behind, session.statistics().sources[0].read - rows)
    assert rows == SECONDS
    assert behind <= BETWEEN + BATCH_ROWS + BURST


@pytest.mark.parametrize("burst", [1, 256])
def test_a_sparse_interface_is_not_read_ahead_of_a_dense_one(tmp_path: Path, burst: int) -> None:
    paths = {"a": tmp_path / "dense.pcap", "b": tmp_path / "sparse.pcap"}
    dense, sparse = range(30_000), range(0, 30_000, 3_000)
    for path, hundredths in zip(paths.values(), (dense, sparse), strict=True):
        path.write_bytes(pcap([packet(at / 100) for at in hundredths], magic=NANOSECONDS))
    settings = Settings(burst=burst, batch_rows=BATCH_ROWS, slack_ns=0, max_rows=12_000)
    sources = [FileSource(name, str(path)) for name, path in paths.items()]
    with Session(plan_of(SPARSE_SIDE, "ab", is_finite=True), sources, settings) as session:
        rows = sum(each.batch.row_count for turn in session.turns() for each in turn)
        refused = [operator.rows_refused for operator in session.statistics().operators]
    assert (rows, sum(refused)) == (len(dense) + len(sparse), 0)


@pytest.mark.parametrize("burst", [1, 256])
def test_an_old_window_of_a_file_leaves_whole(tmp_path: Path, burst: int) -> None:
    path = tmp_path / "minutes.pcap"
    traffic = [packet(60 * minute, n) for minute in range(3) for n in range(HOSTS)]
    path.write_bytes(pcap(traffic, magic=NANOSECONDS))
    with ExitStack() as opened:
        engine = opened.enter_context(Engine(Settings(burst=burst)))
        engine.add_files([FileSource("default", str(path))])
        queries = opened.enter_context(AttachedSet(plan_of(TALKERS), Settings()))
        engine.attach(queries)
        engine.start()
        while engine.statistics()[0].read < HOSTS + 2:
            assert engine.run(1, 0)
        (table,) = queries.lftas()
        assert table.groups < 3, "the second window's"

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
from tests.engine.traffic import SECOND_NS, packet
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
BOTH_SIDES = """
DEFINE { query_name l; visibility internal; } SELECT time, len FROM IPV4;
DEFINE { query_name r; visibility internal; } SELECT time, len FROM IPV4 WHERE ttl > 0;
DEFINE { query_name q; } MERGE l.time : r.time FROM l, r
"""
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


@pytest.mark.parametrize("burst", [1, 7, 256])
def test_seconds_of_a_window_bring_no_batches_of_their_own(tmp_path: Path, burst: int) -> None:
    path = tmp_path / "turns.pcap"
    path.write_bytes(pcap([packet(at, at % 2) for at in range(SECONDS)], magic=NANOSECONDS))
    settings = Settings(burst=burst, batch_rows=BATCH_ROWS, slots=1)
    text = TALKERS.replace("query_name q", "lfta_aggregation true").replace("60", "36000")
    plan = plan_of(text)
    with Session(plan, [FileSource("default", str(path))], settings) as session:
        batches = [each.batch.row_count for turn in session.turns() for each in turn]
    assert sum(batches) == SECONDS, "each packet drives the group before it out"
    assert len(batches) <= 2 + SECONDS // BETWEEN + SECONDS // BATCH_ROWS


@pytest.mark.parametrize("text", [BOTH_SIDES, SILENT_SIDE], ids=["both", "one is silent"])
def test_what_waits_for_its_turn_waits_for_seconds_alone(capture: Path, text: str) -> None:
    settings = Settings(batch_rows=BATCH_ROWS, slack_ns=0, max_rows=20)
    with Session(plan_of(text), [FileSource("default", str(capture))], settings) as session:
        rows = sum(each.batch.row_count for turn in session.turns() for each in turn)
        refused = sum(operator.rows_refused for operator in session.statistics().operators)
    assert (rows, refused) == (SECONDS * (2 if text == BOTH_SIDES else 1), 0)


@pytest.mark.parametrize("policy", ["slow", "slow_inorder", "immediate"], ids="by {}".format)
@pytest.mark.parametrize("heartbeat_s", [0, 1])
def test_groups_have_room_when_old_windows_have_gone(
    tmp_path: Path, policy: str, heartbeat_s: int
) -> None:
    """Windows of 10 s, of 150 groups each, a packet each: no more have room at once."""
    path = tmp_path / "windows.pcap"
    traffic = [packet(at / 15, at % 150) for at in range(6_000)]
    path.write_bytes(pcap(traffic, magic=NANOSECONDS))
    if policy == "slow_inorder" and heartbeat_s == 0:
        pytest.skip("its last old groups leave by packets, and the next heartbeat says so")
    plan = plan_of(TALKERS.replace("query_name q", f"flush {policy}").replace("60", "10"))
    settings = Settings(slack_ns=0, max_groups=150, heartbeat_ns=heartbeat_s * SECOND_NS)
    with Session(plan, [FileSource("default", str(path))], settings) as session:
        rows = sum(each.batch.row_count for turn in session.turns() for each in turn)
        refused = sum(operator.groups_refused for operator in session.statistics().operators)
    assert (rows, refused) == (len(traffic), 0)


def test_where_heartbeats_are_seen_there_is_one_a_second(capture: Path) -> None:
    settings = Settings(output_punctuation=True)
    with Session(plan_of(SELECTION), [FileSource("default", str(capture))], settings) as session:
        beats = sum(each.batch.is_heartbeat for turn in session.turns() for each in turn)
    assert beats >= SECONDS - 1


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

# SPDX-License-Identifier: Apache-2.0
"""Two interfaces, one silent for the whole run: punctuation alone closes windows on Spark.

The busy interface's spool is replayed in steps; the silent one gets a line of punctuation for each,
as a host's clock gives it, and never a row. Time is counted in triggers, not in seconds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.source import SourceFile
from gigastream.plan.operators.low_node import LowNode
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import (
    NOTHING,
    Spool,
    SpoolSettings,
    SpoolWriter,
    StoredQuerySet,
    StreamDescription,
    TrackWriter,
)
from spark_sink.dataframes import dataframe
from spark_sink.run import Streams
from tests.answers.mixture import START_NS, Mixture, packets_of
from tests.answers.on_spark import UNSYNCED, Kept, query_set, start, write_spool
from tests.answers.reference.queries import Source, answers
from tests.oracle.query import decode
from tests.oracle.rows import difference
from tests.strategies.files import NANOSECONDS, pcap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

SECOND_NS = 10**9
WINDOW_NS = 60 * SECOND_NS
STEP_NS = 40 * SECOND_NS
STEPS = 7
"""The capture's 240 seconds, and 40 more: every window is over by then."""
TRIGGERS = 2
"""Within so many rows come out: that of the heartbeat, and the one behind it."""
TIMES = 10

SLOW = pytest.mark.slow
BUSY, SILENT = "busy", "silent"
QUERIES = {
    "interfaces": """
        SELECT tb, srcIP, destIP, count(*) AS packets, sum(len) AS bytes
        FROM IPV4 GROUP BY time/60 AS tb, srcIP, destIP""",
    "queries": """
        SELECT tb, host, count(*) AS packets FROM sent UNION received
        GROUP BY time/60 AS tb, host;
        DEFINE { query_name sent; visibility internal; }
        SELECT time, srcIP AS host FROM busy.IPV4;
        DEFINE { query_name received; visibility internal; }
        SELECT time, destIP AS host FROM silent.IPV4""",
    "joins": """
        SELECT tb, a.srcIP, a.packets, b.packets AS answers
        FROM sent a FULL JOIN received b ON a.tb = b.tb AND a.srcIP = b.destIP;
        DEFINE { query_name sent; visibility internal; }
        SELECT tb, srcIP, count(*) AS packets FROM busy.IPV4 GROUP BY time/60 AS tb, srcIP;
        DEFINE { query_name received; visibility internal; }
        SELECT tb, destIP, count(*) AS packets FROM silent.IPV4 GROUP BY time/60 AS tb, destIP""",
    "bands": """
        SELECT minute, count(*) AS packets, count(b.len) AS answers
        FROM busy.IPV4 a LEFT JOIN silent.IPV4 b
        ON b.timestamp - a.timestamp BETWEEN 0 AND 1500000000 AND a.srcIP = b.destIP
        GROUP BY a.time/60 AS minute""",
    "slides": """
        SELECT window_end/60 - 1 AS minute, srcIP, count(*) AS packets, sum(len) AS bytes
        FROM IPV4 [RANGE 2 min, SLIDE 1 min, WA time] GROUP BY srcIP""",
}
REACH_NS = {"bands": 1_500_000_000}
"""How much longer than its window a group waits for what its rows could match."""
CAPTURE = pcap(packets_of(Mixture(seed=40, packets=300)), magic=NANOSECONDS)
CUT = SpoolSettings(segment_rows=1, sync=UNSYNCED)


class Replay:
    """Writes the spool of the busy interface again, step by step, and the silence of the other."""

    def __init__(self, text: str, folder: Path) -> None:
        self.queries = query_set([SourceFile("query", text)], [BUSY, SILENT])
        self.root = folder / "spool"
        self._written = folder / "written"
        (folder / "busy.pcap").write_bytes(CAPTURE)
        sources = [FileSource(BUSY, str(folder / "busy.pcap"))]
        # as a pipe: the capture's time goes on with its packets
        settings = Settings(slack_ns=SECOND_NS, heartbeat_ns=SECOND_NS)
        write_spool(self.queries, sources, self._written, settings, CUT)
        self.busy(START_NS, after_ns=NOTHING - 1)
        self.silent(START_NS)

    def busy(self, until_ns: int, after_ns: int) -> None:
        """Segments and punctuation until a base time; there, at the capture's end, a clock's."""
        is_over = until_ns >= START_NS + STEPS * STEP_NS
        with SpoolWriter(self.root, CUT) as writer:
            opened = self._open(writer)
            for track in Spool(self._written).tracks(interfaces=[BUSY]):
                again = opened[track.stream, BUSY]
                for entry in track.poll():
                    if after_ns < entry.base_ns <= until_ns:
                        (batch,) = list(track.read(entry)) or [None]
                        again.write(batch, entry.bounds, entry.base_ns, entry.last)
                if is_over:
                    self._promise(again, track.stream, until_ns)

    def silent(self, until_ns: int) -> None:
        """A line of punctuation."""
        with SpoolWriter(self.root, CUT) as writer:
            opened = self._open(writer)
            for track in Spool(self._written).tracks(interfaces=[SILENT]):
                self._promise(opened[track.stream, SILENT], track.stream, until_ns)

    def _open(self, writer: SpoolWriter) -> dict[tuple[str, str], TrackWriter]:
        """All tracks: a writer that leaves a stream out ends it for its readers."""
        written = Spool(self._written)
        tracks = written.tracks()
        streams = {
            track.stream: StreamDescription("as written", track.columns, track.schema)
            for track in tracks
        }
        queries = StoredQuerySet(written.plan(), written.queries(), streams)
        return writer.open(queries, [(track.stream, track.interface) for track in tracks])

    def _promise(self, track: TrackWriter, stream: str, base_ns: int) -> None:
        (node,) = (node for node in self.queries.plan.low if node.name == stream)
        track.write(None, _bounds(node, base_ns), base_ns, 0)


def _bounds(node: LowNode, base_ns: int) -> list[int]:
    return [NOTHING if f is None else f.forward(base_ns) for f in node.bounds]


class Run:
    """A streaming query over the replay."""

    def __init__(
        self, replay: Replay, spark: SparkSession, folder: Path, *, heartbeats: bool = True
    ) -> None:
        (output,) = replay.queries.plan.outputs
        options = {"heartbeats": str(heartbeats).lower()}
        rows = dataframe(replay.queries.plan, output, Streams(spark, [str(replay.root)], options))
        self._offsets = folder / "offsets"
        self.query: StreamingQuery
        self.kept: Kept
        self.query, self.kept = start(rows, output.schema, folder, processingTime="0 seconds")

    @property
    def triggers(self) -> int:
        """Micro-batches so far."""
        return len(self.kept.tables)

    def catch_up(self) -> int:
        """Let it read all there is; the rows so far."""
        self.query.processAllAvailable()
        return len(self.kept.rows())

    def heartbeat_ns(self, batch: int) -> int:
        """The punctuation that all tracks have reached at the end of a micro-batch."""
        lines = (self._offsets / str(batch)).read_text().splitlines()[2:]
        return min(position["hb"] for line in lines for position in json.loads(line).values())


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("interfaces", marks=SLOW),
        "queries",
        pytest.param("joins", marks=SLOW),
        "bands",
    ],
)
def test_rows_come_within_two_triggers_of_their_heartbeat(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    replay = Replay(QUERIES[name], tmp_path)
    run = Run(replay, spark, tmp_path / "checkpoint")
    try:
        _check_steps(replay, run)
    finally:
        run.query.stop()
    reach_ns = REACH_NS.get(name, 0)
    late = {delay for batch in run.kept.tables for delay in _delays(run, batch, reach_ns)}
    assert late <= set(range(TRIGGERS)), late
    expected = answers(QUERIES[name], [Source(decode(CAPTURE, None, SECOND_NS), BUSY)])["query"]
    problem = difference(expected.shown(), run.kept.rows())
    assert problem is None, problem


def _check_steps(replay: Replay, run: Run) -> None:
    """The busy interface's own punctuation closes nothing: it is the silent one that is behind."""
    before = run.catch_up()
    for step in range(STEPS):
        reached_ns = START_NS + step * STEP_NS
        replay.busy(reached_ns + STEP_NS, after_ns=reached_ns)
        assert run.catch_up() == before, "a window was closed too early"
        replay.silent(reached_ns + STEP_NS // 2)
        before = run.catch_up()


def _delays(run: Run, batch: int, reach_ns: int) -> set[int]:
    """How many triggers behind the one whose heartbeat ended their windows its rows came."""
    found = set()
    for minute in {int(row[0] or 0) for row in run.kept.rows_of(batch)}:
        over_ns = (minute + 1) * WINDOW_NS + reach_ns
        closing = next(n for n in sorted(run.kept.tables) if run.heartbeat_ns(n) >= over_ns)
        found.add(batch - closing)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["interfaces", pytest.param("queries", marks=SLOW), pytest.param("joins", marks=SLOW)]
)
def test_without_heartbeats_no_row_comes_in_ten_times_that_time(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    replay = Replay(QUERIES[name], tmp_path)
    run = Run(replay, spark, tmp_path / "checkpoint", heartbeats=False)
    over_ns = START_NS + STEPS * STEP_NS
    try:
        replay.busy(over_ns, after_ns=START_NS)
        replay.silent(over_ns)
        assert run.catch_up() == 0
        wanted = run.triggers + TIMES * TRIGGERS
        while run.triggers < wanted:
            over_ns += STEP_NS
            replay.silent(over_ns)
            replay.busy(over_ns, after_ns=over_ns)
            assert run.catch_up() == 0
    finally:
        run.query.stop()

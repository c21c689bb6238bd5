# SPDX-License-Identifier: Apache-2.0
"""Micro-batches of whole windows over a spool that grows: when they come, what they read, again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.plan import Plan
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.output import Output
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import Entry, Spool, SpoolSettings, manifest
from gigastream.spool.entry import decode
from gigastream.spool.layout import RETAINED, segment_name
from spark_sink.job_errors import JobError
from spark_sink.offsets import Offsets
from spark_sink.options import SourceOptions, parse
from spark_sink.run import Streams, plan_of_paths
from spark_sink.spools import Spools
from spark_sink.window_complete.due import Due
from spark_sink.window_complete.micro_batch_log import MicroBatch, MicroBatchLog, StreamOffsets
from spark_sink.window_complete.planner import MicroBatchPlanner
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery
from tests.answers.on_spark import UNSYNCED, Kept, Spooled, write_spool
from tests.answers.test_spark_silent import (
    QUERIES,
    REACH_NS,
    START_NS,
    STEP_NS,
    STEPS,
    WINDOW_NS,
    Replay,
)
from tests.oracle.rows import difference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIES_OPEN = {"slides": 3}
"""Windows in which a segment of two minutes' rows may lie; else 2."""
NAMES = pytest.mark.parametrize("name", list(QUERIES))


def output_of(plan: Plan) -> Output:
    (output,) = plan.outputs
    return output


class Looking:
    """A planner over a replay, asked after every step."""

    def __init__(self, replay: Replay) -> None:
        plan = replay.queries.plan
        self.due = Due(plan, output_of(plan))
        self._replay = replay
        self.last: MicroBatch | None = None
        self.begin()
        self.read: Counter[tuple[str, str, int | None]] = Counter()
        """How often each segment was read."""

    def begin(self, done: tuple[MicroBatch, StreamOffsets] | None = None) -> None:
        """Another process."""
        streams = {s.name: _options(self._replay, s) for s in self.due.streams}
        self.planner = MicroBatchPlanner(self.due, streams, done=done)
        self.last = self.last if done is None else done[0]

    def look(self) -> MicroBatch | None:
        found = self.planner.next(self.last)
        if found is not None:
            self.last = found
            for stream, slices in self.planner.slices(found).items():
                for piece in slices:
                    self.read.update((stream, piece.interface, e.segment) for e in piece.entries)
            self.planner.commit(found)
        return found


def _options(replay: Replay, stream: LowNode) -> SourceOptions:
    return parse({"path": str(replay.root), "stream": stream.name, **_interfaces(stream)})


def _interfaces(stream: LowNode) -> dict[str, str]:
    name = stream.source.interface
    return {"interfaces": name} if name else {}


@NAMES
def test_a_micro_batch_comes_with_the_punctuation_that_closes_a_window(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_sink.places.LOOK_PERIOD_S", 0.0)
    replay, reach_ns = Replay(QUERIES[name], tmp_path), REACH_NS.get(name, 0)
    looking = Looking(replay)
    looking.look()
    for step in range(STEPS):
        reached_ns = START_NS + step * STEP_NS
        replay.busy(reached_ns + STEP_NS, after_ns=reached_ns)
        assert looking.look() is None, "the silent one is behind: nothing closes"
        before_ns = 0 if looking.last is None else looking.last.until_ms * 10**6
        replay.silent(reached_ns + STEP_NS // 2)
        found = looking.look()
        minutes = [(ns - reach_ns) // WINDOW_NS for ns in (before_ns, reached_ns + STEP_NS // 2)]
        assert (found is not None) == (minutes[0] < minutes[1])
        looking.begin()
    assert looking.read
    assert max(looking.read.values()) <= LIES_OPEN.get(name, 2), "it is read once it closes"


@NAMES
def test_a_job_goes_on_behind_what_retention_has_taken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has said itself that it is done with it."""
    monkeypatch.setattr("spark_sink.places.LOOK_PERIOD_S", 0.0)
    replay, log = Replay(QUERIES[name], tmp_path), MicroBatchLog(str(tmp_path / "log"))
    looking = Looking(replay)
    for step in range(STEPS):
        reached_ns = START_NS + step * STEP_NS
        replay.busy(reached_ns + STEP_NS, after_ns=reached_ns)
        replay.silent(reached_ns + STEP_NS)
        while (found := looking.look()) is not None:
            log.plan(found)
            log.finish(looking.planner.let_go(found))
    assert log.last is not None
    deleted = _retire(replay, looking.planner.let_go(log.last))
    assert deleted > 0
    again = MicroBatchLog(str(tmp_path / "log"))
    looking.begin(again.done)
    assert looking.look() is None
    assert again.last is not None
    assert looking.planner.lags(again.last) is not None
    end_ns = START_NS + (STEPS + 2) * STEP_NS
    replay.busy(end_ns, after_ns=START_NS + STEPS * STEP_NS)
    replay.silent(end_ns)
    assert looking.look() is not None


def _retire(replay: Replay, let_go: StreamOffsets) -> int:
    """Delete what is let go, as retention does; return how many segments."""
    deleted = 0
    for track in Spool(replay.root).tracks():
        positions = let_go.get(track.stream, {})
        own = [p.segment for key, p in positions.items() if track.interface in key]
        if not (first := max(own, default=0)):
            continue
        folder = Path(track.folder)
        segments = [folder / segment_name(number) for number in range(first)]
        deleted += sum(segment.exists() for segment in segments)
        for segment in segments:
            segment.unlink(missing_ok=True)
        said = {"first": first, "segments": first, "rows": 0, "size_bytes": 0}
        (folder / RETAINED).write_text(json.dumps(said))
    return deleted


@NAMES
def test_a_line_of_a_manifest_is_read_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_sink.places.LOOK_PERIOD_S", 0.0)
    replay, read = Replay(QUERIES[name], tmp_path), Counter[bytes]()

    def noting(line: bytes) -> Entry:
        read[line] += 1
        return decode(line)

    looking = Looking(replay)
    for step in range(STEPS):
        reached_ns = START_NS + step * STEP_NS
        replay.busy(reached_ns + STEP_NS, after_ns=reached_ns)
        replay.silent(reached_ns + STEP_NS)
        with monkeypatch.context() as reading:
            reading.setattr(manifest, "decode", noting)
            while (found := looking.look()) is not None:
                looking.planner.lags(found)
                looking.planner.reached(found)
    listed = [line for path in replay.root.rglob("manifest-*") for line in _lines(path)]
    assert looking.last is not None
    assert read == Counter(listed)


def test_a_host_that_always_says_something_keeps_no_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(QUERIES["queries"], tmp_path)
    looking, real, looks = Looking(replay), Spools.refresh, []

    def speaking(spools: Spools, known: Offsets) -> None:
        looks.append(START_NS + len(looks))
        assert len(looks) < 20, "it looks on and on"
        replay.silent(looks[-1])
        real(spools, known)

    replay.busy(START_NS + STEP_NS, after_ns=START_NS)
    looking.look()
    monkeypatch.setattr(Spools, "refresh", speaking)
    assert looking.look() is None
    assert len(looks) == len(looking.due.streams)


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1]


class Failing(Kept):
    """A sink that fails at some micro-batch, once its rows are with it."""

    def __init__(self, kept: Kept, number: int) -> None:
        super().__init__(kept.schema, kept.tables)
        self._number = number

    def write(self, frame: DataFrame, batch: int) -> None:
        super().write(frame, batch)
        if batch == self._number:
            raise OSError("the disk is full")


@pytest.fixture(scope="module")
def spooled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Spooled:
    folder = tmp_path_factory.mktemp("whole-windows")
    replay = Replay(QUERIES["queries"], folder)
    cut = SpoolSettings(segment_rows=1, sync=UNSYNCED)
    settings = Settings(slack_ns=10**9, heartbeat_ns=10**9)
    names = ("busy", "silent")
    sources = [FileSource(name, str(folder / "busy.pcap")) for name in names]
    write_spool(replay.queries, sources, folder / "whole", settings, cut)
    return Spooled(spark, folder / "whole")


@pytest.mark.long
def test_a_micro_batch_that_failed_is_run_again_the_same(spooled: Spooled, tmp_path: Path) -> None:
    (expected,) = spooled.answers().values()
    plan = plan_of_paths([str(spooled.root)])
    output = output_of(plan)
    kept = Kept(output.schema)
    for number in (0, 2):
        with pytest.raises(JobError, match="the disk is full"):
            spooled.whole_windows_of(plan, output, Failing(kept, number), tmp_path, 8)
    done = dict(kept.tables)
    spooled.whole_windows_of(plan, output, kept, tmp_path, 8)
    assert len(kept.tables) > 3
    assert {n: kept.tables[n].num_rows for n in done} == {n: t.num_rows for n, t in done.items()}
    problem = difference([tuple(row) for row in expected], kept.rows())
    assert problem is None, problem
    again = Kept(output.schema)
    spooled.whole_windows_of(plan, output, again, tmp_path, 8)
    assert not again.tables, "all was done"


class Endless(Kept):
    """A sink that is stopped while it writes."""

    query: WindowCompleteQuery

    def write(self, frame: DataFrame, batch: int) -> None:
        self.query._is_stopped.set()  # stop() waits for this very thread
        super().write(frame, batch)


@pytest.mark.long
def test_a_query_that_is_stopped_goes_on_where_it_was(spooled: Spooled, tmp_path: Path) -> None:
    plan = plan_of_paths([str(spooled.root)])
    output = output_of(plan)
    read = Streams(spooled.spark, [str(spooled.root)], {"maxSegmentsPerTrigger": "20"})
    kept = Endless(output.schema)
    numbers = []
    for _ in range(3):
        asked = SpoolQuery("query", plan, output, read, str(tmp_path))
        kept.query = query = WindowCompleteQuery(asked, kept, {"processingTime": "0 milliseconds"})
        query.start().finish()
        query.stop()
        query.check()
        numbers.append(query.micro_batches)
    assert numbers == sorted(set(numbers)), "each run did one"

# SPDX-License-Identifier: Apache-2.0
"""What one track, one segment and one row cost: what scale_model.py computes with.

python bench/spark/scale_costs.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from fleet import spools
from fleet_job import Seen, cpu_s, processes
from jobs import session
from made import PLAN, STREAM, Shape, write_spool

from gigastream.spool import Passed, Spool
from spark_sink.offsets import to_json
from spark_sink.options import slices_text
from spark_sink.run import Streams
from spark_sink.segments import cut
from spark_sink.window_complete.due import Due
from spark_sink.window_complete.planner import MicroBatchPlanner
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery

HOSTS = 20
ROWS = 1_000_000
COMMITS = 3
RUNS = 3
"""The first of which warms Java up."""
FEW, MANY = 1 << 17, 500
"""Rows of a segment."""


def main() -> None:
    """Print them as JSON."""
    with tempfile.TemporaryDirectory() as name:
        found = _of_tracks(Path(name, "fleet"))
        write_spool(Path(name, "tiny"), Shape(10, 10, 1))
        for rows in (FEW, MANY):
            write_spool(Path(name, str(rows)), Shape(ROWS, 50_000, 10, rows, rows))
        found |= _of_spark(Path(name))
    print(json.dumps(found))


def planner(paths: list[str]) -> MicroBatchPlanner:
    """What the driver plans by."""
    read = Streams(session(), paths)
    return MicroBatchPlanner(Due(PLAN, PLAN.outputs[0]), {STREAM.name: read.source_options(STREAM)})


@contextmanager
def fleet(folder: Path, hosts: int) -> Iterator[list[str]]:
    """Spools of hosts that write no more and have not ended."""
    folder.mkdir()
    command = [sys.executable, str(Path(__file__).with_name("fleet.py"))]
    writing = subprocess.Popen([*command, str(folder), str(hosts), "600"])
    try:
        while not (folder / "begun").exists():
            time.sleep(0.1)
        time.sleep(8)
    finally:
        writing.kill()
        writing.wait()
    yield spools(folder, hosts)


def _of_tracks(folder: Path) -> dict[str, float]:
    with fleet(folder, HOSTS) as paths:
        opened = [track for path in paths for track in Spool(path).tracks()]
        tracks = len(opened)
        planning = planner(paths)
        last = planning.next(None)
        assert last is not None
        taken_s = []
        for _ in range(50):
            begun_s = time.thread_time()
            planning.next(last)
            taken_s.append(time.thread_time() - begun_s)
        for segment in range(COMMITS):
            begun_s = time.monotonic()
            for track in opened:
                track.commit("costs", segment, Passed())
            committed_s = time.monotonic() - begun_s
        (end,) = last.end.values()
        return {
            "look_s_per_track": median(taken_s) / tracks,
            "commit_s_per_track": committed_s / tracks,
            "offset_bytes_per_track": len(json.dumps(to_json(end))) / tracks,
            "planned_bytes_per_track": len(json.dumps(last.to_json())) / tracks,
        }


def _of_spark(folder: Path) -> dict[str, float]:
    """By segments of many rows and of few."""
    news_s = {rows: _news_s(folder / str(rows)) for rows in (FEW, MANY)}
    spark_s = {}
    for _ in range(RUNS):
        for rows in (FEW, MANY):
            spark_s.setdefault(rows, []).append(_job_s(folder / str(rows)))
    segments = {rows: _segments(folder / str(rows)) for rows in (FEW, MANY)}
    cores_s = {rows: median(cpu for cpu, _ in taken[1:]) for rows, taken in spark_s.items()}
    more = segments[MANY] - segments[FEW]
    manifests = folder / str(FEW)
    size = sum(path.stat().st_size for path in manifests.rglob("segment-*"))
    tiny = [_job_s(folder / "tiny") for _ in range(RUNS)]
    return {
        "batch_s": median(wall for _, wall in tiny),
        "batch_cpu_s": median(cpu for cpu, _ in tiny),
        "news_s_per_segment": (news_s[MANY] - news_s[FEW]) / more,
        "spark_s_per_segment": (cores_s[MANY] - cores_s[FEW]) / more,
        "spark_s_per_row": cores_s[FEW] / ROWS,
        "rows per wall second": ROWS / median(wall for _, wall in spark_s[FEW][1:]),
        "row_bytes": size / ROWS,
    }


def _segments(spool: Path) -> int:
    return len(list(spool.rglob("segment-*")))


def _news_s(spool: Path) -> float:
    planning = planner([str(spool)])
    begun_s = time.thread_time()
    batch = planning.next(None)
    assert batch is not None
    slices_text(cut(planning.slices(batch)[STREAM.name], 2))
    return time.thread_time() - begun_s


def _job_s(spool: Path) -> tuple[float, float]:
    """The time of Java and of Python's workers, and by the wall, of a job over whole windows."""
    session().range(1000).count()
    groups = processes()
    before_s, begun_s = sum(cpu_s(groups[name]) for name in ("java", "workers")), time.monotonic()
    with tempfile.TemporaryDirectory() as checkpoint:
        read = Streams(session(), [str(spool)])
        asked = SpoolQuery("costs", PLAN, PLAN.outputs[0], read, checkpoint)
        query = WindowCompleteQuery(asked, Seen(), {"availableNow": True}).start()
        query.finish()
        query.check()
    groups = processes()
    after_s = sum(cpu_s(groups[name]) for name in ("java", "workers"))
    return after_s - before_s, time.monotonic() - begun_s


if __name__ == "__main__":
    main()

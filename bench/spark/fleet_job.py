# SPDX-License-Identifier: Apache-2.0
"""One job over a growing fleet of spools, and what is seen of it.

python bench/spark/fleet_job.py HOSTS spool|memory [SECONDS]
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fleet import WINDOW_S, spools
from jobs import session
from made import PLAN, Shape, write_spool

from gigastream.spool import Spool
from spark_sink.dataframes import dataframe
from spark_sink.run import Streams
from spark_sink.window_complete.planner import MicroBatchPlanner
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery

WAYS = ("spool", "memory")
WARM_WINDOWS = 2
WARM_JOBS = 3
_TICKS = os.sysconf("SC_CLK_TCK")


class Seen:
    """What comes of a job: rows and when, window by window."""

    error: BaseException | None = None

    def __init__(self) -> None:
        self.windows: dict[int, float] = {}
        self.rows: dict[int, int] = {}

    def write(self, rows: Any, number: int) -> None:
        """Take a micro-batch's rows."""
        for each in rows.select("tb").toArrow()["tb"].value_counts().to_pylist():
            self.windows.setdefault(each["values"], time.time())
            self.rows[each["values"]] = self.rows.get(each["values"], 0) + each["counts"]

    @property
    def written(self) -> int:
        return sum(self.rows.values())


def start(way: str, folder: Path, paths: list[str], seen: Seen) -> Any:
    """Begin the job."""
    read = Streams(session(), paths, {"reader": "fleet"})
    checkpoint = str(folder / "checkpoint")
    if way == "spool":
        asked = SpoolQuery("fleet", PLAN, PLAN.outputs[0], read, checkpoint)
        trigger = {"processingTime": "0 milliseconds"}
        return WindowCompleteQuery(asked, seen, trigger).start()
    rows = dataframe(PLAN, PLAN.outputs[0], read)
    writing = rows.writeStream.foreachBatch(seen.write).trigger(processingTime="0 seconds")
    return writing.option("checkpointLocation", checkpoint).start()


@contextmanager
def timed(kind: type[Any], name: str, taken_s: list[float]) -> Iterator[None]:
    """Note the processor's time of each call of a method."""
    real: Callable[..., Any] = getattr(kind, name)

    def noting(*arguments: Any, **named: Any) -> Any:
        begun_s = time.thread_time()
        try:
            return real(*arguments, **named)
        finally:
            taken_s.append(time.thread_time() - begun_s)

    setattr(kind, name, noting)
    try:
        yield
    finally:
        setattr(kind, name, real)


# ---- processes ----


def processes() -> dict[str, list[int]]:
    """Who is at work here: the program, its Java and the Python of that."""
    own = os.getpid()
    javas = [pid for pid in _children(own) if _name(pid) == "java"]
    workers = [pid for java in javas for pid in _descendants(java) if "python" in _name(pid)]
    return {"driver": [own], "java": javas, "workers": workers}


def cpu_s(pids: list[int]) -> float:
    """The processor's time of processes, and of their children that are gone."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in pids) / _TICKS


def anonymous_mb(pids: list[int]) -> float:
    """RssAnon of processes."""
    return sum(_anonymous_kb(pid) for pid in pids) / 1000


def _anonymous_kb(pid: int) -> int:
    try:
        found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        found = None
    return int(found[1]) if found else 0


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["0"] * 20


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


# ---- a run ----


def run(hosts: int, way: str, seconds: float) -> dict[str, float]:
    """What is seen of a job over a fleet that writes for so long."""
    folder = Path(tempfile.mkdtemp(prefix="gigastream-fleet-"))
    _warm_up(folder, way)
    command = [sys.executable, str(Path(__file__).with_name("fleet.py"))]
    writers = subprocess.Popen([*command, str(folder), str(hosts), str(seconds)])
    while not (folder / "begun").exists():
        time.sleep(0.1)
    seen, looks = Seen(), []
    with timed(MicroBatchPlanner, "next", looks):
        query = start(way, folder, spools(folder, hosts), seen)
        time.sleep(WARM_WINDOWS * WINDOW_S)
        found = _watch(seconds - (WARM_WINDOWS + 1) * WINDOW_S, looks)
        writers.wait()
        _finish(query)
    found |= _latency(folder, seen) | _written(folder, seconds)
    found |= _batches(query) | _checkpoint(folder / "checkpoint", way)
    shutil.rmtree(folder)
    return found


def _warm_up(folder: Path, way: str) -> None:
    """Let Java compile what it will need, by jobs that are over at once."""
    write_spool(folder / "warm", Shape(1000, 100, 2))
    for number in range(WARM_JOBS):
        place = folder / f"warm-{number}"
        place.mkdir()
        _finish(start(way, place, [str(folder / "warm")], Seen()))


def _watch(seconds: float, looks: list[float]) -> dict[str, float]:
    """The processes' time and memory while the fleet writes."""
    before = {name: cpu_s(pids) for name, pids in processes().items()}
    begun_s, first = time.time(), len(looks)
    time.sleep(seconds)
    passed_s = time.time() - begun_s
    groups = processes()  # workers come, and go to their parent's account
    taken = {name: (cpu_s(pids) - before[name]) / passed_s for name, pids in groups.items()}
    found = {
        "driver CPU, cores": taken["driver"],
        "Spark CPU, cores": taken["java"] + taken["workers"],
    }
    found |= {f"{name} RssAnon, MB": anonymous_mb(pids) for name, pids in groups.items()}
    if taken_s := looks[first:]:
        found |= {"looks/s": len(taken_s) / passed_s, "look, ms": median(taken_s) * 1000}
    return found


def _finish(query: Any) -> None:
    if isinstance(query, WindowCompleteQuery):
        query.finish()
        query.check()
        return
    query.processAllAvailable()
    query.stop()


def _latency(folder: Path, seen: Seen) -> dict[str, float]:
    said = json.loads((folder / "ended.json").read_text())
    ended = {int(minute): at for minute, at in said["ended"].items()}
    warm = sorted(set(ended) & set(seen.windows))[WARM_WINDOWS:]
    delays = [seen.windows[minute] - ended[minute] for minute in warm]
    rows = [seen.rows[minute] for minute in warm]
    return {
        "windows": len(warm),
        "lag, ms": median(delays) * 1000,
        "greatest lag, ms": max(delays) * 1000,
        "groups of a window": median(rows),
        "writers CPU, s": said["cpu_s"],
    }


def _written(folder: Path, seconds: float) -> dict[str, float]:
    listed = [
        entry for path in folder.glob("host-*") for t in Spool(path).tracks() for entry in t.poll()
    ]
    segments = [entry for entry in listed if entry.is_segment]
    return {
        "segments/s": len(segments) / seconds,
        "partial rows/s": sum(entry.rows for entry in segments) / seconds,
    }


def _batches(query: Any) -> dict[str, float]:
    if isinstance(query, WindowCompleteQuery):
        return {"micro-batches": query.micro_batches}
    progress = [p for p in query.recentProgress if p.numInputRows > 1]
    times = [p.durationMs.get("triggerExecution", 0) for p in progress]
    return {
        "micro-batch, ms": median(times),
        "planning, ms": median(p.durationMs.get("latestOffset", 0) for p in progress),
        "micro-batches": query.lastProgress.batchId + 1,
    }


def _checkpoint(folder: Path, way: str) -> dict[str, float]:
    log = folder / ("planned" if way == "spool" else "offsets")
    sizes = [path.stat().st_size for path in log.iterdir() if path.name.isdecimal()]
    whole = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"offsets of a micro-batch, bytes": median(sizes), "checkpoint, bytes": whole}


if __name__ == "__main__":
    asked = int(sys.argv[1]), sys.argv[2], float((sys.argv[3:] or ["30"])[0])
    print(json.dumps({"hosts": asked[0], "way": asked[1], **run(*asked)}))

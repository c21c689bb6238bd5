# SPDX-License-Identifier: Apache-2.0
"""How long `run --on spark` takes over the demo's capture, by how Java is started.

Each way is a program of its own, in turn: by Spark's scripts, by us without an archive of Java's
classes, and with one. The archive is made first if there is none, which takes a minute.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from report import Figure

from spark_sink.class_archive import SWITCH, ClassArchive
from spark_sink.gateway import class_path
from spark_sink.java import find_java

TITLE = "From the command to its end, over the demo's capture"
QUERY = "SELECT tb, count(*) AS packets FROM TCP GROUP BY time/600 AS tb"
_CAPTURE = Path(__file__).resolve().parents[2] / "demo" / "demo.pcap"
_RUN = ("run", "-q", "--on", "spark", "-o", "csv", "-r", str(_CAPTURE), "-e", QUERY)
_SCRIPTS = "Spark's scripts"
_WAYS = {
    _SCRIPTS: {SWITCH: "off", "SPARK_CONF_DIR": "/nonexistent"},
    "at once": {SWITCH: "off"},
    "at once, with an archive": {},
}


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    _make_archive()
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in _WAYS}
    for _ in range(runs):
        for way, said in _WAYS.items():
            taken[way].append(_taken_s(said))
    wall = {way: median(each for each, _ in both) for way, both in taken.items()}
    work = {way: median(each for _, each in both) for way, both in taken.items()}
    return [
        *(Figure("demo", f"{way}, time", each, "s") for way, each in wall.items()),
        *(Figure("demo", f"{way}, CPU", each, "s") for way, each in work.items()),
        *_ratios("time", wall),
        *_ratios("CPU", work),
    ]


def _ratios(what: str, taken: dict[str, float]) -> list[Figure]:
    return [
        Figure("demo", f"{way} / {_SCRIPTS}, {what}", taken[way] / taken[_SCRIPTS], "times")
        for way in list(_WAYS)[1:]
    ]


def _taken_s(said: dict[str, str]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor's."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = [sys.executable, "-m", "gigastream", *_RUN]
    environment = {key: value for key, value in os.environ.items() if key != SWITCH}
    subprocess.run(words, env=environment | said, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, work


def _make_archive() -> None:
    archive = ClassArchive(find_java(), class_path())
    if archive.is_wanted:
        _taken_s({})
    while archive.is_wanted:
        time.sleep(1)

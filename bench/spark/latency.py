# SPDX-License-Identifier: Apache-2.0
"""From a punctuation's making to the row that it lets go, by trigger; the engine's own beside it.

A window of a second is written each second, ended by its punctuation, and read by a growing job,
whose rows are with the driver when they are there: what a table or a printed output takes.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow
from jobs import from_spool, session
from made import FIRST_MINUTE, PLAN, STREAM, Shape, open_track, rows_of, write
from report import Figure

from gigastream.sessions.high_session import HighSession
from gigastream.spool import END, NOTHING, SpoolSettings, SpoolWriter
from spark_sink.run import Streams
from spark_sink.sinks import DriverSink
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery
from spark_sink.window_complete.small_batches import SMALL_BYTES

TITLE = "From punctuation to row"
TRIGGERS = {"at once": "0 seconds", "1 s": "1 second", "5 s": "5 seconds"}
ROWS = 100_000
GROUPS = 1000
INTERVAL_S = 1.0


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    figures = [_figure("engine, no spool", _of_engine(20))]
    for name, trigger in TRIGGERS.items():
        starts = (
            (Stateful, WholeWindows, ByTasks) if name == "at once" else (Stateful, WholeWindows)
        )
        for start in starts:
            what = f"Spark, {start.what}, trigger {name}"
            figures.append(_figure(what, _of_spark(start, trigger, 20)))
    return figures


Seen = dict[int, float]
"""By minute, when its rows were there."""


class Stateful:
    """The open windows are in Spark's state store."""

    what = "state store"

    def __init__(self, folder: Path, seen: Seen, trigger: str) -> None:
        self._query = (
            Noting(seen)
            .writer(from_spool(session(), folder / "spool"))
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(processingTime=trigger)
            .start()
        )

    def finish(self) -> None:
        """Wait for all rows."""
        self._query.processAllAvailable()
        self._query.stop()


class WholeWindows:
    """They are read when they close."""

    what = "whole windows"
    small_bytes = SMALL_BYTES

    def __init__(self, folder: Path, seen: Seen, trigger: str) -> None:
        read = Streams(session(), [str(folder / "spool")])
        place = str(folder / "checkpoint")
        asked = SpoolQuery(
            "talkers", PLAN, PLAN.outputs[0], read, place, small_bytes=self.small_bytes
        )
        milliseconds = int(trigger.split()[0]) * 1000
        period = {"processingTime": f"{milliseconds} milliseconds"}
        self._query = WindowCompleteQuery(asked, Noting(seen), period).start()

    def finish(self) -> None:
        """Wait for all rows."""
        self._query.finish()
        self._query.check()


class ByTasks(WholeWindows):
    """Whatever their size."""

    what = "whole windows, read by tasks"
    small_bytes = 0


class Noting(DriverSink):
    """Takes rows as a table or a printed output does, and notes when they were there."""

    def __init__(self, seen: Seen) -> None:
        super().__init__(threading.Lock(), "talkers", PLAN.outputs[0].schema)
        self._seen = seen

    def _put(self, batches: Sequence[pyarrow.RecordBatch], _number: int) -> None:
        for batch in batches:
            self.written += batch.num_rows
            for minute in batch.column("tb").unique().to_pylist():
                self._seen.setdefault(minute, time.monotonic())


def _figure(what: str, delays_s: list[float]) -> Figure:
    return Figure(f"{ROWS:,} rows/s", what, median(delays_s) * 1000, "ms", note="median")


def _of_engine(windows: int) -> list[float]:
    delays = []
    with HighSession(PLAN, ["eth0"]) as session:
        for minute in range(FIRST_MINUTE, FIRST_MINUTE + windows):
            for rows in rows_of(Shape(ROWS, GROUPS, minutes=1), minute):
                session.push(STREAM.name, "eth0", rows, (minute, *(NOTHING,) * 4))
            started = time.monotonic()
            session.push(STREAM.name, "eth0", None, (minute + 1, *(NOTHING,) * 4))
            assert sum(event.batch.row_count for event in session.batches()) > 0
            delays.append(time.monotonic() - started)
    return delays


def _of_spark(start: Callable[..., Any], trigger: str, windows: int) -> list[float]:
    made: Seen = {}
    seen: Seen = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SpoolWriter(folder / "spool", SpoolSettings(segment_age_ns=10**8)) as writer:
            track = open_track(writer)
            query = start(folder, seen, trigger)
            feeder = threading.Thread(target=_feed, args=(writer, track, windows, made))
            feeder.start()
            feeder.join()
            query.finish()
    warm = sorted(made)[3:]
    return [seen[minute] - made[minute] for minute in warm]


def _feed(writer: SpoolWriter, track: Any, windows: int, made: dict[int, float]) -> None:
    number = 0
    for minute in range(FIRST_MINUTE, FIRST_MINUTE + windows):
        begun = time.monotonic()
        for rows in rows_of(Shape(ROWS, GROUPS, minutes=1), minute):
            write(track, rows, minute * 60, number := number + 1)
        while time.monotonic() - begun < INTERVAL_S:
            time.sleep(0.02)
            writer.tick()
        write(track, None, (minute + 1) * 60, number := number + 1)
        made[minute] = time.monotonic()
        writer.tick()
    track.write(None, (END, *(NOTHING,) * 4), END, number + 1, is_end=True)

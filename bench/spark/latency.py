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
AT_ONCE = "at once"
TRIGGERS = {AT_ONCE: "0 seconds", "1 s": "1 second"}
ROWS = 100_000
GROUPS = 1000
WARM_WINDOWS = 30
"""Answered before the first is measured, by each way: Java compiles what runs often."""
SETTLING_WINDOWS = 5
"""The same, where an earlier query has warmed the way up."""
MEASURED_WINDOWS = 20
INTERVAL_S = 1.0


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    figures = [_figure("engine, no spool", _of_engine(MEASURED_WINDOWS))]
    for name, trigger in TRIGGERS.items():
        for start in (
            (Stateful, ByTasks, WholeWindows)
            if name == AT_ONCE
            else (
                Stateful,
                WholeWindows,
            )
        ):
            warm_up = WARM_WINDOWS if name == AT_ONCE else SETTLING_WINDOWS
            what = f"Spark, {start.what}, trigger {name}"
            figures.append(_figure(what, _of_spark(start, trigger, warm_up)))
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


def _of_spark(start: Callable[..., Any], trigger: str, warm_up: int) -> list[float]:
    made: Seen = {}
    seen: Seen = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SpoolWriter(folder / "spool", SpoolSettings(segment_age_ns=10**8)) as writer:
            feed = Feed(writer, made, seen)
            query = start(folder, seen, trigger)
            feed.write(warm_up, quicker=True)
            feed.write(MEASURED_WINDOWS)
            feed.end()
        query.finish()  # of a spool that is closed, all is listed
    return [seen[minute] - made[minute] for minute in sorted(made)[warm_up:]]


class Feed:
    """Writes windows, and notes when each was ended."""

    def __init__(self, writer: SpoolWriter, made: Seen, seen: Seen) -> None:
        self._writer = writer
        self._track = open_track(writer)
        self._made = made
        self._seen = seen
        self._number = 0
        self._minute = FIRST_MINUTE

    def write(self, windows: int, *, quicker: bool = False) -> None:
        """One a second, or as soon as the last one's rows are there."""
        for minute in range(self._minute, self._minute + windows):
            begun = time.monotonic()
            for rows in rows_of(Shape(ROWS, GROUPS, minutes=1), minute):
                self._put(rows, minute)
            while self._is_behind() if quicker else time.monotonic() - begun < INTERVAL_S:
                time.sleep(0.02)
                self._writer.tick()
            self._put(None, minute + 1)
            self._made[minute] = time.monotonic()
            self._writer.tick()
        self._minute += windows

    def end(self) -> None:
        """Nothing more comes."""
        bounds = (END, *(NOTHING,) * 4)
        self._track.write(None, bounds, END, self._number + 1, is_end=True)

    def _is_behind(self) -> bool:
        return len(self._seen) < len(self._made)

    def _put(self, rows: pyarrow.RecordBatch | None, minute: int) -> None:
        self._number += 1
        write(self._track, rows, minute * 60, self._number)

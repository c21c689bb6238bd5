# SPDX-License-Identifier: Apache-2.0
"""Joins of two streams against a loop by hand and DuckDB: rows in memory in, rows in memory out.

    python bench/joins.py [--rows 1000000] [--runs 5]
    python bench/joins.py memory        # what a join of two links holds (join_memory.py)

All take turns on one core, and the processor's time counts. The loop (bench/joins.c) is given rows
in order and relies on it; DuckDB has both tables whole before it begins.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy
import pyarrow

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent)]

import join_memory  # noqa: E402
from build import executable  # noqa: E402
from measure import pin  # noqa: E402
from report import Figure, table  # noqa: E402

from gigastream.plan import Plan, plan_queries  # noqa: E402
from gigastream.query_texts import QueryTexts, check_texts, inline_queries  # noqa: E402
from gigastream.sessions.high_session import END, HighSession  # noqa: E402
from gigastream.settings import Settings  # noqa: E402

BATCH_ROWS = 16_384
NOTHING = -(1 << 63)
ROW = numpy.dtype([("timestamp", "i8"), ("srcIP", "u4"), ("len", "u4")])
SCHEMA = pyarrow.schema(
    [
        pyarrow.field("timestamp", pyarrow.timestamp("ns", tz="UTC"), nullable=False),
        pyarrow.field("srcIP", pyarrow.uint32(), nullable=False),
        pyarrow.field("len", pyarrow.uint32(), nullable=False),
    ]
)
STREAM = (
    "DEFINE {{ query_name {0}; visibility internal; }} "
    "SELECT timestamp, srcIP, len FROM {1} WHERE ipversion = 4; "
)
JOIN = (
    "DEFINE {{ query_name joined; }} "
    "SELECT a.timestamp AS first_, a.srcIP, a.len, b.timestamp AS second_, b.len AS other "
    "INNER_JOIN FROM a a, b b WHERE {0}"
)
Streams = list[numpy.ndarray]


@dataclass(frozen=True)
class Work:
    """A join of two streams of a row each microsecond, of 100,000 keys."""

    name: str
    band_ns: int
    tick_ns: int
    """Times are multiples of it."""
    of_duckdb: tuple[float, float] = (1.0, 2.0)
    """Floor and goal: of a plain equality it makes one table, of a stream that never ends none."""

    def streams(self, rows: int) -> Streams:
        draw = numpy.random.default_rng(1)
        return [self._stream(draw, rows) for _ in range(2)]

    def _stream(self, draw: numpy.random.Generator, rows: int) -> numpy.ndarray:
        found = numpy.zeros(rows, ROW)
        times = numpy.cumsum(draw.integers(1, 2_000, rows))
        found["timestamp"] = times - times % self.tick_ns
        found["srcIP"] = draw.integers(0, 100_000, rows)
        found["len"] = draw.integers(60, 1_500, rows)
        return found

    def predicate(self, times: tuple[str, str], keys: tuple[str, str]) -> str:
        """As SQL, and as GSQL."""
        (a, b), (key, other) = times, keys
        if self.band_ns == 0:
            return f"{key} = {other} AND {a} = {b}"
        return f"{key} = {other} AND {b} >= {a} - {self.band_ns} AND {b} <= {a} + {self.band_ns}"

    def plan(self) -> Plan:
        condition = self.predicate(("a.timestamp", "b.timestamp"), ("a.srcIP", "b.srcIP"))
        text = STREAM.format("a", "TCP") + STREAM.format("b", "UDP") + JOIN.format(condition)
        texts = QueryTexts(inline_queries((text,)), interfaces={"default": {}})
        return plan_queries(check_texts(texts).queries)


WORK = (
    Work("equality", 0, 10_000_000, (0.4, 1.0)),
    Work("band of 10 ms", 10_000_000, 1),
    Work("band of 100 ms", 100_000_000, 1),
)
Run = Callable[[], tuple[float, int]]
"""Seconds of the processor, and rows."""


def batches(stream: numpy.ndarray) -> Iterator[pyarrow.RecordBatch]:
    for at in range(0, len(stream), BATCH_ROWS):
        part = stream[at : at + BATCH_ROWS]
        columns = [pyarrow.array(part[field.name]).cast(field.type) for field in SCHEMA]
        yield pyarrow.record_batch(columns, schema=SCHEMA)


def ours(plan: Plan, streams: Streams) -> tuple[float, int]:
    """Batches of both by turns, each with a promise; the plan is compiled before."""
    told = [list(batches(stream)) for stream in streams]
    rows = 0
    with HighSession(plan, ("default",), Settings()) as session:
        start = time.process_time()
        for turn in range(len(told[0])):
            for name, side, stream in zip("ab", told, streams, strict=True):
                last = int(stream["timestamp"][min(len(stream), (turn + 1) * BATCH_ROWS) - 1])
                session.push(name, "default", side[turn], [last, NOTHING, NOTHING])
            rows += sum(event.batch.row_count for event in session.batches())
        for name in "ab":
            session.push(name, "default", None, [END] * 3, is_end=True)
        rows += sum(event.batch.row_count for event in session.batches())
        return time.process_time() - start, rows


def by_hand(work: Work, file: Path) -> tuple[float, int]:
    """The loop in C."""
    words = [str(executable(HERE / "joins.c")), str(file), str(work.band_ns), str(BATCH_ROWS)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds, rows = done.stdout.split()
    return float(seconds), int(rows)


def duckdb(work: Work, streams: Streams) -> tuple[float, int]:
    """One thread of it."""
    import duckdb as database

    a, b = (pyarrow.table({name: stream[name] for name in ROW.names}) for stream in streams)
    connection = database.connect()
    connection.execute("SET threads = 1")
    connection.register("a", a)
    connection.register("b", b)
    condition = work.predicate(("a.timestamp", "b.timestamp"), ("a.srcIP", "b.srcIP"))
    wanted = "a.timestamp, a.srcIP, a.len, b.timestamp AS second_, b.len AS other"
    start = time.process_time()
    rows = connection.sql(f"SELECT {wanted} FROM a JOIN b ON {condition}").to_arrow_table()
    return time.process_time() - start, rows.num_rows


def in_turn(contenders: dict[str, Run], runs: int) -> dict[str, float]:
    """The median of each; the first run of each is not counted, and all give the same rows."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(runs + 1):
        found = {name: run() for name, run in contenders.items()}
        if len({rows for _, rows in found.values()}) != 1:
            raise ValueError(f"rows differ: {found}")
        for name, (taken, _) in found.items():
            seconds[name] += [taken] * (number > 0)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def measured(work: Work, rows: int, runs: int) -> list[Figure]:
    """What each took, and the ratios."""
    streams = work.streams(rows)
    with tempfile.NamedTemporaryFile() as file:
        file.write(numpy.uint64(rows).tobytes() + b"".join(s.tobytes() for s in streams))
        file.flush()
        contenders: dict[str, Run] = {
            "engine": partial(ours, work.plan(), streams),
            "loop": partial(by_hand, work, Path(file.name)),
            "DuckDB": partial(duckdb, work, streams),
        }
        medians = in_turn(contenders, runs)
    figures = [
        Figure(work.name, name, 2 * rows / taken / 1e6, "Mrow/s") for name, taken in medians.items()
    ]
    for name, floor, goal in (("loop", 0.4, 0.6), ("DuckDB", *work.of_duckdb)):
        ratio = medians[name] / medians["engine"]
        figures.append(Figure(work.name, f"engine / {name}", ratio, "times", floor, goal))
    return figures


def main() -> int:
    """The command line."""
    if sys.argv[1:2] == ["memory"]:
        return join_memory.main(sys.argv[2:])
    parser = argparse.ArgumentParser(description="Measure joins.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each stream")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each")
    options = parser.parse_args()
    pin(None)
    figures = [f for work in WORK for f in measured(work, options.rows, options.runs)]
    print(table("Joins: rows of both inputs a second", figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

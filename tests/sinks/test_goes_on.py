# SPDX-License-Identifier: Apache-2.0
"""Runs that go on with others, whose windows are in the table: those of loaders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow
import pytest

from gigastream.outputs import OutputQuery, TimeColumn
from gigastream.sinks import parse_sink_place
from gigastream.sinks.output import TableOutput
from gigastream.sinks.windows import END
from tests.sinks.places import duckdb

SCHEMA = pyarrow.schema([("tb", pyarrow.uint64()), ("n", pyarrow.uint64())])
QUERY = OutputQuery(
    name="q",
    columns=("tb", "n"),
    numeric=(True, True),
    times=(False, False),
    quantities=(False, True),
    arrow_schema=lambda: SCHEMA,
    time_column=TimeColumn(0, False),
)


@dataclass(frozen=True)
class Rows:
    """A batch: a row for each window, and a bound behind them."""

    windows: Sequence[int]
    bound: int
    n: int
    is_end: bool = False

    @property
    def row_count(self) -> int:
        return len(self.windows)

    @property
    def bounds(self) -> Sequence[int]:
        return [self.bound, 0]

    def to_arrow(self) -> pyarrow.RecordBatch:
        columns = [list(self.windows), [self.n] * len(self.windows)]
        return pyarrow.record_batch([pyarrow.array(c, pyarrow.uint64()) for c in columns], SCHEMA)


def written(place: str, writer: str, batch: Rows, *earlier: str, ends: bool = False) -> TableOutput:
    """A run that is stopped."""
    output = TableOutput(parse_sink_place(place), (QUERY,), writer, earlier)
    output.write("q", batch)  # type: ignore[arg-type]
    output.leave_open()
    if ends:
        output.end("q")
    output.close()
    return output


@pytest.mark.parametrize("ends", [False, True])
def test_windows_of_the_run_before_are_not_written_again(tmp_path: Path, ends: bool) -> None:
    """It wrote what was over; where its query had ended, the rest, too, which says nothing more."""
    pytest.importorskip("duckdb")
    place = duckdb(tmp_path, None)
    first = written(place.output, "first", Rows((1, 2, 3), 3, 10), ends=ends)
    assert (first.rows, first.left_open) == ((3, 0) if ends else (2, 1))
    second = written(place.output, "second", Rows((1, 2, 3, 4), 5, 20), "none", "first")
    assert second.known == (0 if ends else 2)
    third = written(place.output, "third", Rows((4, 5), END - 1, 30), "first", "second")
    assert third.known == 1
    rows = [(row["tb"], row["n"]) for row in place.rows("q")]
    ours = [(1, 10), (2, 10), *([(3, 10), (1, 20), (2, 20)] if ends else [])]
    assert sorted(rows) == sorted([*ours, (3, 20), (4, 20), (5, 30)])


def test_of_two_runs_of_one_name_at_once_each_window_is_there_once(tmp_path: Path) -> None:
    """As a loader at its end, and the one in its place: their transactions end at other bounds."""
    pytest.importorskip("duckdb")
    place = duckdb(tmp_path, None)
    outputs = [TableOutput(parse_sink_place(place.output), (QUERY,), "one") for _ in range(2)]
    for output, last in zip(outputs, (3, 4), strict=True):
        output.write("q", Rows(range(1, last + 1), last, last))  # type: ignore[arg-type]
    assert [(output.rows, output.known) for output in outputs] == [(2, 0), (1, 2)]
    for output in outputs:
        output.leave_open()
        output.close()
    assert sorted((row["tb"], row["n"]) for row in place.rows("q")) == [(1, 3), (2, 3), (3, 4)]

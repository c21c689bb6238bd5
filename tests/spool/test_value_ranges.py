# SPDX-License-Identifier: Apache-2.0
"""What a segment's line says of the values in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from gigastream.spool import NOTHING, SpoolWriter
from gigastream.spool.value_ranges import ValueRanges, temporal_signs
from tests.spool.made import BY_HAND, SCHEMA, only_track, query_set, rows

END = (1 << 63) - 1
INCREASING, DECREASING = {0: 1}, {0: -1}


def ranges(signs: dict[int, int], *batches: list[Any], type_: Any = "int64") -> Any:
    """What is known of one column's values."""
    found = ValueRanges(signs, 1)
    for values in batches:
        column = pyarrow.array(values, type_)
        found.take(pyarrow.record_batch([column], names=["t"]))
    return found.known()


def test_the_least_and_the_greatest_of_all_batches_are_known() -> None:
    assert ranges(INCREASING, [5, 3], [], [9, 4]) == ((3, 9),)


def test_what_falls_is_held_as_its_negative() -> None:
    assert ranges(DECREASING, [-5, 3], [9]) == ((-9, 5),)


def test_timestamps_are_nanoseconds() -> None:
    assert ranges(INCREASING, [7, 8], type_=pyarrow.timestamp("ns", "UTC")) == ((7, 8),)


def test_what_no_bound_can_reach_counts_as_the_end() -> None:
    assert ranges(INCREASING, [7, 1 << 63], type_="uint64") == ((7, END),)


@pytest.mark.parametrize("batches", [[[1, None]], [[None], [1]], [[1], [None]]])
def test_a_column_with_a_null_says_nothing(batches: list[list[int | None]]) -> None:
    assert ranges(INCREASING, *batches) is None


def test_columns_that_do_not_move_with_time_say_nothing() -> None:
    assert ranges({}, [1, 2]) is None


def test_the_sign_is_that_of_the_columns_order() -> None:
    orders = ("increasing", "varying", "decreasing", "constant")
    assert temporal_signs([{"temporal": order} for order in orders]) == {0: 1, 2: -1}


def test_a_segments_line_has_the_ranges_of_its_rows(tmp_path: Path) -> None:
    columns = [
        {"name": "n", "type": "ullong", "temporal": "increasing"},
        {"name": "ip", "type": "IP", "temporal": "varying"},
    ]
    stored = query_set(columns=columns, schema=SCHEMA)
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = writer.open(stored, [("flows", "eth0")])["flows", "eth0"]
        for first in (5, 20):
            track.write(rows(first, 3), (first, NOTHING), first, first)
            track._cut()
    entries = [entry for entry in only_track(tmp_path).poll() if entry.is_segment]
    assert [entry.ranges for entry in entries] == [((5, 7), None), ((20, 22), None)]

# SPDX-License-Identifier: Apache-2.0
"""What a micro-batch takes of several tracks, under limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("pyspark")

from gigastream.spool import NOTHING, Entry
from spark_sink.admission import Limits, admit
from spark_sink.offsets import Position
from spark_sink.segment_index import SegmentIndex


def segment(number: int, base_ns: int, *, rows: int = 10, made_ns: int = 0) -> Entry:
    return _entry("segment", number, base_ns, rows, made_ns)


def punctuation(base_ns: int) -> Entry:
    return _entry("punctuation", None, base_ns, 0, 0)


def _entry(kind: Any, number: int | None, base_ns: int, rows: int, made_ns: int) -> Entry:
    return Entry(
        kind=kind,
        segment=number,
        rows=rows,
        size_bytes=rows * 8,
        checksum=0,
        bounds=(base_ns,),
        base_ns=base_ns,
        first=0,
        last=0,
        made_ns=made_ns,
        lost=None,
    )


def index(*entries: Entry) -> SegmentIndex:
    made = SegmentIndex()
    made.add(entries)
    return made


def ends(start: dict[str, Position], indexes: dict[str, SegmentIndex], limits: Limits) -> Any:
    """Of each track the next segment and the heartbeat."""
    end = admit(start, indexes, limits)
    return {key: (position.segment, position.heartbeat_ns) for key, position in end.items()}


A = index(segment(0, 10), punctuation(15), segment(1, 20), segment(2, 30), punctuation(35))
B = index(punctuation(5), segment(0, 12), segment(1, 40))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(), {"a": (3, 35), "b": (2, 40)}),
        # The one furthest behind first: a, which has said nothing; then b at 5, b at 12, a at 15.
        (Limits(segments=1), {"a": (1, 15), "b": (0, 5)}),
        (Limits(segments=2), {"a": (1, 15), "b": (1, 12)}),
        (Limits(segments=3), {"a": (1, 15), "b": (2, 40)}),
        (Limits(segments=4), {"a": (2, 20), "b": (2, 40)}),
        (Limits(rows=29), {"a": (1, 15), "b": (1, 12)}),
        (Limits(rows=30), {"a": (1, 15), "b": (2, 40)}),
        (Limits(size_bytes=160), {"a": (1, 15), "b": (1, 12)}),
        (Limits(rows=1), {"a": (1, 15), "b": (0, 5)}),
        (Limits(rows=1000, segments=2, size_bytes=1000), {"a": (1, 15), "b": (1, 12)}),
    ],
)
def test_limits(limits: Limits, expected: Any) -> None:
    start = {"a": Position(1), "b": Position(1)}
    assert ends(start, {"a": A, "b": B}, limits) == expected


@pytest.mark.parametrize("count", range(1, 6))
def test_step_by_step_everything_is_read(count: int) -> None:
    positions = {"a": Position(1), "b": Position(1)}
    for _ in range(5):
        positions = admit(positions, {"a": A, "b": B}, Limits(segments=count))
    assert positions == {"a": Position(1, 3, 35), "b": Position(1, 2, 40)}


def test_of_two_as_far_the_one_that_waits_longer() -> None:
    indexes = {
        "a": index(segment(0, 10, made_ns=2)),
        "b": index(segment(0, 10, made_ns=1)),
    }
    start = {"a": Position(1), "b": Position(1)}
    assert ends(start, indexes, Limits(segments=1)) == {"a": (0, NOTHING), "b": (1, 10)}


def test_an_interface_that_has_not_begun_holds_the_heartbeat() -> None:
    end = admit({"a": Position(1), "b": Position()}, {"a": A}, Limits())
    assert end["b"] == Position()


def _numbers(entries: Sequence[Entry]) -> list[int | None]:
    return [entry.segment for entry in entries]


def test_an_index_forgets_what_is_committed() -> None:
    made = index(segment(0, 10), segment(4, 20), punctuation(25), segment(5, 30))
    assert _numbers(made.between(0, 6)) == [0, 4, 5]
    made.forget_below(5)
    assert made.forgotten_below == 5
    assert _numbers(made.between(0, 6)) == [5]
    assert made.heartbeat_before_ns(5) == 25
    made.forget_below(6)
    assert (made.next_segment, made.heartbeat_ns) == (6, 30)


def test_an_index_never_goes_back() -> None:
    made = index(segment(0, 10), punctuation(7))
    assert made.heartbeat_ns == 10

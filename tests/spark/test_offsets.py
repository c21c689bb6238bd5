# SPDX-License-Identifier: Apache-2.0
"""Positions, their text in a checkpoint, and the heartbeat that follows from them alone."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark")

from gigastream.spool import END, NOTHING
from spark_sink import event_time, offsets
from spark_sink.offsets import Position, from_json, heartbeat_between, heartbeat_ms, to_json

MS = 1_000_000


def at(**heartbeats: int) -> dict[str, Position]:
    return {key: Position(1, 0, heartbeat_ns) for key, heartbeat_ns in heartbeats.items()}


def test_a_checkpoint_keeps_them() -> None:
    positions = {"b": Position(2, 7, NOTHING), "a": Position(1, 3, END), "c": Position()}
    text = json.dumps(to_json(positions))
    assert from_json(json.loads(text)) == positions


def test_equal_offsets_are_equal_texts() -> None:
    one, other = at(a=1, b=2), at(b=2, a=1)
    assert json.dumps(to_json(one)) == json.dumps(to_json(other))


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        ({}, None),
        (at(a=NOTHING), None),
        (at(a=5 * MS, b=NOTHING), None),
        (at(a=5 * MS, b=7 * MS), 5),
        (at(a=5 * MS + 999_999), 5),
        (at(a=-1), -1),
        (at(a=END, b=7 * MS), 7),
        (at(a=END, b=END), offsets.END_MS),
    ],
)
def test_the_heartbeat_is_the_least(positions: dict[str, Position], expected: int | None) -> None:
    assert heartbeat_ms(positions) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (at(a=1 * MS), at(a=2 * MS), 2),
        (at(a=1 * MS), at(a=1 * MS + 5), None),
        (at(a=NOTHING), at(a=0), 0),
        ({}, at(a=3 * MS), 3),
        (at(a=9 * MS), at(a=9 * MS, late=2 * MS), None),
        (at(a=9 * MS, silent=9 * MS), at(a=END, silent=9 * MS), None),
    ],
)
def test_only_news_is_sent(
    start: dict[str, Position], end: dict[str, Position], expected: int | None
) -> None:
    assert heartbeat_between(start, end) == expected


def test_the_end_closes_what_waits_for_it() -> None:
    assert offsets.END_MS >= event_time.END_MS

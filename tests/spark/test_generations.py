# SPDX-License-Identifier: Apache-2.0
"""Generations that begin and end while it is looked for what is new: none is passed over."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable
from spark.readers import contents, packets, reader_of
from spark.written import Written, seconds

from spark_sink.admission import Limits, admit
from spark_sink.options import parse
from spark_sink.places import Places
from spark_sink.spools import Spools


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path, live=("eth0",))


def before_the_second_look(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Let something happen once, behind the reading of manifests and before the look at folders."""
    real, left = Places.look_at_once, [happens]

    def look_at_once(self: Places) -> None:
        real(self)
        while left:
            left.pop()()

    monkeypatch.setattr(Places, "look_at_once", look_at_once)


def test_a_generation_is_read_that_the_second_look_finds(written: Written) -> None:
    written.write("eth0", [(packets(1), seconds(1))])
    spools = Spools(parse({"path": str(written.root)}))
    spools.refresh({})
    at = spools.beginning()
    spools._places._due_s = time.monotonic() + 60  # the first look is not due yet
    written.write("eth0", [(packets(2), seconds(2))], ends=True)
    written.write("eth0", [(packets(3), seconds(3))], ends=True)
    written.write("eth0", [(packets(4), seconds(4))])
    found = []
    for _ in range(2):
        start = at
        spools.refresh(at)
        for _ in range(4):  # as a planner does: all that one look has found
            positions = spools.with_new(at)
            at = admit(positions, spools.indexes(positions), Limits())
        for reading, entries in spools.between(start, at):
            found += [(reading.track.generation, entry.segment) for entry in entries]
    assert found == [(1, 0), (1, 1), (2, 0), (3, 0)]


def test_what_ends_a_generation_behind_its_reading_is_read(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    written.write_all({name: [(packets(1), seconds(1))] for name in ("eth0", "eth1")})
    reader = reader_of(written.root)
    at = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())

    def go_on() -> None:
        written.write("eth0", [(packets(3), seconds(3))], ends=True)
        written.write("eth0", [(packets(4), seconds(4))])

    written.write("eth1", [(packets(2), seconds(2))])  # nothing of the other
    before_the_second_look(monkeypatch, go_on)
    found = []
    for _ in range(4):
        end = reader.latestOffset(at, ReadAllAvailable())
        rows, _ = contents(reader, at, end)
        found += [row[0] for row in rows]
        at = end
    assert sorted(found) == [row[0] for row in packets(2, 3, 4)]

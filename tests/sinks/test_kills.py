# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed between any two steps of a transaction, and started again."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

from tests.processes import program
from tests.sinks.conftest import MakePlace
from tests.sinks.dying import LINES
from tests.sinks.places import Place, Rows, without_times

QUERY = """SELECT time, srcIP, count(*) AS packets, min(timestamp) AS at
    FROM IPV4 GROUP BY time, srcIP"""
READ = ("-e", QUERY, "-r", str(DEMO_CAPTURE), "--disorder", "4000")
"""So small that windows are over all the way: dozens of transactions."""
SEED = 11


@cache
def expected() -> Rows:
    done = gigastream("run", *READ, "-o", "json")
    assert done.code == 0, done.err
    return without_times(map(json.loads, done.lines))


def found(place: Place) -> Rows:
    return without_times(place.rows("query"))


class Nursery:
    """A process whose children run into a place, and die there."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def lines(self, place: Place, after: int) -> int | None:
        """Run to the end, or until so many lines of the sink have run; None: it was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = json.dumps([after, "run", *READ, "-o", place.output])
        self._process.stdin.write(f"{asked}\n")
        self._process.stdin.flush()
        code, errors = json.loads(self._process.stdout.readline())
        if code == -signal.SIGKILL:
            return None
        assert code == 0, errors
        said = re.search(f"{LINES}([0-9]+)", errors)
        assert said is not None, errors
        return int(said[1])


@contextmanager
def nursery(place: Place) -> Iterator[Nursery]:
    with subprocess.Popen(
        program("tests.sinks.dying"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(place.environment),
    ) as process:
        yield Nursery(process)


def kill(make_place: MakePlace, wanted: int) -> None:
    """Kill so often: a run is started again until it ends, then another begins elsewhere."""
    chance = random.Random(SEED)
    place = make_place()
    with nursery(place) as children:
        lines = children.lines(place, 0)
        assert lines is not None
        assert found(place) == expected()
        killed = 0
        while killed < wanted:
            place = make_place()
            while children.lines(place, chance.randrange(1, lines // 2)) is None:
                killed += 1
            assert found(place) == expected()


@pytest.mark.long
def test_two_kills(make_place: MakePlace) -> None:
    kill(make_place, 2)


@pytest.mark.slow
def test_twenty_kills(make_place: MakePlace) -> None:
    kill(make_place, 20)

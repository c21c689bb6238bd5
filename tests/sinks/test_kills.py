# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed between any two steps of a transaction, and started again."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
from functools import cache

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

from tests.processes import program
from tests.sinks.conftest import MakePlace
from tests.sinks.dying import LINES
from tests.sinks.places import Place, Rows, in_order

QUERY = """SELECT time, srcIP, count(*) AS packets, sum(len) AS bytes
    FROM IPV4 GROUP BY time, srcIP"""
READ = ("-e", QUERY, "-r", str(DEMO_CAPTURE), "--disorder", "4000")
"""So small that windows are over all the way: dozens of transactions."""
SEED = 11
SECONDS = 600


@cache
def expected() -> Rows:
    done = gigastream("run", *READ, "-o", "json")
    assert done.code == 0, done.err
    return in_order(map(json.loads, done.lines))


def lines_run(place: Place, after: int) -> int | None:
    """Run until the end, or until so many lines of the sink have run; None: it was killed."""
    command = [*program("tests.sinks.dying"), str(after), "run", *READ, "-o", place.output]
    done = subprocess.run(
        command, capture_output=True, check=False, env=dict(place.environment), timeout=SECONDS
    )
    if done.returncode == -signal.SIGKILL:
        return None
    errors = done.stderr.decode()
    assert done.returncode == 0, errors
    found = re.search(f"{LINES}([0-9]+)", errors)
    assert found is not None, errors
    return int(found[1])


def whole_run(place: Place) -> int:
    """How many lines a run takes that nobody kills; its rows are right."""
    lines = lines_run(place, 0)
    assert lines is not None
    assert place.rows("query") == expected()
    return lines


def kill(make_place: MakePlace, wanted: int) -> None:
    """Kill so often: a run is started again until it ends, then another begins elsewhere."""
    chance = random.Random(SEED)
    lines = whole_run(make_place())
    killed = 0
    while killed < wanted:
        place = make_place()
        while lines_run(place, chance.randrange(1, lines // 2)) is None:
            killed += 1
        assert place.rows("query") == expected()


@pytest.mark.long
def test_two_kills(make_place: MakePlace) -> None:
    kill(make_place, 2)


@pytest.mark.slow
def test_twenty_kills(make_place: MakePlace) -> None:
    kill(make_place, 20)

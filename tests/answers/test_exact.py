# SPDX-License-Identifier: Apache-2.0
"""Sums, averages and variances are the same bits whatever the table, the flush and the bursts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.plan import Plan
from gigastream.settings import Settings
from tests.answers.divided_plans import DIVIDED, outputs_by_kind, plan_of_outputs
from tests.answers.engine import checked, plan_of, run, source
from tests.answers.inputs import INPUTS
from tests.answers.paths import JOBS, on_every_path

TEXT = """
SELECT tb, protocol, avg(len) AS a, var(len) AS b, stddev(timestamp) AS c, var(time_ms) AS d,
    avg(18446744073709551615 - packet_id) AS e, stddev(0 - 7 * len) AS f, count(*) AS n
FROM IP GROUP BY time/20 AS tb, protocol;
DEFINE { query_name floats; }
SELECT tb, protocol, sum(len * 0.1) AS a, avg(sqrt(len)) AS b, var(len / 3.0) AS c,
    stddev(1e15 + len * 0.1) AS d, sum(CASE WHEN len > 99 THEN log(len) END) AS e
FROM IP GROUP BY time/20 AS tb, protocol;
DEFINE { query_name above; }
SELECT minute, var(a) AS a, stddev(c) AS b, sum(b) AS c FROM query GROUP BY tb/3 AS minute
"""
VARIANTS = [
    *(Settings(flush=flush, slots=slots) for flush in FLUSH_POLICIES for slots in (1, 4)),
    Settings(slots=1, burst=1, batch_rows=1),
    Settings(slots=2, burst=256, batch_rows=3, hash_key=(3, 5)),
    *on_every_path(Settings(slots=4, batch_rows=3, disorder_bytes=50_000))[1:],
]


@cache
def plan() -> Plan:
    return plan_of(TEXT)


@cache
def divided_plan() -> Plan:
    """What threads divide: sums, averages and variances of numbers; floats are added up above."""
    names = [output.name for kind in DIVIDED for output in outputs_by_kind(plan()).get(kind, [])]
    assert names == ["query"]
    return plan_of_outputs(checked(TEXT), names)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("captures") / "mixture"
    path.write_bytes(INPUTS["mixture"]())
    return path


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_the_bits_are_the_same(capture: Path, settings: Settings) -> None:
    _assert_same_bits(plan(), capture, settings)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_the_bits_are_the_same_by_several_threads(capture: Path, settings: Settings) -> None:
    _assert_same_bits(divided_plan(), capture, replace(settings, jobs=JOBS))


def _assert_same_bits(asked: Plan, capture: Path, settings: Settings) -> None:
    wanted = run(asked, [source(capture)], Settings(slots=4096)).rows
    given = run(asked, [source(capture)], settings).rows
    assert all(wanted.values())
    assert {name: sorted(rows, key=str) for name, rows in given.items()} == {
        name: sorted(rows, key=str) for name, rows in wanted.items()
    }

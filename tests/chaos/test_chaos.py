# SPDX-License-Identifier: Apache-2.0
"""A kill of each kind, and what a job that comes back with other queries is told."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.captures import DEMO_CAPTURE
from tests.chaos.chaos import KINDS, Report, Scene, count, run
from tests.chaos.programs import QUERIES, Driver
from tests.chaos.truth import Rows
from tests.cli.command import COMMAND

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

KILLS = len(KINDS)
SEED = "GIGASTREAM_CHAOS_SEED"
REFUSAL = "belongs to a job with other queries"


@dataclass(frozen=True)
class Outcome:
    """What is left of the scene, and the count of its rows."""

    scene: Scene
    report: Report
    expected: Rows


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    seed = int(os.environ.get(SEED, random.SystemRandom().randrange(1 << 32)))
    print(f"{SEED}={seed}")
    scene, report = run(KILLS, seed, tmp_path_factory.mktemp("chaos"), print)
    # The server is gone; a checkpoint goes on with the same spool, however it is reached.
    scene.driver.reads = ["--spool", str(scene.writer.spool)]
    return Outcome(scene, report, count(scene, report, spark))


def test_every_row_is_there_once(outcome: Outcome) -> None:
    assert outcome.report.is_exact, outcome.report
    assert outcome.report.kills.total() == KILLS
    assert set(outcome.report.kills) == set(KINDS)


def test_a_packet_is_in_the_spool_once_at_most(outcome: Outcome) -> None:
    """A writer that comes back sees what follows: no packet is written by two of them."""
    assert set(outcome.expected["large"].values()) == {1}
    assert set(outcome.expected["talkers"].values()) == {1}


def test_a_job_that_comes_back_with_other_queries(outcome: Outcome, tmp_path: Path) -> None:
    """Their low level is the spool's; Spark would go on with the state of other groups."""
    assert_refused(outcome.scene.driver, str(changed_queries(tmp_path)))


def test_a_job_whose_spool_comes_back_with_other_queries(outcome: Outcome, tmp_path: Path) -> None:
    """The job answers the spool's own queries, which are not those of the checkpoint any more."""
    reads = [word for name in ("east", "west") for word in ("-r", f"{name}={DEMO_CAPTURE}")]
    output = ["-o", f"spool:{outcome.scene.writer.spool}", "-q"]
    gigastream = [*COMMAND, "run"]
    subprocess.run([*gigastream, changed_queries(tmp_path), *reads, *output], check=True)
    assert_refused(outcome.scene.driver)


def changed_queries(folder: Path) -> Path:
    """Return the first of the queries alone: the others' progress would stand still."""
    path = folder / "queries.gsql"
    path.write_text(QUERIES.read_text().split(";\n\n")[0])
    return path


def assert_refused(driver: Driver, *more: str) -> None:
    code, words = driver.refused(*more)
    assert (code, REFUSAL in words) == (2, True), words
    assert "Traceback" not in words

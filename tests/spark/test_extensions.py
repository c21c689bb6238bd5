# SPDX-License-Identifier: Apache-2.0
"""The UDAFs of examples/extensions on Spark: states through a spool, completed by the same C."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.spool.plan import SpooledPlanError
from tests.answers.on_spark import Spooled
from tests.cli.command import gigastream
from tests.extensions.forged import forge
from tests.extensions.test_aggregates import ASKED, as_expected, capture  # noqa: F401
from tests.extensions.traffic import DEFINITIONS, OUTPUTS, rows, segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.answers.engine import Rows

DECLARED = (str(DEFINITIONS),)
EXPECTED = rows(segments())
JOINED = """
DEFINE { query_name sent; visibility internal; }
SELECT tb, srcIP, max(srcPort) AS port, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP;
DEFINE { query_name texts; visibility internal; }
SELECT time/60 AS tb, srcIP, srcPort, TCP_data AS data FROM TCP;
DEFINE { query_name joined; }
SELECT t.tb, t.srcIP, word_behind(t.data, 'GET') AS word, s.n, ephemeral[t.srcPort] AS late
FROM texts t, sent s
WHERE t.tb = s.tb AND t.srcIP = s.srcIP AND ephemeral[s.port]
"""


@pytest.fixture
def spool(capture: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A small table, so that there are many partial states of a group."""
    root = tmp_path / "spool"
    words = ("--slots", "4", "--segment-rows", "300", "-o", f"spool:{root}")
    done = gigastream("run", *ASKED, "-r", capture, *words)
    assert done.code == 0, done.err
    return root


def check_rows(given: Mapping[str, Rows]) -> None:
    for name in OUTPUTS:
        found = [[cell or "" for cell in row] for row in given[name]]
        assert as_expected(found, EXPECTED[name]), name


@pytest.mark.long
def test_a_batch(spark: SparkSession, spool: Path) -> None:
    check_rows(Spooled(spark, spool, DECLARED).answers())


@pytest.mark.long
def test_a_stream(spark: SparkSession, spool: Path, tmp_path: Path) -> None:
    """In several micro-batches: what is collected waits in Spark's state."""
    names = ("sliding", "segments")
    given = Spooled(spark, spool, DECLARED).stream(tmp_path / "checkpoints", names, 3)
    for name, kept in given.items():
        assert as_expected([[c or "" for c in row] for row in kept.rows()], EXPECTED[name]), name


def test_code_is_taken_from_nobody(spark: SparkSession, spool: Path) -> None:
    with pytest.raises(SpooledPlanError, match="is code of a definition file"):
        Spooled(spark, spool).answers()


@pytest.mark.long
def test_forged_states(spark: SparkSession, spool: Path, tmp_path: Path) -> None:
    """As the engine has it: rows with a state that is none are dropped, and break nothing."""
    rng = random.Random(3)

    def change(state: bytes) -> bytes:
        return rng.randbytes(len(state)) if rng.random() < 0.2 else state

    forge(spool, change)
    words = ("--definitions", DEFINITIONS, "-o", f"csv:{tmp_path}")
    done = gigastream("run", "--spool", spool, *words)
    assert done.code == 0, done.err
    given = Spooled(spark, spool, DECLARED).answers(("sizes", "web"))
    for name, found in given.items():
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            expected = sorted(list(csv.reader(file))[1:])
        assert sorted([cell or "" for cell in row] for row in found) == expected, name


@pytest.mark.long
def test_functions_over_a_join(spark: SparkSession, capture: Path, tmp_path: Path) -> None:  # noqa: F811
    """By the same C as here, in a batch and in a stream; a PARTIAL one drops rows of no value."""
    words = ("run", "-q", "--definitions", DEFINITIONS, "-e", JOINED, "-r", capture)
    root = tmp_path / "spool"
    done = gigastream(*words, "--segment-rows", "300", "-o", f"spool:{root}")
    assert done.code == 0, done.err
    done = gigastream(*words, "-o", "csv")
    expected = sorted(line.split(",") for line in done.lines[1:])
    assert {row[2] for row in expected} == {"/0", "/1", "/2"}
    assert {row[4] for row in expected} == {"true", "false"}
    spooled = Spooled(spark, root, DECLARED)
    assert sorted(spooled.answers()["joined"]) == expected
    kept = spooled.stream(tmp_path / "checkpoints", micro_batches=2)["joined"]
    assert sorted(kept.rows()) == expected

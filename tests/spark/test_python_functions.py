# SPDX-License-Identifier: Apache-2.0
"""Functions in Python on Spark, as Arrow UDFs: every type, as the engine answers it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.diagnostics import GsqlError
from gigastream.spool.plan import SpooledPlanError
from tests.answers.on_spark import Spooled
from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream
from tests.extensions.python_rows import FUNCTIONS, NAMES, WORDS, check, of_capture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.answers.engine import Rows

DECLARED = (str(FUNCTIONS),)


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("python") / "spool"
    words = (*WORDS, "-r", DEMO_CAPTURE, "--segment-rows", "300", "-o", f"spool:{root}")
    done = gigastream("run", "-q", *map(str, words))
    assert done.code == 0, done.err
    return root


def texts(rows: Rows) -> list[list[str]]:
    return sorted([cell or "" for cell in row] for row in rows)


@pytest.mark.long
def test_a_batch(spark: SparkSession, spool: Path, tmp_path: Path) -> None:
    given = Spooled(spark, spool, DECLARED).answers()
    found = {name: texts(given[name]) for name in NAMES}
    check(found)
    assert found == of_capture(tmp_path)


@pytest.mark.long
def test_a_stream(spark: SparkSession, spool: Path, tmp_path: Path) -> None:
    """In several micro-batches: halves of batches are no other rows."""
    names = ("called", "aggregated")
    given = Spooled(spark, spool, DECLARED).stream(tmp_path / "checkpoints", names, 3)
    expected = of_capture(tmp_path / "here")
    assert {name: texts(given[name].rows()) for name in names} == {n: expected[n] for n in names}


def test_what_others_may_have_written_is_refused(
    spark: SparkSession, spool: Path, tmp_path: Path
) -> None:
    file = tmp_path / FUNCTIONS.name
    file.write_bytes(FUNCTIONS.read_bytes())
    file.chmod(0o666)
    with pytest.raises(GsqlError, match=r"is not run: .* can be written by others"):
        Spooled(spark, spool, (str(file),)).answers()


def test_code_is_never_that_of_a_spool(spark: SparkSession, spool: Path) -> None:
    with pytest.raises(SpooledPlanError, match="is code of a definition file"):
        Spooled(spark, spool).answers()

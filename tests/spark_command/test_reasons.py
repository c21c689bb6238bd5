# SPDX-License-Identifier: Apache-2.0
"""What Spark raises is told in a sentence that a person can use."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from cli.command import gigastream
from spark_command import written
from spark_session import why_no_spark

from spark_sink.streaming import failure

SECONDS = 300
FULL = """\
[TASK_WRITE_FAILED] Task failed while writing rows to file:/rows. SQLSTATE: 58030

JVM stacktrace:
org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/rows.
\tat org.apache.spark.Task.run(Task.scala:1)
Caused by: org.apache.spark.SparkException: it was not written
\tat org.apache.spark.Task.run(Task.scala:2)
Caused by: java.io.IOException: No space left on device
\t... 12 more
"""
REASONS = {
    FULL: "[TASK_WRITE_FAILED] Task failed while writing rows to file:/rows: "
    "No space left on device",
    "An error occurred while calling o1.start.\n: java.lang.Error: no\n\tat a.b(C:1)": (
        "java.lang.Error: no"
    ),
    "it said no\nCaused by: java.lang.Error: no\n": "it said no",
    "it broke\nCaused by: org.apache.spark.PythonError: Traceback (most recent call last):\n": (
        "it broke"
    ),
    "it broke\nCaused by: a.B: x\nspark_sink.errors.SpoolSourceError: our own\n": "our own",
}


@pytest.mark.parametrize("text", REASONS)
def test_the_cause_is_told_where_it_says_more(text: str) -> None:
    assert str(failure(RuntimeError(text))) == f"the job failed: {REASONS[text]}"


@pytest.mark.long
@pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))
def test_a_format_that_spark_has_not_is_told_before_the_job_begins(tmp_path: Path) -> None:
    words = ("spark", "--spool", written.spool(tmp_path / "spool"), "--trigger", "now")
    words += ("--checkpoint", tmp_path / "checkpoint", "-o", "csv", "-o", "spark:nosuchformat")
    result = gigastream(*words, seconds=SECONDS)
    assert (result.code, result.out) == (2, b"")
    assert "spark:nosuchformat: Spark has no format 'nosuchformat' here" in result.err

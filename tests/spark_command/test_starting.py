# SPDX-License-Identifier: Apache-2.0
"""A session that does not start says why, and one that waits says so and can be given up."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli.command import COMMAND, gigastream
from spark_command import written
from spark_session import why_no_spark

from spark_sink.java_words import cause_in, cause_of

needs_spark = pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))
SECONDS = 300

PRINTED = {
    "Master must either be yarn or start with spark, k8s, or local": """\
26/11/25 02:43:05 WARN Utils: Set SPARK_LOCAL_IP if you need to bind to another address
Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn or start \
with spark, k8s, or local
\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)
""",
    "Could not parse Master URL: 'local[abc]'": """\
An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: org.apache.spark.SparkException: Could not parse Master URL: 'local[abc]'
\tat java.base/java.lang.Thread.run(Thread.java:840)
""",
    "No space left on device": """\
org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows
\tat org.apache.spark.Task.run(Task.scala:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
\t... 12 more
Driver stacktrace:
\tat org.apache.spark.DAGScheduler.run(DAGScheduler.scala:1)
""",
    "All masters are unresponsive! Giving up.": (
        "26/11/25 02:44:11 ERROR Backend: All masters are unresponsive! Giving up.\n"
    ),
    "StackOverflowError": "Caused by: java.lang.StackOverflowError\n\tat scala.List.map(List:1)\n",
    "Cannot call methods on a stopped SparkContext.": """\
: java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.
This stopped SparkContext was created at:

(No active SparkContext.)
\tat org.apache.spark.SparkContext.assertNotStopped(SparkContext.scala:128)
""",
    "it did not": """\
Traceback (most recent call last):
  File "server.py", line 3, in <module>
spark_sink.job_errors.JobError: it did not
""",
    "": "\n\tat a.b(C:1)\n",
}


@pytest.mark.parametrize("cause", PRINTED)
def test_the_cause_is_found_among_the_frames(cause: str) -> None:
    assert cause_of(PRINTED[cause]) == cause


def test_what_an_older_run_logged_is_no_cause(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"java.lang.Error: old\nnew \xff\n")
    assert cause_in(tmp_path / "log", len("java.lang.Error: old\n")) == "new \ufffd"


@needs_spark
@pytest.mark.parametrize(
    ("master", "home", "why"),
    [
        ("nonsense://x", None, "Spark did not start: Master must either be"),
        ("local[abc]", None, "Spark did not start: Could not parse Master URL: 'local[abc]'"),
        ("local[1]", "/nonsense", "SPARK_HOME=/nonsense has no bin/spark-submit"),
    ],
)
@pytest.mark.long
def test_what_cannot_start_says_why(
    master: str, home: str | None, why: str, tmp_path: Path
) -> None:
    environment = {**os.environ, **({} if home is None else {"SPARK_HOME": home})}
    words = ("spark", "--spool", written.spool(tmp_path / "spool"), "--master", master)
    result = gigastream(
        *(*words, "--checkpoint", tmp_path / "checkpoint"), env=environment, seconds=SECONDS
    )
    assert result.code == 1
    assert why in result.err
    assert "Traceback" not in result.err
    assert "\tat " not in result.err


@needs_spark
@pytest.mark.slow
def test_a_master_that_does_not_answer_is_named(tmp_path: Path) -> None:
    """Spark waits a minute for one."""
    master = "spark://nosuch.invalid:7077"
    words = ("spark", "--spool", written.spool(tmp_path / "spool"), "--master", master)
    result = gigastream(*words, "--checkpoint", tmp_path / "checkpoint", seconds=SECONDS)
    assert result.code == 1
    assert result.err.splitlines() == [
        f"gigastream: waiting for {master}",
        f"gigastream: Spark did not start: no master answers at {master}",
    ]


@needs_spark
@pytest.mark.long
def test_a_start_that_waits_can_be_given_up(tmp_path: Path) -> None:
    words = ("spark", "--spool", written.spool(tmp_path / "spool"))
    words += ("--master", "spark://nosuch.invalid:7077", "--checkpoint", tmp_path / "checkpoint")
    with (tmp_path / "err").open("wb") as errors:
        command = subprocess.Popen([*map(str, (*COMMAND, *words))], stderr=errors)
    try:
        deadline = time.monotonic() + SECONDS
        while "waiting for spark://" not in (tmp_path / "err").read_text():
            assert command.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        command.send_signal(signal.SIGTERM)
        assert command.wait(SECONDS) == 0
    finally:
        command.kill()
    assert (tmp_path / "err").read_text().splitlines()[1:] == [
        line for line in (tmp_path / "err").read_text().splitlines() if "0 rows read" in line
    ]

# SPDX-License-Identifier: Apache-2.0
"""One Spark session for every test that needs one: starting a JVM takes seconds.

Not started before the first test asks for it, and stopped after the last.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""Tests end before the second compiler of Java pays: it took two fifths of their time. It has room
for code as with both: one session has filled the 48 MB that there are otherwise."""
_REPOSITORY = Path(__file__).parents[1]

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": ONE_COMPILER,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
    "spark.python.unix.domain.socket.enabled": "true",
}


def why_no_spark() -> str | None:
    """What this machine lacks for Spark, as a sentence; None: nothing."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed: pip install gigastream[spark]"
    from spark_sink.java import java_home
    from spark_sink.job_errors import JobError

    try:
        java_home()
    except JobError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with two cores; the test is skipped, with a sentence, where none can be."""
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    session = start(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


def start(folder: Path) -> SparkSession:
    """A local session with two cores, whose files are in a folder."""
    from pyspark.sql import SparkSession

    from spark_sink.java import use_java
    from spark_sink.programs import worker_python

    use_java()
    # Python workers are started by the JVM; what they are told, they are told by the environment.
    # Spark gives one ten seconds to start, and out of its archive PySpark is compiled each time.
    os.environ["PYSPARK_PYTHON"] = str(worker_python())
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    paths = [str(_REPOSITORY), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    builder = SparkSession.builder.master("local[2]").appName("gigastream tests")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    session = builder.config("spark.local.dir", str(folder / "local")).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    _make_source_known(session)
    return session


def _make_source_known(session: SparkSession) -> None:
    """Spark looks for sources itself, once, by a Python worker that has ten seconds to start.

    On a busy machine that is a matter of luck, and without it no test of this session finds ours.
    """
    import spark_sink

    spark_sink.register(session)

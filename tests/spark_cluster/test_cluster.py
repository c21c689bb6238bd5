# SPDX-License-Identifier: Apache-2.0
"""The same job on a cluster whose executors know nothing of us, and which loses parts of itself."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_session import why_no_spark

from tests.chaos.feeder import packets
from tests.chaos.programs import INTERFACES, QUERIES
from tests.chaos.truth import Rows, expected_rows, plain_rows
from tests.cli.command import COMMAND
from tests.processes import kill
from tests.spark_cluster.bare_python import PACKAGES, BarePython, bare_python
from tests.spark_cluster.cluster import PATIENCE_SECONDS, Cluster, cluster
from tests.spark_cluster.submitted import Submitted
from tests.strategies.files import NANOSECONDS, pcap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKETS = 10_000
SEED = 1
SEGMENT_ROWS = 500
COMMITS_BEFORE = 3
Accident = Callable[[Submitted], None]


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two interfaces in small segments."""
    folder = tmp_path_factory.mktemp("spool")
    command = ["run", str(QUERIES), "-o", f"spool:{folder / 'spool'}", "-q"]
    for interface, name in enumerate(INTERFACES):
        capture = folder / f"{name}.pcap"
        capture.write_bytes(pcap(islice(packets(SEED, interface), PACKETS), magic=NANOSECONDS))
        command += ["-r", f"{name}={capture}"]
    command += ["--segment-rows", str(SEGMENT_ROWS), "--batch-rows", str(SEGMENT_ROWS)]
    subprocess.run([*COMMAND, *command], check=True)
    return folder / "spool"


@pytest.fixture(scope="module", autouse=True)
def _spark_is_here() -> None:
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def python(tmp_path: Path) -> BarePython:
    """What executors run."""
    return bare_python(tmp_path / "python")


@pytest.fixture
def job(machines: Cluster, python: BarePython, spool: Path, tmp_path: Path) -> Iterator[Submitted]:
    submitted = Submitted(machines, python, spool, tmp_path)
    yield submitted
    submitted.stop()


def executor_dies(job: Submitted) -> None:
    """The master has its worker start another one; its tasks are done again."""
    there = job.cluster.executors()
    assert len(there) == 2
    assert kill(there[0]) == 1
    deadline = time.monotonic() + PATIENCE_SECONDS
    while job.is_running() and set(job.cluster.executors()) <= set(there):
        assert time.monotonic() < deadline, "no executor takes its place"
        time.sleep(0.05)


def worker_dies(job: Submitted) -> None:
    """A machine is gone, its executor with it; another one comes."""
    job.cluster.kill_worker("worker0")
    job.cluster.start_workers("worker0")


def driver_dies(job: Submitted) -> None:
    """Whoever submitted the job submits it again."""
    job.kill()
    job.start()


@pytest.mark.parametrize(
    "accident",
    [
        pytest.param(executor_dies, marks=pytest.mark.slow),
        pytest.param(worker_dies, marks=pytest.mark.slow),
        pytest.param(driver_dies, marks=pytest.mark.slow),
    ],
)
def test_every_row_is_there_once(
    job: Submitted, spool: Path, spark: SparkSession, accident: Accident
) -> None:
    job.start()
    job.wait_for_commits(COMMITS_BEFORE)
    assert job.is_running(), "the accident comes too late"
    accident(job)
    job.finish()
    expected = expected_rows(spool)
    assert {query: rows.total() > 1_000 for query, rows in expected.items()} == {
        "talkers": True,
        "large": True,
        "sides": True,
    }
    assert found_rows(spark, job, expected) == expected
    assert any("pyspark.daemon" in run for run in job.python.runs()), "executors ran that Python"


@pytest.mark.long
@pytest.mark.parametrize("package", PACKAGES)
def test_executors_do_not_have_the_package(python: BarePython, package: str) -> None:
    command = [python.program, "-c", f"import pyspark, pyarrow, {package}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"not on this machine: {package}" in done.stderr


def found_rows(spark: SparkSession, job: Submitted, queries: Rows) -> Rows:
    """What Spark reads back, by query."""
    tables = {query: spark.read.parquet(str(job.rows / query)).toArrow() for query in queries}
    return {query: Counter(plain_rows(table)) for query, table in tables.items()}

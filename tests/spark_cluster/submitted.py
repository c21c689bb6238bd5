# SPDX-License-Identifier: Apache-2.0
"""A job that spark-submit runs: its driver here, its tasks on a cluster."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.captures import ROOT
from tests.chaos.programs import SHORT_LIVED
from tests.processes import descendants, kill, wait_until_gone
from tests.spark_cluster.bare_python import BarePython
from tests.spark_cluster.cluster import WORKERS, Cluster, spark_environment, spark_program

PATIENCE_SECONDS = 300
MAX_ROWS = 4_000
"""Of a micro-batch: enough of them that something can happen in between."""
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.sql.codegen.wholeStage": "false",
    # All executors are there when the first micro-batch begins, however slowly one starts.
    "spark.cores.max": str(WORKERS),
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE_SECONDS}s",
}


@dataclass
class Submitted:
    """A job over a spool that has ended: it ends when it has read everything."""

    cluster: Cluster
    python: BarePython
    spool: Path
    folder: Path
    _process: subprocess.Popen[bytes] | None = None

    @property
    def rows(self) -> Path:
        return self.folder / "rows"

    def start(self) -> None:
        """Submit it; the second time it goes on from its checkpoint."""
        environment = spark_environment() | {
            "PYSPARK_PYTHON": str(self.python.program),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        with (self.folder / "job.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=self.folder, env=environment, stdout=log, stderr=log
            )

    def wait_for_commits(self, count: int) -> None:
        """Until so many micro-batches are through, over all of its queries."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._commits() < count:
            if self._running.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"the job does not get there: {self._log()}")
            time.sleep(0.05)

    def is_running(self) -> bool:
        return self._running.poll() is None

    def finish(self) -> None:
        """Wait until it has ended by itself."""
        code = self._running.wait(PATIENCE_SECONDS)
        assert code == 0, f"the job ended with {code}: {self._log()}"

    def kill(self) -> None:
        """Kill the driver, Java and Python at once."""
        below = descendants(self._running.pid)
        kill(self._running.pid, *below)
        self._running.wait()
        wait_until_gone(*below)

    def stop(self) -> None:
        """Leave nothing running."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _command(self) -> list[str]:
        settings = [w for name in SETTINGS for w in ("--conf", f"{name}={SETTINGS[name]}")]
        return [
            str(spark_program("spark-submit")),
            *("--master", self.cluster.url, *settings, str(ROOT / "spark_sink" / "job.py")),
            *("--spool", str(self.spool), "--checkpoint", str(self.folder / "checkpoint")),
            *("-o", f"parquet:{self.rows}", "--trigger", "now", "--max-rows", str(MAX_ROWS)),
        ]

    def _commits(self) -> int:
        names = (path.name for path in self.folder.glob("checkpoint/*/commits/*"))
        return sum(name.isdecimal() for name in names)

    def _log(self) -> str:
        return (self.folder / "job.log").read_text(errors="replace")[-3000:]

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

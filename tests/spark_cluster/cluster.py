# SPDX-License-Identifier: Apache-2.0
"""Spark's standalone master and workers, as PySpark brings them."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.programs import SHORT_LIVED
from tests.processes import descendants, kill, parts_of, wait_until_gone

PATIENCE_SECONDS = 600
WORKERS = 2
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_URL = re.compile(r"Starting Spark master at (spark://\S+)\n")  # the whole line
_REGISTERED = re.compile(r"Registering worker ")
_DAEMON = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}
_ADDRESS = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


@dataclass
class Cluster:
    """Daemons in a folder, each with its log and its working directory."""

    folder: Path
    url: str = ""
    _daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        """Start all, and wait until the master knows its workers."""
        self._start("master", _MASTER, *_ADDRESS)
        self.url = self._said("master", _URL)[0]
        self.start_workers(*(f"worker{number}" for number in range(WORKERS)))

    def start_workers(self, *names: str) -> None:
        """Start workers with one core each; return when the master knows them."""
        known = len(_REGISTERED.findall(self._log("master")))
        machine = ("--cores", "1", "--memory", "512m")
        for name in names:
            work = ("--work-dir", str(self.folder / name))
            self._start(name, _WORKER, *_ADDRESS, *machine, *work, self.url)
        self._said("master", _REGISTERED, known + len(names))

    def executors(self, worker: str | None = None) -> list[int]:
        """The executors that run now, of all workers or of one."""
        names = [worker] if worker else [name for name in self._daemons if name != "master"]
        below = [pid for name in names for pid in descendants(self._daemons[name].pid)]
        return [process for process in below if _EXECUTOR in parts_of(process)]

    def kill_worker(self, name: str) -> None:
        """Kill a worker with all that it started, as when its machine goes down."""
        process = self._daemons.pop(name)
        below = descendants(process.pid)
        kill(process.pid, *below)
        process.wait()
        wait_until_gone(*below)

    def stop(self) -> None:
        """Leave nothing running."""
        for name in list(self._daemons):
            self.kill_worker(name)

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self._daemons[name] = subprocess.Popen(
                [spark_program("spark-class"), *command],
                cwd=self.folder,
                env=spark_environment() | _DAEMON,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _said(self, name: str, pattern: re.Pattern[str], count: int = 1) -> list[str]:
        """Wait until a daemon's log has something so many times."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(found := pattern.findall(self._log(name))) < count:
            if self._daemons[name].poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"{name} does not come up: {self._log(name)[-2000:]}")
            time.sleep(0.1)
        return found

    def _log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run a cluster."""
    running = Cluster(folder)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def spark_program(name: str) -> Path:
    """Return one of the programs that PySpark brings."""
    import pyspark

    return Path(pyspark.__file__).parent / "bin" / name


def spark_environment() -> dict[str, str]:
    """Return the environment of Spark's own programs: a Java, the loopback, nothing of ours."""
    from spark_sink.java import java_home

    ours = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    return environment | {"JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}

# SPDX-License-Identifier: Apache-2.0
"""A server of Spark Connect in a process of its own, whose Python has nothing of ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from processes import descendants, kill, wait_until_gone
from spark_session import ONE_COMPILER
from waiting import wait_until

_STARTED = re.compile(r"Spark Connect server started at: \S+:(\d+)\n")  # the whole line
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.extraJavaOptions": ONE_COMPILER,
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
    "spark.ui.enabled": "false",
}
_PATIENCE_S = 300


@contextmanager
def connect_server(folder: Path, python: Path) -> Iterator[str]:
    """Start it on a port that is free; give its address, and leave nothing running.

    `python` is what its Python workers are. What it writes is in `folder`.
    """
    log = folder / "server.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            _command(folder),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=_environment(python),
            start_new_session=True,
        )
    try:
        wait_until(lambda: _port(log) is not None or server.poll() is not None, "the server")
        port = _port(log)
        assert port is not None, log.read_text(errors="replace")[-4000:]
        yield f"sc://127.0.0.1:{port}"
    finally:
        below = descendants(server.pid)
        kill(server.pid, *below)
        server.wait()
        wait_until_gone(*below)


def client(program: str, address: str, *arguments: str, folder: Path) -> Any:
    """Run a program as a client of the server; return the JSON of its last line.

    It is a process of its own: a session of Connect and one with a Java do not live in one.
    """
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "SPARK_REMOTE": address},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def _command(folder: Path) -> list[str]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations
    submit = str(Path(spec.submodule_search_locations[0]) / "bin" / "spark-submit")
    places = {"spark.local.dir": folder / "local", "spark.sql.warehouse.dir": folder / "warehouse"}
    settings = [f"{name}={value}" for name, value in (_SETTINGS | places).items()]
    words = [word for setting in settings for word in ("--conf", setting)]
    return [submit, "--class", _SERVER, "--master", "local[2]", *words, "spark-internal"]


def _environment(python: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**ours, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}


def _port(log: Path) -> str | None:
    found = _STARTED.search(log.read_text(errors="replace"))
    return found[1] if found else None

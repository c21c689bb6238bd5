# SPDX-License-Identifier: Apache-2.0
"""Contenders over packets that lie in Parquet already: they have columns, and decode nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from measure import WALL, Contender, RunError
from workloads import Capture

QUERY = "SELECT time, srcIP, destIP, len FROM IPV4"


def over_parquet(
    library: str, script: Path, capture: Capture, *arguments: str, clock: str = WALL
) -> Contender:
    """A script that is given the Parquet file and these arguments, and answers in JSON.

    The clock is one of the answer's. The file is made when it is first needed, by the engine.
    """
    path = capture.path.with_suffix(".parquet")

    def run() -> float:
        if importlib.util.find_spec(library) is None:
            raise RunError(f"{library} is not installed")
        if not path.exists():
            _write(capture.path, path)
        return 1e9 * _answered([str(script), str(path), *arguments])[clock] / capture.packets

    return run


def _answered(words: list[str]) -> dict[str, float]:
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise RunError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return dict(json.loads(done.stdout))


def _write(capture: Path, path: Path) -> None:
    import pyarrow.parquet

    import gigastream

    partial = path.with_suffix(".partial")
    writer = None
    try:
        for batch in gigastream.run(QUERY, [str(capture)]):
            writer = writer or pyarrow.parquet.ParquetWriter(partial, batch.schema)
            writer.write_batch(batch)
    except (gigastream.EngineError, gigastream.CompileError, gigastream.SourceError) as error:
        raise RunError(f"no Parquet: {error}") from error
    if writer is not None:
        writer.close()
        partial.replace(path)

# SPDX-License-Identifier: Apache-2.0
"""Contenders over packets that lie in Parquet already: they have columns, and decode nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from measure import WALL, RunError
from workloads import Capture

QUERY = "SELECT time, srcIP, destIP, len FROM IPV4"


@dataclass(frozen=True)
class ParquetRun:
    """A script that is given the Parquet file and some words, and answers in JSON.

    The clock is one of the answer's. The file is made when it is first needed, by the engine.
    """

    library: str
    script: Path
    capture: Capture
    words: tuple[str, ...] = ()
    clock: str = WALL

    def __call__(self) -> float:
        """Run once; nanoseconds per packet. RunError."""
        path = self.capture.path.with_suffix(".parquet")
        if importlib.util.find_spec(self.library) is None:
            raise RunError(f"{self.library} is not installed")
        if not path.exists():
            _write(self.capture.path, path)
        answer = _answered([str(self.script), str(path), *self.words])
        return 1e9 * answer[self.clock] / self.capture.packets


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

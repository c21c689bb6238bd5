# SPDX-License-Identifier: Apache-2.0
"""A hundred spool writers on one machine at a scaled rate, and what the model says of them.

Each run is a process of its own (fleet_job.py), whose Java has met no other. The model's figures
come from costs of one track, segment and row (scale_costs.py), and know nothing of these runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from fleet_job import WAYS
from fleet_model import number, predicted
from report import Figure

TITLE = "Many hosts: measured on this machine, and by the model"
SIZES = (10, 30, 100)
SECONDS = 30


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures; `value` is measured, the note is what the model says, and the ratio."""
    return [figure for way in WAYS for size in SIZES for figure in figures(size, way)]


def figures(size: int, way: str) -> Iterator[Figure]:
    """Of a fleet and a way to keep open windows."""
    command = [sys.executable, str(Path(__file__).with_name("fleet_job.py"))]
    done = subprocess.run(
        [*command, str(size), way, str(SECONDS)], check=True, stdout=subprocess.PIPE, text=True
    )
    measured = json.loads(done.stdout.splitlines()[-1])
    said = predicted(size, way)
    for name, value in measured.items():
        if name not in ("hosts", "way"):
            yield Figure(f"{size} hosts, {way}", name, value, "", note=_beside(value, said, name))


def _beside(value: float, said: dict[str, float], name: str) -> str:
    if name not in said:
        return ""
    return f"model {number(said[name])}, measured / model {value / said[name]:.2f}"

# SPDX-License-Identifier: Apache-2.0
"""What rows cost as text: csv and JSON against a writer in C that knows its one query.

Both have the rows in memory, column by column, and write them into a file; the time is the
processor's, the kernel's part in it. Before anything is measured the bytes are compared.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from build import LOOPS, executable
from context import Bench, rate_ratio
from measure import Contender, RunError, Turns, run_ours
from queries import TALKERS
from report import Figure
from workloads import Capture

TITLE = "Rows as text / a writer by hand"
CAPTURE = "uniform-260k"
FORMATS = ("csv", "json")
FLOOR, GOAL = 0.7, 0.9


def ask(bench: Bench) -> list[Figure]:
    """Rows a second and their ratio, of both formats."""
    return [
        figure
        for capture in bench.captures((CAPTURE,))
        for format_ in FORMATS
        for figure in _ask(bench, capture, format_)
    ]


def _ask(bench: Bench, capture: Capture, format_: str) -> list[Figure]:
    ours, by_hand = f"{format_}, ours", f"{format_} by hand"
    with TemporaryDirectory() as folder:
        texts = _Texts(capture, format_, Path(folder))
        if not texts.agree():
            return [Figure(capture.name, format_, None, "times", note="the bytes differ")]
        turns = bench.in_turn({ours: texts.ours, by_hand: texts.by_hand})
    ratio = rate_ratio(capture, turns, ours, (by_hand,), FLOOR, GOAL)
    return [*(_speed(capture, turns, name) for name in (ours, by_hand)), ratio]


def _speed(capture: Capture, turns: Turns, name: str) -> Figure:
    timing = turns.timings.get(name)
    rate = 1000 / timing.median_ns if timing else None
    return Figure(capture.name, name, rate, "Mrow/s", note=turns.failures.get(name, ""))


class _Texts:
    """The two contenders over the rows of one capture; a time is nanoseconds a row."""

    def __init__(self, capture: Capture, format_: str, folder: Path) -> None:
        self._capture, self._format, self._folder = capture, format_, folder
        self._rows, self._target = folder / "rows", folder / "text"
        self.ours: Contender = lambda: self._ours(self._target)
        self.by_hand: Contender = lambda: self._by_hand(self._target)

    def agree(self) -> bool:
        """Whether both write the same bytes; leaves the rows for the one by hand."""
        ours, by_hand = self._folder / "ours", self._folder / "by-hand"
        self._ours(ours, rows=str(self._rows))
        self._by_hand(by_hand)
        return ours.read_bytes() == by_hand.read_bytes()

    def _ours(self, target: Path, rows: str = "") -> float:
        answer = run_ours(
            "text", self._capture, TALKERS, format_=self._format, target=str(target), rows=rows
        )
        return 1e9 * float(answer["processor_seconds"]) / int(answer["rows"])

    def _by_hand(self, target: Path) -> float:
        words = [str(executable(LOOPS / "text.c")), str(self._rows), self._format, str(target)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RunError(done.stderr.strip() or "the writer by hand failed")
        answer = json.loads(done.stdout)
        return 1e9 * float(answer["processor_seconds"]) / int(answer["rows"])

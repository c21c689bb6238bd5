# SPDX-License-Identifier: Apache-2.0
"""What does a packet of a live link cost? Our processor time beside the least reader's.

A cable in a network namespace, packets of 64 bytes put into its far end by XDP; the reader
(live/reader.c) counts the same. With 1,024 pairs of addresses all is in the cache, and what is left
is the bare path; with 65,536 nothing is. Twenty queries of the same groups and differing predicates
stand beside one. Needs root, two cores, and an `ip` that makes namespaces.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from context import Bench, ends, time_ratio
from live import run as link
from measure import Contender, RunError, Turns
from report import Figure
from workloads import Capture

TITLE = "A live link: CPU a packet / the least reader's; twenty queries / one"
RATE, SECONDS = 400_000, 3.0
FLOOR, GOAL = 1.5, 1.15
TARGETS = {1_024: 1.3, 65_536: 1.0}
QUERIES = 20
SHARED_FLOOR, SHARED_GOAL = 5.0, 3.0
READER, ONE, TWENTY = "reader", "ours", f"ours, {QUERIES} queries"
PROGRAMS = ("send", "reader")


def ask(bench: Bench) -> list[Figure]:
    """Nanoseconds of each, their ratios, and what was lost on the way."""
    missing = _missing()
    if missing:
        return [Figure("live", "CPU", None, "ns", note=missing)]
    with _all_cores(), tempfile.TemporaryDirectory() as name, link.cable():
        folder = Path(name)
        folder.chmod(0o777)
        for program in PROGRAMS:
            source = link.HERE / f"{program}.c"
            subprocess.run([*link.CC, folder / program, source], check=True)
        return [figure for pairs in TARGETS for figure in _ask(bench, folder, pairs)]


def _missing() -> str:
    if os.geteuid() != 0:
        return "needs root"
    return "" if shutil.which("ip") and shutil.which("cc") else "needs ip and a C compiler"


@contextmanager
def _all_cores() -> Iterator[None]:
    """One core sends, another one receives: what is started here may use them all."""
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, pinned)


def _ask(bench: Bench, folder: Path, pairs: int) -> list[Figure]:
    lost: dict[str, float] = {}
    names = (READER, ONE, TWENTY) if pairs == min(TARGETS) else (READER, ONE)
    turns = bench.in_turn({name: _contender(name, folder, pairs, lost) for name in names})
    capture = Capture(f"{pairs:,} pairs", folder, 1)
    figures = [_nanoseconds(capture, turns, name) for name in names]
    figures += [Figure(capture.name, f"{name}: lost", lost.get(name), "%") for name in names]
    figures.append(time_ratio(capture, turns, ONE, READER, FLOOR, GOAL, TARGETS[pairs]))
    if TWENTY in names:
        bounds = (SHARED_FLOOR, SHARED_GOAL, SHARED_GOAL)
        figures.append(time_ratio(capture, turns, TWENTY, ONE, *bounds))
    return figures


def _nanoseconds(capture: Capture, turns: Turns, name: str) -> Figure:
    if name in turns.failures:
        note = turns.failures[name]
        return Figure(capture.name, name, None, "ns", None, None, False, note)
    timing = turns.timings[name]
    spread = ends(timing.samples_ns)
    return Figure(capture.name, name, timing.median_ns, "ns", None, None, False, **spread)


def _contender(name: str, folder: Path, pairs: int, lost: dict[str, float]) -> Contender:
    receiver = next(receiver for receiver in link.RECEIVERS if receiver.name == name)
    run = partial(link.measure, receiver, folder, pairs, RATE, SECONDS)

    def measured() -> float:
        try:
            figures = run()
        except (subprocess.SubprocessError, OSError, ValueError, SystemExit) as error:
            raise RunError(str(error)) from error
        lost[name] = max(lost.get(name, 0.0), float(str(figures["dropped_percent"] or 0)))
        return float(str(figures["cpu_ns"]))

    return measured

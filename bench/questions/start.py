# SPDX-License-Identifier: Apache-2.0
"""What does a start cost? Whole commands over a small capture, by the processor's time.

A query that was compiled before is beside a Python that does nothing, since that is what no command
of ours can be below; a new one beside the same query compiled before, by a cache that is empty.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from build import HERE
from context import Bench, ends
from measure import Contender, RunError, Turns
from report import Figure

TITLE = "The start of a command / of a bare Python; a new query / the same compiled before"
DEMO = HERE.parent / "demo"
RUN = ("-m", "gigastream", "run", "refused.gsql", "-r", "demo.pcap", "-q", "-o", "csv:/dev/null")
BARE, BEFORE, NEW = "bare Python", "compiled before", "new query"


def ask(bench: Bench) -> list[Figure]:
    """Both ratios."""
    with TemporaryDirectory(prefix="gigastream-bench-start-") as folder:
        kept, fresh = Path(folder, "kept"), Path(folder, "fresh")
        turns = bench.in_turn(
            {
                BARE: _command(("-c", "pass"), kept),
                BEFORE: _command(RUN, kept),
                NEW: _command(RUN, fresh, lambda: shutil.rmtree(fresh, ignore_errors=True)),
            }
        )
    return [_ratio(turns, BEFORE, BARE, 20, 12), _ratio(turns, NEW, BEFORE, 3, 2)]


def _command(words: tuple[str, ...], cache: Path, ready: Callable[[], None] = bool) -> Contender:
    """A process of this Python; its time is its own and its children's, in nanoseconds."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(HERE.parent)}
    environment["PYTHONPYCACHEPREFIX"] = str(cache.parent / "python")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.pop("GIGASTREAM_OPTIMIZE", None)

    def run() -> float:
        ready()
        before = _children_s()
        command = [sys.executable, *words]
        done = subprocess.run(
            command, cwd=DEMO, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RunError((done.stderr.strip().splitlines() or ["it failed"])[-1])
        return 1e9 * (_children_s() - before)

    return run


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ratio(turns: Turns, name: str, other: str, floor: float, goal: float) -> Figure:
    figure = Figure("demo", f"{name} / {other}, time", None, "times", floor, goal, False)
    failures = [turns.failures[n] for n in (name, other) if n in turns.failures]
    if failures:
        return replace(figure, note=failures[0])
    ours, theirs = turns.timings[name].samples_ns, turns.timings[other].samples_ns
    rounds = [a / b for a, b in zip(ours, theirs, strict=True)]
    return replace(figure, value=min(ours) / min(theirs), **ends(rounds))

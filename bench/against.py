# SPDX-License-Identifier: Apache-2.0
"""Our runs beside those of the tree as it was at another commit: nothing shall be slower.

The questions are asked as ever, but of their contenders only our own run, each twice: now and
before, in turn within one round. The quickest of all rounds counts: what else the machine does can
only add to it.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from build import HERE, BuildError
from context import Bench, ends
from measure import Contender, OurRun, Turns
from report import Figure

REPOSITORY = HERE.parent
FLOOR, GOAL = 0.95, 1.0
BEFORE = ", before"
WITHOUT_PAIRS = frozenset(
    {"agreement", "limit", "exact", "libpcap", "peers", "heartbeats", "memory", "live", "start"}
)
"""Questions about others or not about time, and those whose runs of ours another one has."""


@dataclass(frozen=True)
class BothTrees(Bench):
    """A session in which each run of ours has its like of the other tree beside it."""

    tree: Path = Path()
    caches: Path = Path()
    """Each tree has a cache of compiled queries of its own here, none fuller than the other."""
    pairs: list[Figure] = field(default_factory=list)
    """What came of all pairs so far; a question's own figures mean nothing here."""

    def in_turn(self, contenders: Mapping[str, Contender]) -> Turns:
        """Run ours of both trees; the others are as if they had failed."""
        runs = {name: run for name, run in contenders.items() if isinstance(run, OurRun)}
        now = {name: _of(REPOSITORY, self.caches / "now", run) for name, run in runs.items()}
        before = {
            name + BEFORE: _of(self.tree, self.caches / self.tree.name, run)
            for name, run in runs.items()
        }
        turns = super().in_turn({**now, **before})
        self.pairs.extend(_pair(turns, name, run) for name, run in runs.items())
        others = {name: "not of this comparison" for name in contenders if name not in runs}
        return replace(turns, failures={**turns.failures, **others})


def _of(tree: Path, cache: Path, run: OurRun) -> OurRun:
    cache.mkdir(parents=True, exist_ok=True)
    place = {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(cache)}
    return replace(run, place=place)


def _pair(turns: Turns, name: str, run: OurRun) -> Figure:
    figure = Figure(run.capture.name, f"{name}: now / before", None, "times", FLOOR, GOAL)
    failures = [turns.failures[n] for n in (name, name + BEFORE) if n in turns.failures]
    if failures:
        return replace(figure, note=failures[0])
    now, before = turns.timings[name], turns.timings[name + BEFORE]
    rounds = [b / a for a, b in zip(now.samples_ns, before.samples_ns, strict=True)]
    value = min(before.samples_ns) / min(now.samples_ns)
    return replace(figure, value=value, **ends(rounds))


def tree_of(commit: str, folder: Path) -> Path:
    """The tree of a commit of this repository, built in `folder` if it is not yet. BuildError."""
    name = _git("rev-parse", "--verify", "--short=12", f"{commit}^{{commit}}").decode().strip()
    tree = folder / f"tree-{name}"
    if not (tree / "built").exists():
        _unpack(_git("archive", name), tree)
        _build(tree)
        (tree / "built").touch()
    return tree


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", "-C", str(REPOSITORY), *words], capture_output=True, check=False)
    if done.returncode != 0:
        raise BuildError(done.stderr.decode(errors="replace").strip())
    return done.stdout


def _unpack(archive: bytes, tree: Path) -> None:
    tree.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(tree, filter="data")


def _build(tree: Path) -> None:
    """By this environment: what the engine needs is the same, or is said to be missing."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["the build failed"])[-1]
        raise BuildError(f"{tree.name}: {said}")

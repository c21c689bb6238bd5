# SPDX-License-Identifier: Apache-2.0
"""Run tests, and say which of the engine's lines ran: `make coverage`.

The engine and the query sets are compiled by gcc to count; processes of other users (a capture
goes on as nobody) add to the same counts. Lost are those of a process that is killed outright.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.captures import ROOT
from tests.coverage.lines import counted, table, unseen
from tests.sanitize.tree import Tree, build, environment

FOLDER = ROOT / "build" / "coverage"
COUNTING = ("--coverage", "-O0", "-fkeep-inline-functions", "-fprofile-update=atomic")
"""Optimized, lines merge; and what a header has and nobody calls would not be there to count."""
VARIABLES = {"PYTHONSAFEPATH": "1", "GCOV_ERROR_FILE": os.devnull}
"""The copy's package is found wherever Python starts; and nobody reads what gcov has to say."""
UNSEEN = FOLDER / "unseen"


def main() -> int:
    """Give the words to pytest; the exit code is that of the tests."""
    if shutil.which("gcc") is None or shutil.which("gcov") is None:
        sys.exit("gcc and gcov are missing; on Debian: apt install gcc")
    with tempfile.TemporaryDirectory(prefix="gigastream-coverage-") as name:
        notes = Path(name)
        os.chmod(notes, 0o777)  # where we are root, query sets are compiled as another user
        tree = _engine(notes)
        _compiler(notes / "bin", notes)
        path = os.pathsep.join((str(notes / "bin"), os.environ["PATH"]))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
        done = subprocess.run(
            command, cwd=ROOT, env={**environment(tree), "PATH": path}, check=False
        )
        lines = counted([FOLDER, notes])
    UNSEEN.write_text(unseen(lines) + "\n")
    print(table(lines), f"what did not run: {UNSEEN.relative_to(ROOT)}", sep="\n\n")
    return done.returncode


def _engine(notes: Path) -> Tree:
    """The package with an engine that counts; the notes on it stay where it is built."""
    shutil.rmtree(FOLDER / "cache", ignore_errors=True)  # those on its query sets are gone
    compiler = _compiler(notes / "build")
    tree = Tree("coverage", {"CC": str(compiler)}, (), VARIABLES)
    build(tree)
    _begin(FOLDER)
    return replace(tree, build={})


def _compiler(folder: Path, notes: Path | None = None) -> Path:
    """gcc, as gcc and cc: whatever compiles a part of the engine counts. Its path.

    With `notes`, that is where its notes and the counts go, which every user may add to.
    """
    folder.mkdir(mode=0o755)
    script = ["#!/bin/sh", f'{shutil.which("gcc")} "$@" {" ".join(COUNTING)}']
    if notes is not None:
        script[1] += f" -dumpdir {notes}/$$- || exit"
        script += [f"umask 0; for note in {notes}/$$-*.gcno; do : >${{note%no}}da; done"]
    for name in ("gcc", "cc"):
        (folder / name).write_text("\n".join(script) + "\n")
        (folder / name).chmod(0o755)
    return folder / "gcc"


def _begin(folder: Path) -> None:
    """Counts of zero, which every user may add to."""
    for note in folder.rglob("*.gcno"):
        counts = note.with_suffix(".gcda")
        counts.unlink(missing_ok=True)
        counts.touch()
        os.chmod(counts, 0o666)


if __name__ == "__main__":
    sys.exit(main())

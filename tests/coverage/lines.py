# SPDX-License-Identifier: Apache-2.0
"""What gcov counted, a line of the engine at a time, whichever program it was compiled into."""

from __future__ import annotations

import json
import posixpath
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

SOURCES = "csrc/"
COPIED_HEADERS = "include0/"
"""Where a query set's compiler finds csrc/abi when it runs as another user."""
Lines = dict[str, dict[int, int]]
"""How often each line of each file ran; lines without code are not there."""
_AT_ONCE = 50


def counted(folders: Iterable[Path], jobs: int = 2) -> Lines:
    """All counts below these folders, added up."""
    files = [str(_counts_of(note)) for folder in folders for note in folder.rglob("*.gcno")]
    parts = [files[at : at + _AT_ONCE] for at in range(0, len(files), _AT_ONCE)]
    lines: Lines = defaultdict(lambda: defaultdict(int))
    with ThreadPoolExecutor(jobs) as pool:
        for said in pool.map(_gcov, parts):
            for line in said.splitlines():
                _add(json.loads(line), lines)
    return lines


def _counts_of(note: Path) -> Path:
    """Its counts; where no program has ended with any, the notes: nothing of it ran."""
    counts = note.with_suffix(".gcda")
    if counts.is_file() and counts.stat().st_size > 0:
        return counts
    counts.unlink(missing_ok=True)  # gcov takes an empty file for damage
    return note


def _gcov(files: Sequence[str]) -> str:
    command = ["gcov", "--json-format", "--stdout", *files]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _add(program: dict[str, Any], lines: Lines) -> None:
    for file in program["files"]:
        name = engine_file(file["file"])
        if name is not None:
            for line in file["lines"]:
                lines[name][line["line_number"]] += line["count"]


def engine_file(path: str) -> str | None:
    """Its name below csrc/; None: it is no file of the engine."""
    for before, folder in ((SOURCES, ""), (COPIED_HEADERS, "abi/")):
        _, found, name = path.rpartition(before)
        if found:
            return folder + posixpath.normpath(name)
    return None


def table(lines: Lines) -> str:
    """Each folder, its files below it, and the sum."""
    rows = [f"{'ran':>7} {'of':>6}  {'%':>5}  csrc/"]
    for folder, files in groupby(sorted(lines), key=_folder):
        names = list(files)
        rows.append(_row(folder + "/", [lines[name] for name in names]))
        rows += [_row("  " + name.rpartition("/")[2], [lines[name]]) for name in names]
    rows.append(_row("all", list(lines.values())))
    return "\n".join(rows)


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _row(name: str, files: Sequence[dict[int, int]]) -> str:
    ran = sum(count > 0 for file in files for count in file.values())
    of = sum(map(len, files))
    return f"{ran:7} {of:6}  {100 * ran / max(of, 1):5.1f}  {name}"


def unseen(lines: Lines) -> str:
    """The lines that did not run, as FILE:FIRST-LAST."""
    return "\n".join(f"csrc/{name}:{run}" for name in sorted(lines) for run in _runs(lines[name]))


def _runs(file: dict[int, int]) -> Iterator[str]:
    """Neighbours with no line of code between them that ran."""
    for count, run in groupby(sorted(file), key=lambda line: file[line] > 0):
        if not count:
            numbers = list(run)
            yield f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])

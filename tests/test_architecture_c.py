# SPDX-License-Identifier: Apache-2.0
"""Includes go one way, as imports do: what each folder of csrc/ may use of the others.

No file, of C or of Python, is longer than one can read at once.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from captures import ROOT

CSRC = ROOT / "csrc"
HOST = "gigastream.h"
"""What a host sees: it stands above all that it shows, and the runtime answers it."""
MAY_INCLUDE: dict[str, set[str]] = {
    "abi": set(),
    "base": {"abi"},
    "stream": {"abi", "base"},
    "arrow": {"abi", "base"},
    "output": {"abi", "base"},
    "process": {"abi", "base"},
    "capture": {"abi", "base"},
    "decode": {"abi"},
    "reassembly": {"abi", "decode"},
    "lfta": {"abi", "arrow", "base", "stream"},
    "hfta": {"abi", "arrow", "base", "stream"},
    HOST: {"arrow", "base", "capture", "output", "process", "stream"},
    "runtime": {HOST, "abi", "base", "capture", "decode", "hfta", "lfta", "reassembly", "stream"},
}
FILES = sorted(CSRC.rglob("*.[ch]"))
INCLUDE = re.compile(r'^#include "(.*)"', re.MULTILINE)
MOST_LINES = 500


def name_of(path: Path) -> str:
    """Of a file below csrc/, for a person."""
    return path.relative_to(CSRC).as_posix()


def part_of(path: Path) -> str:
    """The folder, or gigastream.h, that a file is of."""
    return path.relative_to(CSRC).parts[0]


def included_parts(path: Path) -> set[str]:
    """The folders whose headers a file includes, its own left out."""
    names = INCLUDE.findall(path.read_text())
    places = ((path.parent / name, CSRC / "abi" / name) for name in names)
    found = {next(place.resolve() for place in two if place.is_file()) for two in places}
    return set(map(part_of, found)) - {part_of(path)}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_includes_go_one_way(path: Path) -> None:
    assert included_parts(path) <= MAY_INCLUDE[part_of(path)]


def test_no_part_reaches_itself_by_way_of_others() -> None:
    for part in MAY_INCLUDE:
        reached, waiting = set[str](), [*MAY_INCLUDE[part]]
        while waiting:
            other = waiting.pop()
            if other not in reached:
                reached.add(other)
                waiting += MAY_INCLUDE[other]
        assert part not in reached


@pytest.mark.parametrize("operator", ["aggregate", "limit", "order", "select"])
def test_an_operator_is_its_file_its_ops_and_a_line(operator: str) -> None:
    named = re.compile(rf"\bgs_{operator}_(ops|methods)\b|\bDO\({operator}\)")
    files = {name_of(path) for path in FILES if named.search(path.read_text())}
    assert files == {f"hfta/{operator}.c", "hfta/operator.c", "abi/gs_query_set.h"}


def test_no_file_is_too_long() -> None:
    folders = [(ROOT / name).rglob("*.py") for name in ("gigastream", "spark_sink")]
    files = [*FILES, *(path for folder in folders for path in folder)]
    longer = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.read_text().count("\n") > MOST_LINES
    }
    assert longer == set()

# SPDX-License-Identifier: Apache-2.0
"""The tables of a document, as rows of cells."""

from __future__ import annotations

import re
from pathlib import Path

_TABLE = re.compile(r"(?:^\|.*\|$\n)+", re.MULTILINE)

Row = list[str]


def tables(document: Path) -> list[list[Row]]:
    """Return the tables in order, each as its heading and its rows; the rule below is left out."""
    found = _TABLE.findall(document.read_text())
    return [[_cells(line) for line in table.splitlines() if "|---" not in line] for table in found]


def quoted(cell: str) -> list[str]:
    """Return the words of a cell that stand in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def _cells(line: str) -> Row:
    return [cell.strip() for cell in line.strip("|").split("|")]

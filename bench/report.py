# SPDX-License-Identifier: Apache-2.0
"""Figures, the table that shows them, and the JSON lines that keep them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TextIO

COLUMNS = ("capture", "what", "value", "unit", "floor", "goal", "")


@dataclass(frozen=True)
class Figure:
    """One number that answers part of a question, with what was to be reached."""

    capture: str
    what: str
    value: float | None
    unit: str
    floor: float | None = None
    goal: float | None = None
    higher_is_better: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        """`goal`, `floor` or `below`; empty where nothing was set or nothing was measured."""
        if self.value is None or self.floor is None:
            return ""
        if self._reaches(self.goal):
            return "goal"
        return "floor" if self._reaches(self.floor) else "below"

    def _reaches(self, bound: float | None) -> bool:
        if bound is None or self.value is None:
            return False
        return self.value >= bound if self.higher_is_better else self.value <= bound


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _bound(figure: Figure, bound: float | None) -> str:
    if bound is None:
        return ""
    return ("≥ " if figure.higher_is_better else "≤ ") + _number(bound)


def _row(figure: Figure) -> tuple[str, ...]:
    last = " ".join(part for part in (figure.verdict, figure.note) if part)
    bounds = (_bound(figure, figure.floor), _bound(figure, figure.goal))
    return (figure.capture, figure.what, _number(figure.value), figure.unit, *bounds, last)


def table(title: str, figures: Sequence[Figure]) -> str:
    """The figures of one question as aligned text."""
    rows = [COLUMNS, *(_row(figure) for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)) for row in rows]
    return "\n".join([title, "-" * len(title), *(line.rstrip() for line in lines)])


def write_json(file: TextIO, question: str, figures: Iterable[Figure]) -> None:
    """Append one line of JSON per figure."""
    for figure in figures:
        line = {"question": question, **asdict(figure), "verdict": figure.verdict}
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    file.flush()

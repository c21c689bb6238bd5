# SPDX-License-Identifier: Apache-2.0
"""Figures, the table that shows them, and the JSON lines that keep them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

COLUMNS = ("capture", "what", "value", "unit", "spread", "floor", "target", "goal", "")


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
    target: float | None = None
    """What is to be reached next; between the floor and the goal, or above both."""
    least: float | None = None
    greatest: float | None = None
    """The same figure of each round alone: how far it can be trusted."""
    ours: str = ""
    against: str = ""
    """Of a ratio: the contenders, as the figures of their rates call them."""
    is_answer: bool = False
    """Not a speed: below the floor the program is wrong, and the run fails."""

    @property
    def verdict(self) -> str:
        """The hardest bound that holds, or `below`; empty where nothing was set or measured."""
        return self._verdict_of(self.value)

    @property
    def is_steady(self) -> bool:
        """Every round alone gives the same verdict."""
        return all(
            self._verdict_of(value) == self.verdict
            for value in (self.least, self.greatest)
            if value is not None
        )

    @property
    def is_wrong(self) -> bool:
        """An answer that is not what it has to be, or that could not be had."""
        return self.is_answer and self.verdict in ("", "below")

    def _verdict_of(self, value: float | None) -> str:
        if value is None or self.floor is None:
            return ""
        bounds = {"goal": self.goal, "target": self.target, "floor": self.floor}
        reached = {name: b for name, b in bounds.items() if b is not None and self.holds(b, value)}
        hardest = max if self.higher_is_better else min
        return hardest(reached, key=lambda name: reached[name]) if reached else "below"

    def holds(self, bound: float | None, value: float | None = None) -> bool:
        """Whether the figure, or another value in its place, is within a bound that there is."""
        value = self.value if value is None else value
        if bound is None or value is None:
            return False
        return value >= bound if self.higher_is_better else value <= bound


def number(value: float | None) -> str:
    """Four digits, or a dash for what could not be measured."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def bound_text(figure: Figure, bound: float | None) -> str:
    """The bound with its direction; empty where there is none."""
    if bound is None:
        return ""
    return ("≥ " if figure.higher_is_better else "≤ ") + number(bound)


def spread(figure: Figure) -> str:
    """From the least of all rounds to the greatest; empty where there was but one."""
    if figure.least is None or figure.greatest is None:
        return ""
    return f"{figure.least:.3g} to {figure.greatest:.3g}"


def _row(figure: Figure) -> tuple[str, ...]:
    last = " ".join(part for part in (figure.verdict, figure.note) if part)
    bounds = (bound_text(figure, b) for b in (figure.floor, figure.target, figure.goal))
    shown = (number(figure.value), figure.unit, spread(figure))
    return (figure.capture, figure.what, *shown, *bounds, last)


def table(title: str, figures: Sequence[Figure]) -> str:
    """The figures of one question as aligned text."""
    columns = zip(COLUMNS, *(_row(figure) for figure in figures), strict=True)
    filled = [column for column in columns if any(column[1:])]
    widths = [max(map(len, column)) for column in filled]
    rows = zip(*filled, strict=True)
    lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
    return "\n".join([title, "-" * len(title), *(line.rstrip() for line in lines)])


def write_json(file: TextIO, question: str, figures: Iterable[Figure]) -> None:
    """Append one line of JSON per figure."""
    for figure in figures:
        line = {"question": question, **asdict(figure), "verdict": figure.verdict}
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    file.flush()


def read_json(path: Path) -> dict[str, list[Figure]]:
    """The figures of such a file by question, in its order. OSError, ValueError."""
    found: dict[str, list[Figure]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        question = str(line.pop("question", ""))
        line.pop("verdict", None)
        found.setdefault(question, []).append(Figure(**line))
    return found

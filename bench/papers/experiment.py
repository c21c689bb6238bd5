# SPDX-License-Identifier: Apache-2.0
"""What an experiment is, and what is written of it: CSV, a picture (PNG and SVG), verdicts."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from recorded import Recorded

Row = dict[str, str | float]
"""What was measured at one point, by column."""
QUICK_LOOK = 0.01
_WIDTH_INCHES, _HEIGHT_INCHES = 5.0, 3.4
_MARKS = "osD^vPX*"


@dataclass(frozen=True)
class Verdict:
    """What the paper claims, what was measured here, and whether it holds."""

    claim: str
    figure: str
    holds: bool

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'DOES NOT HOLD'}: {self.claim}: {self.figure}"


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper, repeated."""

    name: str
    source: str
    """The paper, its section and figures."""
    measure: Callable[[float], list[Row]]
    """Given the scale: 1 is what docs/papers.md shows; less is quicker, and says less."""
    verdicts: Callable[[Sequence[Row]], list[Verdict]]
    draw: Callable[[Figure, Sequence[Row]], None]
    measure_recorded: Callable[[float, Recorded], list[Row]] | None = None
    """The same over a real capture's frames. None: of an experiment that needs streams made to
    measure. A join of packets by their flow, say, makes of a flow of a thousand packets a million
    rows, so that nothing else would be measured.
    """


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write all rows, with a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_pictures(folder: Path, experiment: Experiment, rows: Sequence[Row]) -> None:
    """Draw it as PNG and as SVG; equal rows give equal bytes."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": experiment.name, "svg.fonttype": "none"})
    from matplotlib.figure import Figure

    figure = Figure((_WIDTH_INCHES, _HEIGHT_INCHES), layout="constrained")
    experiment.draw(figure, rows)
    figure.savefig(folder / f"{experiment.name}.png", dpi=150)
    figure.savefig(folder / f"{experiment.name}.svg", metadata={"Date": None})


def lines(
    axes: Axes, rows: Iterable[Row], x: str, y: str, series: str, *, order: Sequence[str] = ()
) -> None:
    """Draw a line for each value of the column `series`, in the paper's order of them."""
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in order}
    for row in rows:
        points.setdefault(str(row[series]), []).append((float(row[x]), float(row[y])))
    for (name, found), mark in zip(points.items(), _MARKS, strict=False):
        axes.plot(*zip(*sorted(found), strict=True), marker=mark, markersize=4, label=name)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def memory_by(
    figure: Figure,
    rows: Iterable[Row],
    x: str,
    label: str,
    *,
    order: Sequence[str] = ("IOP", "OOP"),
) -> None:
    """Draw memory by what the column `x` varies, a line for each form."""
    axes = figure.subplots()
    lines(axes, rows, x, "memory_mb", "form", order=order)
    axes.set_xlabel(label)
    axes.set_ylabel("memory (MB)")


def bars(
    axes: Axes, rows: Iterable[Row], x: str, y: str, series: str, *, order: Sequence[str] = ()
) -> None:
    """Draw a group of bars for each value of `x`, a bar for each value of `series`."""
    values: dict[str, dict[str, float]] = {name: {} for name in order}
    for row in rows:
        values.setdefault(str(row[series]), {})[str(row[x])] = float(row[y])
    groups = list(dict.fromkeys(name for found in values.values() for name in found))
    width = 0.8 / len(values)
    for number, (name, found) in enumerate(values.items()):
        at = [place - 0.4 + width * (number + 0.5) for place in range(len(groups))]
        axes.bar(at, [found.get(group, 0.0) for group in groups], width, label=name)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small")


def points(all_of_them: Sequence[int], scale: float) -> Sequence[int]:
    """Return the points to measure where each compiles a query: of a quick look the ends."""
    return all_of_them if scale >= QUICK_LOOK else (all_of_them[0], all_of_them[-1])


def value(rows: Iterable[Row], column: str, **where: str | float) -> float:
    """Return the figure of the row that has these values. KeyError where there is none."""
    for row in rows:
        if all(row[name] == wanted for name, wanted in where.items()):
            return float(row[column])
    raise KeyError(f"no row with {where}")


def ratio(a: float, b: float) -> float:
    """Return a / b; infinite where b is nothing."""
    return a / b if b else float("inf")

# SPDX-License-Identifier: Apache-2.0
"""Which bounds hold: a page in Markdown with a table of verdicts, and a picture a question.

python bench/summary.py FIGURES.jsonl --out FOLDER   # again, from what `--json` has written
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pictures import picture
from questions import QUESTIONS
from report import Figure, bound_text, number, read_json, spread

PAGE = "summary.md"
BOUNDS = ("floor", "target", "goal")
COLUMNS = ("question", "capture", "what", "figure", "unit", "rounds", *BOUNDS, "note")


@dataclass
class Session:
    """What was asked and found in one run."""

    about: str
    titles: dict[str, str] = field(default_factory=dict)
    figures: dict[str, list[Figure]] = field(default_factory=dict)
    not_asked: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """The questions whose answers are wrong, whatever the speed."""
        return [name for name, found in self.figures.items() if any(f.is_wrong for f in found)]


def write_summary(folder: Path, session: Session) -> Path:
    """Write the page and the pictures; returns the page. OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figures in session.figures.items():
        title = session.titles.get(name, name)
        (folder / f"{name}.svg").write_text(picture(title, figures), encoding="utf-8")
    page = folder / PAGE
    page.write_text(summary(session), encoding="utf-8")
    return page


def summary(session: Session) -> str:
    """The page: how many bounds hold, which, what was left out, a picture for each question."""
    parts = ["# What was measured", session.about, _counts(session.figures)]
    if session.wrong:
        parts.append(f"**Wrong answers: {', '.join(session.wrong)}.**")
    parts += ["## Bounds", _verdicts(session.figures), *_left_out(session)]
    for name in session.figures:
        parts += [f"## {session.titles.get(name, name)}", f"![{name}]({name}.svg)"]
    return "\n\n".join(part for part in parts if part) + "\n"


def _bounded(figures: Mapping[str, Sequence[Figure]]) -> list[tuple[str, Figure]]:
    return [(name, f) for name, found in figures.items() for f in found if f.verdict]


def _bound(figure: Figure, name: str) -> float | None:
    return {"floor": figure.floor, "target": figure.target, "goal": figure.goal}[name]


def _counts(figures: Mapping[str, Sequence[Figure]]) -> str:
    """One sentence: of each kind of bound, how many hold."""
    said = []
    for name in BOUNDS:
        held = [f.holds(_bound(f, name)) for _, f in _bounded(figures) if _bound(f, name)]
        said.append(f"{name}s {sum(held)} of {len(held)}")
    return f"Of the bounds hold: {', '.join(said)}."


def _verdicts(figures: Mapping[str, Sequence[Figure]]) -> str:
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    rows += [_verdict(name, figure) for name, figure in _bounded(figures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _verdict(question: str, figure: Figure) -> tuple[str, ...]:
    bounds = (_held(figure, _bound(figure, name)) for name in BOUNDS)
    shown = (number(figure.value), figure.unit, spread(figure))
    differ = "" if figure.is_steady else "rounds differ in the verdict"
    single = "one round only" if figure.ours and figure.least is None else ""
    said = (figure.note, differ, single)
    note = "; ".join(part for part in said if part).replace("|", "/")
    return (f"[{question}]({question}.svg)", figure.capture, figure.what, *shown, *bounds, note)


def _held(figure: Figure, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{bound_text(figure, bound)} {'holds' if figure.holds(bound) else '**misses**'}"


def _left_out(session: Session) -> list[str]:
    lines = [
        f"- {name}, {figure.capture}: {figure.what}: {figure.note or 'nothing to compare'}"
        for name, figures in session.figures.items()
        for figure in figures
        if figure.value is None
    ]
    lines += [f"- {name}: not asked, for want of time" for name in session.not_asked]
    return ["## Not measured", "\n".join(lines)] if lines else []


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Draw figures that were measured before.")
    parser.add_argument("figures", type=Path, help="what bench/run.py --json has written")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the page")
    options = parser.parse_args()
    try:
        figures = read_json(options.figures)
        titles = {name: QUESTIONS[name].TITLE for name in figures if name in QUESTIONS}
        session = Session(f"Figures of {options.figures.name}.", titles, figures)
        print(write_summary(options.out, session))
    except (OSError, ValueError, TypeError) as error:
        print(f"summary: {error}", file=sys.stderr)
        return 1
    return 1 if session.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

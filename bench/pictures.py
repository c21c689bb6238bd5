# SPDX-License-Identifier: Apache-2.0
"""A picture of a question's figures as SVG: a bar for each, the bounds as lines.

Written by hand, so that it needs nothing that is not here anyway, and is text of a few kilobytes.
It knows nothing of the questions: bars of one capture and one unit stand together on one scale, and
where a ratio says whose rates it compares, its bounds are drawn on our rate too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from report import Figure, number

WIDTH, LABELS, VALUES = 760, 250, 150
BARS = WIDTH - LABELS - VALUES
ROW, HEAD, MARGIN = 18, 24, 12
OURS, OTHER, RATIO, TEXT = "#1f6fb4", "#b8bec4", "#4a9a62", "#222222"
BOUNDS = {"floor": "#c23b3b", "target": "#d98a1f", "goal": "#2d7d46"}
NOTE_CHARACTERS = 64


@dataclass(frozen=True)
class Bar:
    """One figure as it is drawn: its colour, and where lines cross it."""

    figure: Figure
    colour: str
    bounds: tuple[tuple[str, float], ...]

    @property
    def reach(self) -> float:
        """The greatest number that has to be on the scale."""
        figure = self.figure
        numbers = (figure.value, figure.greatest, *(bound for _, bound in self.bounds))
        return max((value for value in numbers if value is not None), default=0.0)


def picture(title: str, figures: Sequence[Figure]) -> str:
    """The whole of a question as one SVG document."""
    lines, y = [_text(MARGIN, MARGIN + 10, title, bold=True)], MARGIN + HEAD
    for heading, bars in _blocks(figures):
        lines.append(_text(MARGIN, y + 12, heading, bold=True, size=11))
        y += HEAD - 6
        scale = BARS / (max((bar.reach for bar in bars), default=0.0) or 1.0)
        for bar in bars:
            lines += _drawn(bar, y, scale)
            y += ROW
        y += MARGIN
    lines += _legend(y)
    size = f'width="{WIDTH}" height="{y + ROW}" viewBox="0 0 {WIDTH} {y + ROW}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    background = f'<rect width="{WIDTH}" height="{y + ROW}" fill="#ffffff"/>'
    return "\n".join([opening, background, *lines, "</svg>"]) + "\n"


def _blocks(figures: Sequence[Figure]) -> Iterator[tuple[str, list[Bar]]]:
    blocks: dict[tuple[str, str], list[Bar]] = {}
    judged = _judged(figures)
    for place, figure in enumerate(figures):
        bounds = [*_own_bounds(figure), *judged.get(place, ())]
        colour = OURS if place in judged else OTHER
        is_ratio = figure.ours != "" or figure.floor is not None
        bar = Bar(figure, RATIO if is_ratio else colour, tuple(bounds))
        blocks.setdefault((figure.capture, figure.unit), []).append(bar)
    for (capture, unit), bars in blocks.items():
        yield f"{capture}, {unit}" if unit else capture, bars


def _judged(figures: Sequence[Figure]) -> dict[int, list[tuple[str, float]]]:
    """Where figures of ours stand, and the bounds of their ratios there.

    A ratio is of the figures that stand last before it: a name may be there for another round, too.
    """
    found: dict[int, list[tuple[str, float]]] = {}
    for place, ratio in enumerate(figures):
        before = enumerate(figures[:place])
        places = {other.what: n for n, other in before if other.capture == ratio.capture}
        if ratio.ours in places and ratio.against in places:
            ours, beside = places[ratio.ours], figures[places[ratio.against]].value or 0.0
            grows = figures[ours].higher_is_better == ratio.higher_is_better
            found.setdefault(ours, []).extend(
                (name, beside * bound if grows else beside / bound)
                for name, bound in _own_bounds(ratio)
            )
    return found


def _own_bounds(figure: Figure) -> Iterator[tuple[str, float]]:
    named = {"floor": figure.floor, "target": figure.target, "goal": figure.goal}
    yield from ((name, bound) for name, bound in named.items() if bound is not None)


def _drawn(bar: Bar, y: int, scale: float) -> Iterator[str]:
    figure = bar.figure
    yield _text(LABELS - 6, y + 12, figure.what, end=True)
    if figure.value is None:
        yield _text(LABELS, y + 12, f"not measured: {figure.note}"[:NOTE_CHARACTERS], grey=True)
        return
    width = max(figure.value, 0.0) * scale
    yield f'<rect x="{LABELS}" y="{y + 2}" width="{width:.1f}" height="12" fill="{bar.colour}"/>'
    if figure.least is not None and figure.greatest is not None:
        ends = [LABELS + end * scale for end in (figure.least, figure.greatest)]
        yield _line(ends[0], y + 8, ends[1], y + 8, TEXT)
    for name, bound in bar.bounds:
        at = LABELS + bound * scale
        yield _line(at, y - 1, at, y + 17, BOUNDS[name], 2)
    value = f"{number(figure.value)} {figure.verdict}"
    yield _text(WIDTH - VALUES + 8, y + 12, value)


def _legend(y: int) -> Iterator[str]:
    x = MARGIN
    for name, colour in {"ours": OURS, "others": OTHER, "ratio": RATIO, **BOUNDS}.items():
        yield f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 14, y + 9, name)
        x += 70
    yield _text(x, y + 9, "thin black line: from the least of the rounds to the greatest")


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    bold: bool = False,
    end: bool = False,
    grey: bool = False,
    size: int = 10,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    anchor = ' text-anchor="end"' if end else ""
    colour = "#888888" if grey else TEXT
    place = f'x="{x}" y="{y}" font-size="{size}" fill="{colour}"{weight}{anchor}'
    return f"<text {place}>{escape(text)}</text>"

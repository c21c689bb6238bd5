# SPDX-License-Identifier: Apache-2.0
"""Windows that slide, against windows that are looked for one by one (OPERATORS section 4)."""

from __future__ import annotations

import math
import random
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.windows_build import build

FIRST, LAST = -(1 << 63), (1 << 63) - 1


@dataclass
class Model:
    """A window is every w whose [(w + 1) * slide - range, (w + 1) * slide) has a row in it."""

    range: int
    slide: int
    rows: defaultdict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    """By second clock and id."""
    bound: int = FIRST

    def ids(self, value: int) -> list[int]:
        """By trying those around."""
        near = range(value // self.slide - 1, (value + self.range) // self.slide + 2)
        return [w for w in near if 0 <= (w + 1) * self.slide - value - 1 < self.range]

    def step(self, line: str) -> Iterator[str]:
        """What the driver prints of a line."""
        word, *numbers = line.split()
        if word == "row":
            yield from self._row(*map(int, numbers))
        elif word == "bound":
            self.bound = max(self.bound, int(numbers[0]))
            yield from self._leave(self.bound)
            yield f"promise {self.bound // self.slide}"
        else:
            yield from self._leave(None)

    def _row(self, value: int, clock: int) -> Iterator[str]:
        if self.bound > FIRST and value // self.slide < self.bound // self.slide:
            yield f"late {value}"
            return
        ids = self.ids(value)
        yield f"ids {value} {value // self.slide} {len(ids)}"
        for w in ids:
            self.rows[clock, w].append(value)

    def _leave(self, bound: int | None) -> Iterator[str]:
        """The oldest first: by the second clock, which stands before the ids, then by the id."""
        ended = (at for at in self.rows if bound is None or (at[1] + 1) * self.slide <= bound)
        for clock, w in sorted(ended):
            rows = self.rows.pop((clock, w))
            total = sum(abs(row) % 1000 * (1 if row > 0 else -1) for row in rows)
            yield f"window {w} {clock} {len(rows)} {total}"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sliding_driver.c", tmp_path_factory.mktemp("sliding"))


def printed(driver: Path, range_: int, slide: int, lines: Sequence[str]) -> tuple[list[str], int]:
    """What the driver prints of these lines and of the end; how often it compared windows."""
    text = "\n".join([*lines, "end"])
    words = [str(driver), str(range_), str(slide)]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
    *found, work = done.stdout.splitlines()
    comparisons, held = map(int, work.split()[1:])
    assert held == 0
    return found, comparisons


def expected(range_: int, slide: int, lines: Sequence[str]) -> list[str]:
    model = Model(range_, slide)
    return [answer for line in (*lines, "end") for answer in model.step(line)]


values = st.integers(-200, 200)
lines_of = st.lists(
    st.builds("row {} {}".format, values, st.integers(0, 2)) | st.builds("bound {}".format, values),
    max_size=60,
)


@settings(max_examples=150)
@given(st.integers(1, 40), st.integers(1, 40), lines_of)
def test_any_steps(driver: Path, range_: int, slide: int, lines: list[str]) -> None:
    """Gaps, ranges that are no multiple of the slide, times below 0, jumping bounds, late rows."""
    assert printed(driver, range_, slide, lines)[0] == expected(range_, slide, lines)


@pytest.mark.parametrize(
    ("range_", "slide"), [(60, 60), (300, 60), (90, 60), (10, 60), (1, 1), (7, 3), (10**9, 10**6)]
)
def test_a_stream(driver: Path, range_: int, slide: int) -> None:
    """Rows somewhat out of order; at last a bound that jumps far ahead."""
    rng = random.Random(range_ * 31 + slide)
    lines = []
    for number in range(1500):
        now = (number - 700) * slide // 40
        lines.append(f"row {now + rng.randrange(-slide, slide + 1)} 0")
        if number % 50 == 49:
            lines.append(f"bound {now - slide}")
    lines.append(f"bound {LAST // 11 * 10}")
    assert printed(driver, range_, slide, lines)[0] == expected(range_, slide, lines)


@pytest.mark.parametrize("value", [FIRST, FIRST + 1, -1, 0, 1, LAST - 1, LAST])
@pytest.mark.parametrize(
    ("range_", "slide"), [(1, 1), (5, 3), (LAST, LAST), (3, LAST), (1 << 62, 7 << 55)]
)
def test_the_ends_of_64_bits(driver: Path, range_: int, slide: int, value: int) -> None:
    """No window whose id is LAST, which would never be over, or beyond."""
    ids = [w for w in Model(range_, slide).ids(value) if w < LAST]
    (line, *rest), _ = printed(driver, range_, slide, [f"row {value} 0"])
    assert line == f"ids {value} {value // slide} {len(ids)}"
    assert [int(text.split()[1]) for text in rest] == ids


MANY = 20_000
PER_STEP = 8
"""Comparisons for a window and each halving of their number: it enters a heap of each of two values
twice, and leaves it as often."""


@pytest.mark.parametrize("range_", [1, 16, 64])
def test_no_scan(driver: Path, range_: int) -> None:
    """Windows as far apart as a sender likes: the work is that of the rows' own windows."""
    rng = random.Random(range_)
    rows = [f"row {rng.randrange(-(1 << 40), 1 << 40)} 0" for _ in range(MANY // range_)]
    found, comparisons = printed(driver, range_, 1, [*rows, f"bound {1 << 41}"])
    count = sum(line.startswith("window") for line in found)
    assert comparisons < PER_STEP * count * math.log2(count)


def test_rows_of_the_same_window_look_up_nothing(driver: Path) -> None:
    """A thousand rows in each of 50 windows: one comparison a row beside the windows."""
    windows, each = 50, 1000
    rows = [f"row {at // each * 10} 0" for at in range(windows * each)]
    _, comparisons = printed(driver, 10, 10, rows)
    assert comparisons < windows * each + PER_STEP * windows * math.log2(windows)

# SPDX-License-Identifier: Apache-2.0
"""ORDER BY … LIMIT at its limits: what is held, what is refused and said to be, and the work."""

from __future__ import annotations

import math
import random
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.windows_build import OPERATORS, build

NO_LIMIT = (1 << 64) - 1
GREATEST = (1 << 63) - 1
COMPARISONS = 3
"""For each row that is better than the worst, and each halving of their number."""


@dataclass(frozen=True)
class Run:
    """What left, as (window, value, whether its window is partial), and the account."""

    rows: list[tuple[int, int, bool]]
    comparisons: int
    cut: int
    refused: int
    late: int
    peak_bytes: int
    held_bytes: int


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("order_driver.c", tmp_path_factory.mktemp("order"), OPERATORS)


def run(driver: Path, limit: int, max_rows: int, lines: Iterable[str], groups: int = 0) -> Run:
    """With `groups` the limit is one of each: values of the same remainder are one."""
    words = [str(driver), str(limit), str(max_rows), str(groups)]
    text = "\n".join(lines)
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    *rows, work = (line.split()[1:] for line in done.stdout.splitlines())
    found = [(int(window), int(value), partial == "1") for window, value, partial in rows]
    return Run(found, *map(int, work))


def row(window: int, value: int) -> str:
    return f"row {window} {value}"


def best(values: Iterable[int], limit: int) -> list[int]:
    return sorted(values, reverse=True)[:limit]


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(0, 40), max_size=60),
    limit=st.integers(0, 6),
    more=st.integers(0, 20),
)
def test_no_row_is_refused_that_the_limit_would_cut(
    driver: Path, values: list[int], limit: int, more: int
) -> None:
    found = run(driver, limit, limit + more, [*(row(7, value) for value in values), "end"])
    kept = best(values, limit)
    assert found.rows == [(7, value, False) for value in kept]
    assert (found.cut, found.refused) == (len(values) - len(kept), 0)


@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
@pytest.mark.parametrize("more", [0, 1, 5_000, 100_000])
def test_a_row_at_the_cap_costs_no_sort(driver: Path, order: str, more: int) -> None:
    """And its memory is that of the rows that are held, however many came."""
    count, limit = 20_000, 500
    values = list(range(count))
    if order == "falling":
        values.reverse()
    if order == "mixed":
        random.Random(7).shuffle(values)
    found = run(driver, limit, limit + more, [*(row(1, value) for value in values), "end"])
    assert found.rows == [(1, value, False) for value in best(values, limit)]
    assert found.cut == count - limit
    assert found.comparisons < COMPARISONS * count * math.log2(2 * limit)
    assert found.peak_bytes < 400_000
    assert found.held_bytes < 10_000


def test_rows_that_the_cap_refuses_mark_their_window(driver: Path) -> None:
    lines = [row(1, 5), row(1, 6), row(2, 9), "bound 2", row(2, 3), "end"]
    found = run(driver, NO_LIMIT, 2, lines)
    assert found.rows == [(1, 6, False), (1, 5, False), (2, 3, True)]
    assert found.refused == 1


def test_a_window_that_had_no_room_at_the_cap_is_marked_when_it_is_made(driver: Path) -> None:
    """It lacks the row that was refused when neither a row nor the window had room."""
    lines = [row(1, 5), "fill", row(2, 9), "free", "bound 2", row(2, 3), row(3, 4), "end"]
    for max_rows in (1, 2):
        found = run(driver, NO_LIMIT, max_rows, [line for line in lines if line != row(3, 4)])
        assert found.rows == [(1, 5, False), (2, 3, True)]
        assert found.refused == 1
    assert run(driver, NO_LIMIT, 2, lines).rows == [(1, 5, False), (2, 3, True), (3, 4, False)]


def test_a_better_row_that_has_no_room_leaves_the_others(driver: Path) -> None:
    """A chunk is full, and there is no memory for the next one."""
    values = range(8)
    lines = [*(row(1, value) for value in values), "fill", row(1, 100), "free", row(1, 101), "end"]
    found = run(driver, 8, 8, lines)
    assert found.rows == [(1, value, True) for value in (101, *range(7, 0, -1))]
    assert found.refused == 1


@pytest.mark.parametrize("seed", range(8))
def test_memory_that_comes_and_goes(driver: Path, seed: int) -> None:
    """Rows are put together while there is room for that, and stay where they are otherwise."""
    chance = random.Random(seed)
    values, lines, is_full = [], [], False
    for _ in range(4_000):
        if chance.random() < 0.02:
            is_full = not is_full
            lines.append("fill" if is_full else "free")
        values.append(len(values) + chance.randrange(400))
        lines.append(row(1, values[-1]))
    found = run(driver, 40, 50, [*lines, *["free"] * is_full, "end"])
    left = [value for _, value, is_partial in found.rows if is_partial]
    assert len(left) == len(found.rows) == 40
    assert left == sorted(left, reverse=True)
    assert set(left) <= set(values)
    assert found.refused > 0
    assert found.cut + found.refused + len(left) == len(values)
    assert found.held_bytes < 10_000


def test_a_row_below_the_punctuation_is_late(driver: Path) -> None:
    found = run(driver, 1, 2, [row(1, 5), row(2, 6), "bound 2", row(1, 7), "end"])
    assert found.rows == [(1, 5, False), (2, 6, False)]
    assert found.late == 1


def test_nothing_is_asked_for_a_window_that_only_the_end_passes(driver: Path) -> None:
    found = run(driver, 1, 9, [row(GREATEST, 5), row(GREATEST - 1, 6), "idle", "end"])
    assert found.rows == [(GREATEST - 1, 6, False), (GREATEST, 5, False)]


def best_of_groups(values: Iterable[int], limit: int, groups: int) -> list[int]:
    by_group = [[v for v in values if v % groups == group] for group in range(groups)]
    return sorted((v for group in by_group for v in best(group, limit)), reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(0, 40), max_size=60),
    limit=st.integers(0, 4),
    groups=st.integers(1, 7),
)
def test_each_group_has_the_limit(driver: Path, values: list[int], limit: int, groups: int) -> None:
    found = run(driver, limit, 1_000, [*(row(7, value) for value in values), "end"], groups)
    kept = best_of_groups(values, limit, groups)
    assert found.rows == [(7, value, False) for value in kept]
    assert (found.cut, found.refused) == (len(values) - len(kept), 0)


def test_groups_that_the_limit_cuts_again_and_again(driver: Path) -> None:
    """Memory is that of the rows that stay, give or take as many; a row costs a part of a sort."""
    count, limit, groups = 40_000, 5, 100
    values = list(range(count))
    random.Random(7).shuffle(values)
    lines = [*(row(1, value) for value in values), "end"]
    found = run(driver, limit, 10_000, lines, groups)
    assert found.rows == [(1, v, False) for v in best_of_groups(values, limit, groups)]
    assert (found.cut, found.refused) == (count - limit * groups, 0)
    assert found.peak_bytes < 400_000
    assert found.held_bytes < 10_000


def test_groups_at_the_cap_are_cut_before_a_row_is_refused(driver: Path) -> None:
    values = list(range(3_000))
    lines = [*(row(1, value) for value in values), "end"]
    found = run(driver, 2, 200, lines, 10)
    assert found.rows == [(1, v, False) for v in best_of_groups(values, 2, 10)]
    assert found.refused == 0
    assert run(driver, 2, 50, lines, 100).refused > 0

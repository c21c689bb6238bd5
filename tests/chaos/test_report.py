# SPDX-License-Identifier: Apache-2.0
"""The count is of multisets: it sees a row too many, one too few, and one that is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.chaos.chaos import Report

EXPECTED = ["a", "a", "b"]


@pytest.mark.parametrize(
    ("found", "duplicates", "missing"),
    [
        (["a", "b", "a"], 0, 0),
        (["a", "a", "b", "b"], 1, 0),
        (["a", "b"], 0, 1),
        (["a", "a", "c"], 1, 1),
        ([], 0, 3),
    ],
)
def test_rows_are_counted(found: list[str], duplicates: int, missing: int) -> None:
    report = Report(seed=1)
    report.compare({"q": Counter((row,) for row in EXPECTED)}, {"q": Counter((r,) for r in found)})
    assert (report.expected, report.found) == (len(EXPECTED), len(found))
    assert (report.duplicates, report.missing) == (duplicates, missing)
    assert report.is_exact == (duplicates == missing == 0)


def test_the_last_line() -> None:
    report = Report(
        1, Counter(driver=1, workers=2, writer=3, server=4), expected=9, found=8, missing=1
    )
    assert str(report) == (
        "kills 10 (driver 1, workers 2, writer 3, server 4), "
        "rows expected 9, found 8, duplicates 0, missing 1"
    )


def test_nothing_is_no_success() -> None:
    assert not Report(seed=1).is_exact

# SPDX-License-Identifier: Apache-2.0
"""Each boundary of docs/security.md names the tests that hold it, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from captures import ROOT
from docs.tables import tables

_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")
ROWS = [row for table in tables(ROOT / "docs" / "security.md") for row in table[1:]]


def test_there_are_boundaries() -> None:
    assert len(ROWS) >= 15


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}"[:60])
def test_a_boundary_is_held_by_tests_that_there_are(row: list[str]) -> None:
    named = _TEST.findall(row[-1])
    assert named, "no test is named"
    for path, test in named:
        text = Path(ROOT, path).read_text()
        assert f"def {test or 'test_'}" in text, f"{path}::{test}"

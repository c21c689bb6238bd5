# SPDX-License-Identifier: Apache-2.0
"""csv and JSON that say of each row whether its window was cut."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gigastream.daemon.messages import OutputSpec
from gigastream.daemon.targets import FileTarget
from gigastream.engine.batch import NativeBatch
from gigastream.outputs import OutputError
from gigastream.outputs.cut_column import with_cut_column
from tests.output.test_rotating import batch, query

HARD = b'a "quoted"\nline, and\r\n}\n another'


@dataclass
class CutBatch:
    """A batch of the engine's, with another mark."""

    batch: NativeBatch
    is_cut: bool

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batch, name)


def written(path: Path, *, cut_column: bool = True) -> str:
    """What two whole rows and a cut one become."""
    spec = OutputSpec(format=path.suffix[1:], path=str(path), cut_column=cut_column)
    target = FileTarget(spec, (query(),), lambda _: None)
    for one, is_cut in ((batch(1, 2, text=HARD), False), (batch(3), True)):
        target.write("q", CutBatch(one, is_cut))
    target.close()
    return path.read_bytes().decode()


def test_a_csv(tmp_path: Path) -> None:
    """Whatever its cells have in them."""
    rows = list(csv.reader(written(tmp_path / "rows.csv").splitlines(keepends=True)))
    assert rows[0] == ["n", "text", "gs.cut"]
    assert [(row[0], row[2]) for row in rows[1:]] == [("1", "false"), ("2", "false"), ("3", "true")]
    assert {row[1] for row in rows[1:3]} == {HARD.decode()}


def test_json(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in written(tmp_path / "rows.json").splitlines()]
    assert [(row["n"], row["gs.cut"]) for row in rows] == [(1, False), (2, False), (3, True)]
    assert rows[0]["text"] == HARD.decode()


@pytest.mark.parametrize("name", ["rows.csv", "rows.json"])
def test_nothing_is_said_unless_it_is_asked_for(tmp_path: Path, name: str) -> None:
    assert "gs.cut" not in written(tmp_path / name, cut_column=False)


def test_a_column_of_that_name_is_refused() -> None:
    with pytest.raises(OutputError, match="has a column called"):
        with_cut_column(replace(query(), columns=("n", "gs.cut")))

# SPDX-License-Identifier: Apache-2.0
"""Shipped queries that join and merge, as a person asks them, against the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import gigastream

from gigastream.settings import Settings
from tests.answers.engine import plan_of, run, source
from tests.answers.inputs import INPUTS
from tests.answers.paths import on_every_path
from tests.answers.shipped import CASES, PAPERS, TIGON, Shipped
from tests.oracle.rows import assert_same_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("inputs")
    for name in {name for case in CASES for _, name in case.inputs}:
        (made / name).write_bytes(INPUTS[name]())
    return made


@pytest.mark.parametrize("home", [PAPERS, TIGON], ids=lambda home: home.name)
def test_every_query_of_the_papers_is_asked(home: Path) -> None:
    asked = {case.path for case in CASES if case.path.parent == home}
    assert asked == set(home.glob("*.gsql"))


def _shown(case: Shipped) -> str:
    return "-".join([case.path.parent.name, case.name, *(name for _, name in case.inputs)])


@pytest.mark.parametrize("case", CASES, ids=_shown)
def test_a_query_gives_the_references_rows(case: Shipped, folder: Path) -> None:
    answer = case.answer()
    assert answer.rows, "nothing is shown by a query that answers nothing"
    sources = [word for i, n in case.inputs for word in ("-r", f"{i}={folder / n}")]
    result = gigastream("run", case.path, *sources, "-q", "-o", "csv")
    assert result.code == 0, result.err
    assert result.lines[0] == ",".join(column.name for column in answer.columns)
    assert_same_rows(answer.shown(), result.out.decode())


@pytest.mark.parametrize("case", CASES, ids=_shown)
def test_a_query_gives_them_on_every_path(case: Shipped, folder: Path) -> None:
    interfaces = [interface for interface, _ in case.inputs]
    plan = plan_of(case.path.read_text(encoding="utf-8"), case.name, interfaces)
    sources = [source(folder / name, interface) for interface, name in case.inputs]
    for settings in on_every_path(Settings())[1:]:
        (found,) = run(plan, sources, settings).rows.values()
        assert_same_rows(case.answer().shown(), found)

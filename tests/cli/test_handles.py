# SPDX-License-Identifier: Apache-2.0
"""HANDLE constants are prepared by `check`, and by `run` before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

import gigastream as library
from gigastream.gsql.diagnostics import GsqlError

WRONG = {
    "missing file": ("getlpmid(srcIP, 'missing.csv') = 1", 50, "missing.csv: No such file"),
    "wrong line": ("getlpmid(srcIP, 'wrong.csv') = 1", 50, "wrong.csv:2: not an address prefix"),
    "in a define": ("getlpmid(srcIP, #list) = 1", 50, "wrong.csv:2: not an address prefix"),
    "deep": ("len = 1 OR getlpmid(srcIP, 'missing.csv') = 1", 61, "missing.csv: No such file"),
    "pattern": ("str_regex_match(interface, '(')", 62, "bad regular expression"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wrong.csv").write_text("10.0.0.0/8,1\n10.0.0/8,2\n")
    (tmp_path / "good.csv").write_text("10.0.0.0/8,1\n")
    return tmp_path


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_prepared_is_told_with_its_place(
    case: str, command: str, folder: Path
) -> None:
    condition, column, message = WRONG[case]
    text = f"DEFINE {{ list 'wrong.csv'; }}\nSELECT time, len FROM IPV4 WHERE {condition}"
    words = [] if command == "check" else ["-r", str(DEMO_CAPTURE), "-o", "csv:rows.csv"]
    result = gigastream(command, "-e", text, *words, cwd=folder)
    assert result.code == 2
    assert f"query:2:{column}: error: " in result.err
    assert message in result.err
    assert not (folder / "rows.csv").exists()


def test_a_wrong_list_above_the_border_is_told(folder: Path) -> None:
    low = "DEFINE { query_name low; visibility internal; } SELECT time, srcIP FROM IPV4;"
    high = "DEFINE { query_name high; } SELECT time, getlpmid(srcIP, 'wrong.csv') AS id FROM low"
    result = gigastream("check", "-e", low + high, cwd=folder)
    assert result.code == 2
    assert "wrong.csv:2: not an address prefix" in result.err


def test_a_good_list_is_believed(folder: Path) -> None:
    text = "SELECT time, getlpmid(srcIP, 'good.csv') AS id FROM IPV4"
    assert gigastream("check", "-e", text, cwd=folder).code == 0


def test_the_library_tells_it_as_an_error_of_the_query() -> None:
    text = "SELECT time FROM IPV4 WHERE getlpmid(srcIP, '/missing.csv') = 1"
    with pytest.raises(GsqlError, match=r"/missing\.csv: No such file"):
        library.run(text, DEMO_CAPTURE)

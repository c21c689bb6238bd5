# SPDX-License-Identifier: Apache-2.0
"""What a bad query gets (GSQL section 7): messages as data, with place, caret and hint.

The expected files are written anew by GIGASTREAM_UPDATE_GOLDEN=1; read the difference then.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from binder.cases import HERE, check_file

from gigastream.gsql.diagnostics import DiagnosticSink, GsqlError

FILES = sorted((HERE / "errors").glob("*.gsql"))


def messages(path: Path) -> str:
    """Return what a user reads about a file."""
    sink = DiagnosticSink()
    with pytest.raises(GsqlError) as caught:
        check_file(path, sink)
    text = str(caught.value).replace(str(HERE) + os.sep, "")
    assert "Traceback" not in text
    return text + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bad_query_gets_the_expected_messages(path: Path) -> None:
    found = messages(path)
    expected = path.with_suffix(".expected")
    if os.environ.get("GIGASTREAM_UPDATE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()


def test_five_mistakes_are_five_errors() -> None:
    found = messages(HERE / "errors" / "five_mistakes.gsql")
    assert found.count(": error: ") == 5

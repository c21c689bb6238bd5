# SPDX-License-Identifier: Apache-2.0
"""Bad queries as data: each file's messages are beside it, with place, caret line and hint.

The expected files are written anew by GIGASTREAM_UPDATE_GOLDEN=1; read the difference then.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.source import decode
from gigastream.gsql.syntax.parser import parse_queries

FOLDER = Path(__file__).parent / "errors"
FILES = sorted(FOLDER.rglob("*.gsql"))


def messages(path: Path, *, keep_broken: bool = False) -> str:
    """Return what a user reads about a file."""
    sink = DiagnosticSink()
    text = decode(path.read_bytes())
    if path.parent.name == "definitions":
        parse_definitions(text, path.name, sink)
    else:
        parse_queries(text, path.name, sink, keep_broken=keep_broken)
    assert sink.has_errors
    return sink.render() + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bad_query_gets_the_expected_messages(path: Path) -> None:
    found = messages(path)
    expected = path.with_suffix(".expected")
    if os.environ.get("GIGASTREAM_UPDATE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_keeping_broken_queries_changes_no_message(path: Path) -> None:
    assert messages(path, keep_broken=True) == path.with_suffix(".expected").read_text()


def test_every_expected_file_has_its_query() -> None:
    assert {path.with_suffix(".expected") for path in FILES} == set(FOLDER.rglob("*.expected"))

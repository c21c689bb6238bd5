# SPDX-License-Identifier: Apache-2.0
"""Good queries as data: each file's printed form is beside it, and prints to itself again.

The golden files are written anew by GIGASTREAM_UPDATE_GOLDEN=1; read the difference then.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.syntax.parser import parse_queries
from gigastream.gsql.syntax.printer import print_definitions, print_queries

FOLDER = Path(__file__).parent / "parse"
FILES = sorted(FOLDER.rglob("*.gsql"))


def printed(path: Path, text: str) -> str:
    """Return the printed form of a file, its warnings above it as comments."""
    sink = DiagnosticSink()
    if path.parent.name == "definitions":
        form = print_definitions(parse_definitions(text, path.name, sink))
    else:
        form = print_queries(parse_queries(text, path.name, sink))
    sink.raise_if_errors()
    warnings = [f"-- {line}\n" for line in sink.render().splitlines()]
    return "".join(warnings) + form


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_good_query_prints_as_its_golden_file_says(path: Path) -> None:
    form = printed(path, path.read_text())
    golden = path.with_suffix(".golden")
    if os.environ.get("GIGASTREAM_UPDATE_GOLDEN"):
        golden.write_text(form)
    assert form == golden.read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_printed_form_prints_to_itself(path: Path) -> None:
    golden = path.with_suffix(".golden").read_text()
    form = "".join(line for line in golden.splitlines(True) if not line.startswith("-- "))
    assert printed(path, form) == form


def test_every_golden_file_has_its_query() -> None:
    assert {path.with_suffix(".golden") for path in FILES} == set(FOLDER.rglob("*.golden"))

# SPDX-License-Identifier: Apache-2.0
"""Checked queries as data: all types, temporal types, casts and monotone functions.

The expected files are written anew by GIGASTREAM_UPDATE_GOLDEN=1; read the difference then.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from binder.cases import HERE, check_file
from binder.show import shown_query

from gigastream.gsql.diagnostics import DiagnosticSink

FILES = sorted((HERE / "good").glob("*.gsql"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_good_query_is_checked_as_expected(path: Path) -> None:
    sink = DiagnosticSink()
    found = "\n".join(shown_query(query) for query in check_file(path, sink))
    found += sink.render() + "\n" if sink.diagnostics else ""
    expected = path.with_suffix(".expected")
    if os.environ.get("GIGASTREAM_UPDATE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()


def test_every_expected_file_has_its_query() -> None:
    expected = set(HERE.glob("*/*.expected"))
    assert expected == {path.with_suffix(".expected") for path in HERE.glob("[ceg]*[!y]/*.gsql")}

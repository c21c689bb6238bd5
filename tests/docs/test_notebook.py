# SPDX-License-Identifier: Apache-2.0
"""The notebook of docs/: its cells run in their order, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pandas")

from captures import DEMO_CAPTURE, ROOT
from cli.command import COMMAND

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def run(cell: dict[str, Any], names: dict[str, Any]) -> str:
    """Run a cell as a kernel would; return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("".join(cell["source"]), f"{NOTEBOOK.name} {cell['id']}", "exec"), names)
    return printed.getvalue()


@pytest.mark.long
def test_the_notebook_prints_what_it_shows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the test's own session, which `run_query` finds."""
    (tmp_path / "demo.pcap").symlink_to(DEMO_CAPTURE)
    program = tmp_path / "gigastream"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    for table in spark.catalog.listTables():  # of other tests: a view goes before a table
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert run(cell, names) == shown, cell["id"]

# SPDX-License-Identifier: Apache-2.0
"""Messages name files whole, however long, with spaces and in any script: editors follow them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

PARTS = ("a path with spaces", "Überwachung", "d" * 200, "e" * 200, "f" * 200)
COUNT = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.joinpath(*PARTS)
    made.mkdir(parents=True)
    return made


def test_a_mistake_in_a_query_has_its_files_whole_path(folder: Path) -> None:
    query = folder / "wrong.gsql"
    query.write_text("SELECT tme FROM PKT")
    result = gigastream("check", query)
    assert result.code == 2
    assert result.err.startswith(f"{query}:1:8: error: ")


def test_a_mistake_in_a_definition_has_its_files_whole_path(folder: Path) -> None:
    definitions = folder / "own.gsql"
    definitions.write_text("PROTOCOL odd (NOTHING) { uint x get_x (snap_len 1); }")
    result = gigastream("check", "--definitions", definitions, "-e", COUNT)
    assert result.code == 2
    assert f"{definitions}:1:" in result.err


@pytest.mark.parametrize("name", ["missing.gsql", "missing.toml", "missing.pcap", "odd.pcap"])
def test_a_file_that_cannot_be_read_is_named_whole(folder: Path, name: str) -> None:
    path = folder / name
    if name == "odd.pcap":
        path.write_bytes(b"this is no capture at all")
    queries = {".gsql": [path], ".toml": ["-c", path, "-e", COUNT]}
    words = queries.get(path.suffix, ["-e", COUNT])
    result = gigastream("run", *words, "-r", path if path.suffix == ".pcap" else DEMO_CAPTURE)
    assert result.code == 2
    assert f"{path}: " in result.err


@pytest.mark.parametrize("content", ["no prefix|1\n", None], ids=["malformed", "missing"])
def test_a_prefix_file_is_named_whole(folder: Path, content: str | None) -> None:
    path = folder / "prefixes.txt"
    if content is not None:
        path.write_text(content)
    query = f"SELECT time, getlpmid(srcIP, '{path}') AS id FROM IPV4"
    result = gigastream("run", "-r", DEMO_CAPTURE, "-e", query)
    assert result.code != 0
    assert f"{path}:" in result.err


def test_everything_works_on_a_long_path(folder: Path) -> None:
    capture = shutil.copy(DEMO_CAPTURE, folder / "demo.pcap")
    query = folder / "count.gsql"
    query.write_text(COUNT)
    rows = folder / "rows.csv"
    result = gigastream("run", query, "-r", capture, "-o", f"csv:{rows}")
    assert result.code == 0
    assert f"{capture} (default): read 2,010" in result.err
    assert len(rows.read_text().splitlines()) == 5
    spool = folder / "spool"
    assert gigastream("run", query, "-r", capture, "-o", f"spool:{spool}").code == 0
    read = gigastream("run", "--spool", spool, "-o", "csv")
    assert read.code == 0
    assert read.out == rows.read_bytes()

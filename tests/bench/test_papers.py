# SPDX-License-Identifier: Apache-2.0
"""Every experiment of bench/papers runs, small, and writes what it says; no figure is asserted."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from captures import ROOT

pytest.importorskip("matplotlib")
RUN = ROOT / "bench" / "papers" / "run.py"
SCALE = "0.001"
CAPTURE = ROOT / "demo" / "demo.pcap"
SLOW = {"heartbeat_cost"}
"""Counts the instructions of an interpreter, by valgrind."""


def experiments() -> list[str]:
    """Their names, one for each file."""
    return sorted(
        path.stem for path in (RUN.parent / "experiments").glob("*.py") if path.stem != "__init__"
    )


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, RUN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check_written(folder: Path, names: list[str], told: str) -> None:
    """A table with rows, two pictures, a line for each claim."""
    for name in names:
        with (folder / f"{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows, name
        assert all(value != "" for row in rows for value in row.values()), name
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in (folder / f"{name}.svg").read_text()
        assert re.search(rf"^{name}: (holds|DOES NOT HOLD): .+", told, re.MULTILINE), name
    assert (folder / "verdicts.txt").read_text() == told


@pytest.mark.long
def test_every_experiment_runs(tmp_path: Path) -> None:
    names = [name for name in experiments() if name not in SLOW]
    done = run(*names, "--scale", SCALE, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    check_written(tmp_path, names, done.stdout)


def test_frames_of_captures_take_the_place_of_made_ones(tmp_path: Path) -> None:
    """What the experiment finds is another thing then: the demo has its own addresses."""
    names = ["union_memory", "sliding_count"]
    captures = ["--capture", CAPTURE, "--capture", CAPTURE]
    done = run(*names, "--scale", SCALE, "--out", tmp_path, *captures)
    assert done.returncode == 0, done.stderr
    check_written(tmp_path, names, done.stdout)
    with (tmp_path / "union_memory.csv").open(newline="") as file:
        groups = {row["rows_held"] for row in csv.DictReader(file) if row["form"] == "OOP"}
    made = run("union_memory", "--scale", SCALE, "--out", tmp_path / "made")
    assert made.returncode == 0, made.stderr
    with (tmp_path / "made" / "union_memory.csv").open(newline="") as file:
        assert groups != {r["rows_held"] for r in csv.DictReader(file) if r["form"] == "OOP"}


def test_an_experiment_that_needs_made_packets_says_so(tmp_path: Path) -> None:
    done = run("band_join", "--capture", CAPTURE, "--out", tmp_path)
    assert done.returncode == 2
    assert "only of packets that are made: band_join" in done.stderr


@pytest.mark.parametrize("text", [b"", b"no capture"])
def test_a_capture_without_packets_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "bad.pcap").write_bytes(text)
    done = run("union_memory", "--capture", tmp_path / "bad.pcap", "--out", tmp_path)
    assert done.returncode == 1
    assert "no Ethernet packets" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_slow_one_runs(name: str, tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    done = run(name, "--scale", SCALE, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    check_written(tmp_path, [name], done.stdout)


def test_the_list_has_each_file_and_its_source() -> None:
    lines = run("--list").stdout.splitlines()
    assert sorted(line.split()[0] for line in lines) == experiments()
    assert all("VLDB" in line or "ICDE" in line for line in lines)


def test_the_page_shows_each_picture() -> None:
    """Each has a section in docs/papers.md, and the picture that is committed."""
    page = (ROOT / "docs" / "papers.md").read_text()
    for name in experiments():
        assert f"(papers/{name}.svg)" in page
        assert "</svg>" in (ROOT / "docs" / "papers" / f"{name}.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["nonsense"], "no such experiment: nonsense"), (["--scale", "2"], "a scale is above 0")],
)
def test_what_cannot_be_is_refused(arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert says in done.stderr

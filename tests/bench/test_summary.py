# SPDX-License-Identifier: Apache-2.0
"""The page of a benchmark's verdicts, and its pictures, from figures that are given."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from captures import ROOT

SUMMARY = ROOT / "bench" / "summary.py"
SVG = "{http://www.w3.org/2000/svg}"
MOST_BYTES = 30_000
RATE = {"question": "low", "capture": "real", "unit": "Mpacket/s"}
RATIO = {"question": "low", "capture": "real", "what": "us / loop", "unit": "times"}
JUDGED = {**RATIO, "floor": 0.6, "target": 0.8, "goal": 0.9, "ours": "us", "against": "loop"}


def drawn(folder: Path, *figures: dict[str, object]) -> subprocess.CompletedProcess[str]:
    """What the program says of these figures."""
    lines = [json.dumps({"note": "", **figure}) for figure in figures]
    (folder / "figures.jsonl").write_text("\n".join(lines))
    command = [sys.executable, SUMMARY, folder / "figures.jsonl", "--out", folder / "out"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def page(folder: Path) -> str:
    return (folder / "out" / "summary.md").read_text()


def row(folder: Path, what: str) -> list[str]:
    """The cells of the one row of the verdicts that has this figure."""
    (found,) = (line for line in page(folder).splitlines() if f"| {what} |" in line)
    return [cell.strip() for cell in found.split("|")[1:-1]]


@pytest.mark.parametrize(
    ("value", "floor", "target", "goal"),
    [
        (0.59, "**misses**", "**misses**", "**misses**"),
        (0.6, "holds", "**misses**", "**misses**"),
        (0.85, "holds", "holds", "**misses**"),
        (0.9, "holds", "holds", "holds"),
    ],
)
def test_each_bound_holds_or_misses(
    tmp_path: Path, value: float, floor: str, target: str, goal: str
) -> None:
    done = drawn(tmp_path, {**JUDGED, "value": value})
    assert done.returncode == 0, done.stderr  # a miss is no failure
    assert row(tmp_path, "us / loop")[6:9] == [
        f"≥ 0.6 {floor}",
        f"≥ 0.8 {target}",
        f"≥ 0.9 {goal}",
    ]


def test_less_is_better_where_the_figure_says_so(tmp_path: Path) -> None:
    times = {**RATIO, "floor": 6, "goal": 3, "value": 4.0, "higher_is_better": False}
    assert drawn(tmp_path, times).returncode == 0
    assert row(tmp_path, "us / loop")[6:9] == ["≤ 6 holds", "", "≤ 3 **misses**"]
    assert "floors 1 of 1, targets 0 of 0, goals 0 of 1" in page(tmp_path)


def test_rounds_that_differ_in_the_verdict_are_said_to(tmp_path: Path) -> None:
    steady = {**JUDGED, "what": "steady", "value": 0.7, "least": 0.65, "greatest": 0.75}
    unsteady = {**JUDGED, "what": "unsteady", "value": 0.7, "least": 0.55, "greatest": 0.75}
    assert drawn(tmp_path, steady, unsteady).returncode == 0
    assert row(tmp_path, "steady")[9] == ""
    assert row(tmp_path, "unsteady")[5] == "0.55 to 0.75"
    assert row(tmp_path, "unsteady")[9] == "rounds differ in the verdict"


def test_a_single_round_is_said_to_be_one(tmp_path: Path) -> None:
    assert drawn(tmp_path, {**JUDGED, "value": 0.7, "note": "(direct)"}).returncode == 0
    assert row(tmp_path, "us / loop")[9] == "(direct); one round only"


def test_what_was_not_measured_is_named(tmp_path: Path) -> None:
    absent = {**RATE, "what": "zeek", "value": None, "note": "not installed"}
    assert drawn(tmp_path, absent).returncode == 0
    assert "- low, real: zeek: not installed" in page(tmp_path)


@pytest.mark.parametrize("value", [0.0, None])
def test_a_wrong_answer_fails_the_run(tmp_path: Path, value: float | None) -> None:
    answer = {**RATIO, "what": "rows agree", "floor": 1, "is_answer": True, "value": value}
    assert drawn(tmp_path, answer).returncode == 1
    assert "**Wrong answers: low.**" in page(tmp_path)


def test_a_picture_is_small_valid_and_shows_the_goal_on_our_rate(tmp_path: Path) -> None:
    """Of 50 Mpacket/s by the loop and a goal of 0.9, 45 are to be reached: nine tenths along."""
    ours = {**RATE, "what": "us", "value": 25.0}
    loop = {**RATE, "what": "loop", "value": 50.0}
    other = {**RATE, "what": "<tool> & co", "value": None, "note": "a < b"}
    assert drawn(tmp_path, ours, loop, other, {**JUDGED, "value": 0.5}).returncode == 0
    path = tmp_path / "out" / "low.svg"
    assert path.stat().st_size < MOST_BYTES
    root = ET.parse(path).getroot()
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "<tool> & co" in texts
    assert "not measured: a < b" in texts
    bars = [b for b in root.iter(f"{SVG}rect") if b.get("height") == "12"]
    widths = [float(bar.get("width", "")) for bar in bars]
    assert widths[0] == pytest.approx(widths[1] / 2, abs=0.1)
    lines = sorted(float(line.get("x1", "")) for line in root.iter(f"{SVG}line"))
    left = float(bars[0].get("x", ""))
    assert any(at == pytest.approx(left + 0.9 * widths[1], abs=0.1) for at in lines)
    assert len(lines) == 6  # floor, target and goal of the ratio, and of the rate


def test_of_times_the_line_is_at_the_time_that_is_allowed(tmp_path: Path) -> None:
    """The reader needs 40 ns and we may need 1.5 times that: the line is at 60 of 80."""
    times = {**RATE, "unit": "ns", "higher_is_better": False}
    ours, reader = {**times, "what": "us", "value": 80.0}, {**times, "what": "loop", "value": 40.0}
    ratio = {**JUDGED, "floor": 1.5, "target": None, "goal": None, "higher_is_better": False}
    assert drawn(tmp_path, ours, reader, {**ratio, "value": 2.0}).returncode == 0
    root = ET.parse(tmp_path / "out" / "low.svg").getroot()
    bars = [b for b in root.iter(f"{SVG}rect") if b.get("height") == "12"]
    left, width = (float(bars[0].get(name, "")) for name in ("x", "width"))
    lines = [float(line.get("x1", "")) for line in root.iter(f"{SVG}line")]
    assert any(at == pytest.approx(left + 0.75 * width, abs=0.1) for at in lines)


def test_a_ratio_is_of_the_figures_before_it(tmp_path: Path) -> None:
    """We ran beside two tools: the bound that the first sets is drawn on the first run of ours."""
    first = [{**RATE, "what": "us", "value": 10.0}, {**RATE, "what": "loop", "value": 20.0}]
    second = [{**RATE, "what": "us", "value": 30.0}, {**RATE, "what": "tool", "value": 5.0}]
    ratio = {**RATIO, "floor": 1, "value": 0.5, "ours": "us", "against": "loop"}
    free = {**RATIO, "what": "us / tool", "value": 6.0, "ours": "us", "against": "tool"}
    assert drawn(tmp_path, *first, ratio, *second, free).returncode == 0
    root = ET.parse(tmp_path / "out" / "low.svg").getroot()
    assert len(list(root.iter(f"{SVG}line"))) == 2


def test_a_picture_of_nothing_is_valid(tmp_path: Path) -> None:
    assert drawn(tmp_path, {**RATE, "what": "us", "value": 0.0}).returncode == 0
    ET.parse(tmp_path / "out" / "low.svg")


@pytest.mark.parametrize("text", ["no JSON", '{"question": "low", "strange": 1}', '{"a": 1}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "figures.jsonl").write_text(text)
    command = [sys.executable, SUMMARY, tmp_path / "figures.jsonl", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("summary: ")
    assert "Traceback" not in done.stderr

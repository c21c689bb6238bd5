# SPDX-License-Identifier: Apache-2.0
"""The benchmark's program, over captures so small that it measures nothing; no time is asserted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE, ROOT

BENCH = ROOT / "bench"
PACKETS = "2000"
CLOCK = """
import time

def run(query, paths, settings):
    processor, wall = time.process_time(), time.perf_counter()
    time.process_time, time.perf_counter = lambda: processor + {seconds}, lambda: wall + 1e9
    {body}
    return iter(())
"""


def bench(
    folder: Path, *arguments: str, python: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it over a corpus of its own; figures go to FOLDER/figures.jsonl."""
    corpus = folder / "pcaps" / "good"
    corpus.mkdir(parents=True, exist_ok=True)
    shutil.copy(DEMO_CAPTURE, corpus)
    places = ["--folder", folder / "captures", "--out", folder / "out"]
    size = ["--packets", PACKETS, "--runs", "1", "--json", folder / "figures.jsonl"]
    environment = {**os.environ, "GIGASTREAM_PCAPS": str(corpus.parent)}
    environment |= {"PYTHONPATH": str(python)} if python else {}
    command = [sys.executable, BENCH / "run.py", *arguments, *size, *places]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def figures(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "figures.jsonl").read_text().splitlines()]


def fake_tree(folder: Path, seconds: float, body: str = "pass") -> Path:
    """A package that is called like ours, whose every run takes so long, by its own clock."""
    package = folder / "gigastream"
    package.mkdir(parents=True)
    (package / "settings.py").write_text("class Settings:\n    pass\n")
    text = CLOCK.format(seconds=seconds, body=body)
    (package / "__init__.py").write_text(text)
    return folder


def compared(
    tmp_path: Path, before: Path, clock: str = "processor_seconds"
) -> list[dict[str, Any]]:
    """The pairs of one question that runs ours once: a tree of a thousand seconds, and another."""
    now = fake_tree(tmp_path / "now", 1000.0)
    program = f"""
import json, sys
from dataclasses import asdict
from pathlib import Path
sys.path.insert(0, {str(BENCH)!r})
import against
from measure import ours
from workloads import Capture
against.REPOSITORY = Path({str(now)!r})
folder = Path({str(tmp_path)!r})
places = {{"tree": Path({str(before)!r}), "caches": folder / "caches"}}
bench = against.BothTrees(None, 2, 9.0, clock={clock!r}, **places)
capture = Capture("tiny", folder / "tiny.pcap", 10)
turns = bench.in_turn({{"whole path": ours("whole_path", capture, "Q"), "loop": lambda: 1.0}})
assert turns.failures["loop"] == "not of this comparison"
print(json.dumps([asdict(pair) for pair in bench.pairs]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("clock", "ratio"), [("processor_seconds", 2.0), ("seconds", 1.0)])
def test_ours_of_two_trees_is_compared(tmp_path: Path, clock: str, ratio: float) -> None:
    """By the wall every run takes as long."""
    (pair,) = compared(tmp_path, fake_tree(tmp_path / "before", 2000.0), clock)
    assert pair["what"] == "whole path: now / before"
    assert pair["value"] == pytest.approx(ratio, rel=0.01)
    assert pair["least"] == pytest.approx(ratio, rel=0.01)


def test_what_the_other_tree_cannot_do_is_said(tmp_path: Path) -> None:
    (pair,) = compared(tmp_path, fake_tree(tmp_path / "before", 1.0, "raise OSError('no such')"))
    assert pair["value"] is None
    assert pair["note"] == "OSError: no such"


@pytest.mark.long
def test_a_commit_is_built_and_compared(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not in a repository")
    done = bench(tmp_path, "selection", "limit", "--against", "HEAD")
    assert done.returncode == 0, done.stderr
    found = figures(tmp_path)
    names = {(figure["capture"], figure["what"]) for figure in found}
    whole = "whole path: now / before"
    assert names == {("uniform-260k", whole), ("mixed-260k", whole)}
    assert all(figure["value"] > 0 for figure in found)


def test_a_commit_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = bench(tmp_path, "selection", "--against", "no-such-commit")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("bench: fatal: ")


def test_answers_that_agree_end_it_with_0(tmp_path: Path) -> None:
    done = bench(tmp_path, "agreement")
    assert done.returncode == 0, done.stdout + done.stderr
    found = figures(tmp_path)
    assert {figure["capture"] for figure in found} == {"tenth-26k", "short-real"}
    assert {f["value"] for f in found if "engine" in f["what"]} == {1.0}
    assert "![agreement](agreement.svg)" in (tmp_path / "out" / "summary.md").read_text()


def test_answers_that_differ_end_it_with_1(tmp_path: Path) -> None:
    """An engine that finds no row is quick, and wrong."""
    done = bench(tmp_path, "agreement", python=fake_tree(tmp_path / "fake", 1.0))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Wrong answers: agreement" in (tmp_path / "out" / "summary.md").read_text()


def test_a_question_that_finds_no_time_is_named(tmp_path: Path) -> None:
    done = bench(tmp_path, "limit", "memory", "--minutes", "-1")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "summary.md").read_text()
    assert "- limit: not asked, for want of time\n- memory: not asked" in page


def test_tools_that_are_not_there_are_named() -> None:
    program = f"""
import sys
sys.path.insert(0, {str(BENCH)!r})
from context import Bench
from questions import against_peers
import peers
peers.shutil.which = lambda name: None
against_peers.PEERS = [peer for peer in peers.PEERS if peer.words]
for figure in against_peers.ask(Bench(None, 1, 9.0)):
    print(figure.what, figure.value, figure.note)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    tools = ("tcpdump", "nfpcapd", "softflowd", "argus", "pmacctd", "ndpiReader", "zeek")
    expected = {f"{name} None not installed" for name in (*tools, "suricata", "tshark")}
    assert set(done.stdout.splitlines()) == expected


@pytest.mark.slow
@pytest.mark.privileged
def test_a_live_link_is_measured(tmp_path: Path) -> None:
    done = bench(tmp_path, "live")
    assert done.returncode == 0, done.stderr
    ratios = {(f["capture"], f["what"]): f for f in figures(tmp_path) if f["unit"] == "times"}
    assert len(ratios) == 3
    assert all(figure["value"] > 0 for figure in ratios.values()), ratios


def test_several_cores_are_for_the_wall() -> None:
    """Two cores need no less of the processors' time: what `jobs` gain only the wall shows."""
    program = f"""
import sys
sys.path.insert(0, {str(BENCH)!r})
import context
from measure import OurRun, ours
from workloads import Capture
capture, clocks = Capture("tiny", None, 1), []
OurRun.__call__ = lambda run: clocks.append(run.clock) or 1.0
bench = context.Bench(None, 1, 9.0, clock="processor_seconds")
bench.in_turn({{"one": ours("whole_path", capture, "Q")}})
bench.in_turn({{"-j 1": ours("f", capture, "Q", jobs=1), "-j 2": ours("f", capture, "Q", jobs=2)}})
print(*clocks)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["processor_seconds"] * 2 + ["seconds"] * 4


def test_two_processes_read_a_capture_each() -> None:
    program = f"""
import sys
sys.path.insert(0, {str(BENCH)!r})
from measure import RunError, run_ours
from workloads import Capture
demo = Capture("demo", {str(ROOT / "demo" / "demo.pcap")!r}, 1)
assert run_ours("two_processes", demo, "SELECT count(*) AS n FROM PKT GROUP BY time")["seconds"] > 0
missing = Capture("missing", "/nowhere/missing.pcap", 1)
try:
    run_ours("two_processes", missing, "SELECT count(*) AS n FROM PKT GROUP BY time")
except RunError as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "ChildProcessError: one of two processes failed\n"


SAMPLES = {
    "steady": ([[10, 10.1, 10, 10], [5, 5, 5.1, 5]], 5, 2, "math.inf", 2),
    "unsteady": ([[10, 12, 10, 10, 10], [5, 5, 5, 5, 5]], 5, 2, "math.inf", 5),
    "all are wanted": ([[10] * 5, [5] * 5], 5, 0, "math.inf", 5),
    "late": ([[10, 12, 10, 10], [5, 5, 5, 5]], 5, 2, "0.0", 1),
}


@pytest.mark.parametrize("case", SAMPLES.values(), ids=SAMPLES.keys())
def test_rounds_end_when_they_say_enough(case: tuple[Any, ...]) -> None:
    given, runs, least, until, counted = case
    program = f"""
import math, sys
sys.path.insert(0, {str(BENCH)!r})
from context import Bench
order = []
def contender(name, samples):
    samples = iter([99, *samples])
    def run():
        order.append(name)
        return next(samples)
    return run
given = {given!r}
contenders = {{name: contender(name, given[n]) for n, name in enumerate("ab")}}
turns = Bench(None, {runs}, 9.0, {least}, {until}).in_turn(contenders)
print(len(turns.timings["a"].samples_ns), len(turns.timings["b"].samples_ns), "".join(order)[:4])
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(counted), str(counted), "abba"]

# SPDX-License-Identifier: Apache-2.0
"""--jobs on the command line: the same rows and account, and a word where one thread answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import gigastream

from tests.engine.long_capture import write_long_capture

DEMO = Path(__file__).parents[2] / "demo" / "demo.pcap"
PAIRS = "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/2 AS tb, srcIP"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_long_capture(tmp_path_factory.mktemp("long") / "long.pcap")


def test_rows_and_account_are_those_of_one(capture: Path) -> None:
    asked = ("run", "-e", PAIRS, "-r", capture, "-o", "csv", "--stats", "text")
    alone, shared = gigastream(*asked), gigastream(*asked, "-j", "3")
    assert alone.code == shared.code == 0, shared.err
    assert sorted(shared.out.splitlines()) == sorted(alone.out.splitlines())
    assert shared.err.splitlines()[:2] == alone.err.splitlines()[:2]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (PAIRS, "so small a capture"),
        ("SELECT tb, count(*) AS n FROM IPV4 GROUP BY time AS tb", "so small a capture"),
    ],
)
def test_one_thread_says_why(query: str, why: str) -> None:
    done = gigastream("run", "-e", query, "-r", DEMO, "-o", "csv", "-j", "2")
    assert done.code == 0
    assert f"--jobs 2: one thread answers, since {why}" in done.err


def test_groups_without_an_address(capture: Path) -> None:
    query = "SELECT tb, count(*) AS n FROM IPV4 GROUP BY time AS tb"
    done = gigastream("run", "-e", query, "-r", capture, "-o", "csv", "--jobs", "2")
    assert "no address in common" in done.err
    assert done.code == 0


@pytest.mark.parametrize("wrong", ["0", "65", "two"])
def test_so_many_threads_there_are_not(wrong: str) -> None:
    done = gigastream("run", "-e", PAIRS, "-r", DEMO, "-j", wrong)
    assert done.code == 2
    assert "--jobs" in done.err

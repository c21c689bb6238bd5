# SPDX-License-Identifier: Apache-2.0
"""--jobs on the command line: the same rows and account, and a word where one thread answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import gigastream

DEMO = Path(__file__).parents[2] / "demo" / "demo.pcap"
HOSTS = "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/2 AS tb, srcIP"
PACKETS = "SELECT time, srcIP FROM IPV4"


def test_rows_and_account_are_those_of_one(tmp_path: Path) -> None:
    """Of several extents: the demo's packets thirty times over."""
    data, path = DEMO.read_bytes(), tmp_path / "long.pcap"
    path.write_bytes(data + 30 * data[24:])
    asked = ("run", "-e", HOSTS, "-r", path, "-o", "csv", "--stats", "text")
    alone, divided = gigastream(*asked), gigastream(*asked, "-j", "3")
    assert alone.code == divided.code == 0, divided.err
    assert sorted(divided.out.splitlines()) == sorted(alone.out.splitlines())
    assert divided.err.splitlines()[:2] == alone.err.splitlines()[:2]


@pytest.mark.parametrize(
    ("query", "options", "why"),
    [
        (PACKETS, (), "has rows in their order"),
        (HOSTS, ("--count", "9"), "--count"),
        (HOSTS, ("--windows", "2"), "--trace and --windows follow what one does"),
        (HOSTS, ("--stats", "stages"), "--stats stages measures what one does"),
        (HOSTS, ("-r", DEMO), "several sources"),
        (HOSTS, ("--timestamps", "internal"), "the time at which they are read"),
    ],
)
def test_one_thread_says_why(query: str, options: tuple[object, ...], why: str) -> None:
    asked = ("run", "-e", query, "-r", DEMO, "-o", "csv", *map(str, options))
    done = gigastream(*asked, "-j", "2")
    assert done.code == 0, done.err
    assert "--jobs 2: one thread answers, since " in done.err
    assert why in done.err
    assert "--jobs" not in gigastream(*asked, "-j", "2", "-q").err
    assert "--jobs" not in gigastream(*asked).err


@pytest.mark.parametrize("wrong", ["0", "65", "two"])
def test_so_many_threads_there_are_not(wrong: str) -> None:
    done = gigastream("run", "-e", HOSTS, "-r", DEMO, "-j", wrong)
    assert done.code == 2
    assert "--jobs" in done.err


def test_a_link_has_rings_for_that() -> None:
    done = gigastream("run", "-e", HOSTS, "-i", "lo", "--jobs", "2")
    assert done.code == 2
    assert "--jobs divides a capture file, and a link is read" in done.err
    assert "--fanout N" in done.err


def test_a_spool_has_no_packets_to_divide(tmp_path: Path) -> None:
    done = gigastream("run", "--spool", tmp_path, "--jobs", "2")
    assert done.code == 2
    assert "--jobs says how packets are read" in done.err

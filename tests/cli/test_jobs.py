# SPDX-License-Identifier: Apache-2.0
"""--jobs on the command line: the same rows and account, and a word where one thread answers."""

from __future__ import annotations

import argparse
import os
import resource
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli.command import gigastream

from gigastream.cli.jobs import FILE_BYTES, LARGE_BYTES, MEMORY_EACH_BYTES, MOST_BY_DEFAULT, jobs_of
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.engine import plan_of

DEMO = Path(__file__).parents[2] / "demo" / "demo.pcap"
HOSTS = "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/2 AS tb, srcIP"
GREATEST = f"{HOSTS} ORDER BY count(*) DESC LIMIT 3"
ONE_EACH = "SELECT tb, count(*) AS n FROM IPV4 GROUP BY time/2 AS tb"
HIDDEN = "SELECT srcIP, count(*) AS n FROM IPV4 GROUP BY time/2 AS tb, srcIP"
MOST = (
    f"DEFINE {{ query_name a; visibility internal; }} {HOSTS}; DEFINE {{ query_name b; }} "
    "SELECT tb, max(n) AS n FROM a GROUP BY tb"
)
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
    assert divided.err.rstrip().endswith(" by 3 threads, each with part of the groups")
    assert "threads" not in alone.err


def test_who_has_no_parts_is_told(tmp_path: Path) -> None:
    done = gigastream("run", "-e", HIDDEN, "-r", DEMO, "-o", "csv", "-j", "2")
    assert done.err.rstrip().endswith(" by 2 threads and one high level")


@pytest.mark.parametrize("query", [GREATEST, MOST])
def test_what_needs_all_groups_is_above_the_parts(query: str) -> None:
    """The rows, in their order, and the account of every operator are those of one."""
    asked = ("run", "-e", query, "-r", DEMO, "-o", "csv", "--stats", "text")
    alone, divided = gigastream(*asked), gigastream(*asked, "-j", "2")
    assert divided.out == alone.out
    lines, told = alone.err.splitlines(), divided.err.splitlines()
    assert told[-1].endswith(" by 2 threads, each with part of the groups")
    assert _operators(told) == _operators(lines)
    assert len(_operators(lines)) == 2


def _operators(lines: list[str]) -> list[str]:
    """Those of the high level."""
    return [line for line in lines if " rows in, " in line]


def _by_default(
    query: str,
    path: Path,
    settings: Settings | None = None,
    *,
    others: Sequence[Path] = (),
    has_functions: bool = False,
) -> int:
    arguments = argparse.Namespace(jobs=None, quiet=False, stats=None, trace=None, windows=None)
    sources = [FileSource("default", str(each)) for each in (path, *others)]
    return jobs_of(
        arguments, plan_of(query), sources, settings or Settings(),
        is_elsewhere=False, has_functions=has_functions,
    )  # fmt: skip


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """As long as is divided by default: nobody reads it."""
    path = tmp_path / "large.pcap"
    path.write_bytes(DEMO.read_bytes())
    os.truncate(path, LARGE_BYTES)
    return path


@pytest.mark.parametrize("cores", [1, 2, MOST_BY_DEFAULT + 3])
def test_a_large_capture_has_all_cores(
    cores: int, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    for query in (HOSTS, GREATEST, ONE_EACH):
        assert _by_default(query, large) == min(cores, MOST_BY_DEFAULT)


def test_one_thread_where_more_may_not_pay(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert _by_default(HOSTS, DEMO) == 1
    assert _by_default(MOST, large) == 1
    assert _by_default(HIDDEN, large) == 1
    assert _by_default(PACKETS, large) == 1
    assert _by_default(HOSTS, large, Settings(packets_max=9)) == 1
    assert _by_default(HOSTS, large, Settings(memory_bytes=2 * MEMORY_EACH_BYTES)) == 2
    assert _by_default(HOSTS, large, Settings(memory_bytes=2 * MEMORY_EACH_BYTES - 1)) == 1
    assert _by_default(HOSTS, large, has_functions=True) == 1
    many = LARGE_BYTES // FILE_BYTES
    assert _by_default(HOSTS, large, others=[DEMO] * (many - 1)) == 2
    assert _by_default(HOSTS, large, others=[DEMO] * 2 * many) == 1
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 30))
    assert _by_default(HOSTS, large) == 1
    monkeypatch.undo()
    os.truncate(large, LARGE_BYTES - 1)
    assert _by_default(HOSTS, large) == 1


@pytest.mark.parametrize(
    ("query", "options", "why"),
    [
        (PACKETS, (), "has rows in their order"),
        (HOSTS, ("--count", "9"), "--count"),
        (HOSTS, ("--windows", "2"), "--trace and --windows follow what one does"),
        (HOSTS, ("--stats", "stages"), "--stats stages measures what one does"),
        (HOSTS, ("-r", f"west={DEMO}"), "several interfaces"),
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

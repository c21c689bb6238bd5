# SPDX-License-Identifier: Apache-2.0
"""The aggregates that are sketches, on every path, beside plain Python.

Groups are so small that the answers are exact: fewer values than a level holds, or counters are.
"""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

import gigastream
from gigastream.settings import Settings
from tests.answers.engine import plan_of, run, source
from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream as command

QUERY = """SELECT tb, protocol, count(*) AS packets, approx_count_distinct(srcIP) AS hosts,
    approx_count_distinct(len) AS sizes, median_of(len) AS middle, quantile_of(len, 0.9) AS large,
    heavy_hitters(srcIP, 4) AS busy, heavy_hitters(UINT(ttl), 3) AS hops
FROM IPV4 GROUP BY time/10 AS tb, protocol"""
Row = tuple[str, ...]
Packet = tuple[int, int, str, int, int]


@pytest.fixture(scope="module")
def packets() -> list[Packet]:
    query = "SELECT time, protocol, srcIP, len, ttl FROM IPV4"
    batches = gigastream.run(query, DEMO_CAPTURE)
    dotted = ".".join
    return [
        (row["time"], row["protocol"], dotted(map(str, row["srcIP"].to_bytes(4, "big"))),
         row["len"], row["ttl"])
        for batch in batches
        for row in batch.to_pylist()
    ]  # fmt: skip


def _expected(packets: Iterable[Packet], begins: Sequence[int] | None = None) -> list[Row]:
    """The rows of the groups; of windows of 20 s where their begins are given."""
    groups: dict[tuple[int, int], list[Packet]] = defaultdict(list)
    for packet in packets:
        for window in [packet[0] // 10] if begins is None else _windows(packet[0], begins):
            groups[window, packet[1]].append(packet)
    return sorted(_row(*key, found) for key, found in groups.items())


def _windows(time: int, begins: Sequence[int]) -> Iterator[int]:
    yield from (begin for begin in begins if begin <= time < begin + 20)


def _row(window: int, protocol: int, found: Sequence[Packet]) -> Row:
    assert len(found) <= 280
    sizes = sorted(packet[3] for packet in found)
    return (
        *(str(window), str(protocol), str(len(found))),
        *(str(len({packet[at] for packet in found})) for at in (2, 3)),
        *(str(sizes[math.ceil(rank * len(sizes)) - 1]) for rank in (0.5, 0.9)),
        _hitters(Counter(packet[2] for packet in found), 4, lambda host: host),
        _hitters(Counter(packet[4] for packet in found), 3, str),
    )


def _hitters(counts: Counter[object], k: int, text: object) -> str:
    del text
    total = counts.total()
    found = [(item, count) for item, count in counts.items() if count > total // k]
    found.sort(key=lambda each: (-each[1], _order(each[0])))
    return ", ".join(f"{item}={count}" for item, count in found[:k])


def _order(item: object) -> tuple[int, ...]:
    return tuple(map(int, str(item).split(".")))


def _given(lines: Iterable[str]) -> list[Row]:
    rows = list(csv.reader(lines))[1:]
    return sorted(tuple(cell.removesuffix(".0") for cell in row) for row in rows)


@pytest.mark.parametrize("words", [(), ("--slots", "1"), ("--burst", "1", "--flush", "lazy")])
def test_a_file(words: tuple[str, ...], packets: list[Packet]) -> None:
    done = command("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv", *words)
    assert done.code == 0, done.err
    assert _given(done.lines) == _expected(packets)


def test_several_threads_are_one_here(packets: list[Packet]) -> None:
    """The states of sketches are fed in the order of packets."""
    done = command("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv", "-j", "3")
    assert done.code == 0, done.err
    assert "--jobs 3: one thread answers, since " in done.err
    assert "has an aggregate in C" in done.err
    assert _given(done.lines) == _expected(packets)


def test_packets_that_are_decoded_ahead(packets: list[Packet]) -> None:
    found = run(plan_of(QUERY), [source(DEMO_CAPTURE)], Settings(fast_path=False)).rows["query"]
    rows = [tuple((cell or "").removesuffix(".0") for cell in row) for row in found]
    assert sorted(rows) == _expected(packets)


def test_a_spool_and_back(packets: list[Packet], tmp_path: Path) -> None:
    words = ("--slots", "4", "--segment-rows", "50", "-o", f"spool:{tmp_path / 'spool'}")
    done = command("run", "-e", QUERY, "-r", DEMO_CAPTURE, *words)
    assert done.code == 0, done.err
    done = command("run", "--spool", tmp_path / "spool", "-o", "csv")
    assert done.code == 0, done.err
    assert _given(done.lines) == _expected(packets)


def test_windows_that_overlap(packets: list[Packet]) -> None:
    query = QUERY.replace("SELECT tb,", "SELECT window_start,")
    query = query.replace("FROM IPV4", "FROM IPV4 [RANGE 20 sec, SLIDE 10 sec, WA time]")
    query = query.replace("time/10 AS tb, ", "")
    done = command("run", "-e", query, "-r", DEMO_CAPTURE, "-o", "csv")
    assert done.code == 0, done.err
    first, last = packets[0][0] // 10 * 10, packets[-1][0]
    assert _given(done.lines) == _expected(packets, range(first - 10, last + 1, 10))


def test_over_rows_of_a_query(packets: list[Packet]) -> None:
    """Nothing is below the border: the sketch itself takes the values."""
    below = "DEFINE { query_name below; visibility internal; } "
    below += "SELECT time, protocol, srcIP, len, ttl FROM IPV4;\n"
    query = below + "DEFINE { query_name above; } " + QUERY.replace("FROM IPV4", "FROM below")
    done = command("run", "-e", query, "-r", DEMO_CAPTURE, "-o", "csv")
    assert done.code == 0, done.err
    assert _given(done.lines) == _expected(packets)


@pytest.mark.long
def test_on_spark(packets: list[Packet], tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    words = ("--slots", "8", "-o", "csv", "--on", "spark")
    done = command("run", "-e", QUERY, "-r", DEMO_CAPTURE, *words)
    assert done.code == 0, done.err
    assert _given(done.lines) == _expected(packets)

# SPDX-License-Identifier: Apache-2.0
"""The queries that ship, by name: over the demo's capture each gives what the oracle says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE
from cli.command import Result, gigastream

from tests.answers.shipped import CASES, FOLDER
from tests.oracle.packet import Packet
from tests.oracle.query import (
    aggregate,
    count,
    decode,
    max_of,
    min_of,
    packets,
    sum_of,
)
from tests.oracle.rows import assert_same_rows
from tests.oracle.values import Timestamp

MINUTE = 60 * 10**9
SECOND = 10**9
DEMO = ("-r", str(DEMO_CAPTURE))
NAMES = sorted(path.stem for path in FOLDER.glob("*.gsql"))
Row = tuple[Any, ...]


@cache
def demo(protocol: str) -> tuple[Packet, ...]:
    return tuple(packets(protocol, decode(DEMO_CAPTURE)))


def bucket(packet: Packet, size: int = MINUTE) -> Timestamp:
    return Timestamp(packet["timestamp"] // size * size)


def length(packet: Packet) -> int:
    return int(packet["len"])


def first_of_each_minute(rows: Iterable[Row], order: Callable[[Row], Any], limit: int) -> list[Row]:
    minutes = defaultdict(list)
    for row in rows:
        minutes[row[0]].append(row)
    return [row for window in minutes.values() for row in sorted(window, key=order)[:limit]]


def talkers() -> list[Row]:
    rows = aggregate(
        demo("IP"),
        key=lambda p: (bucket(p), p["srcIP"], p["destIP"]),
        aggs={"packets": count(), "bytes": sum_of(length)},
    )
    return first_of_each_minute(rows, lambda r: (-r[4], -r[3], r[1], r[2]), 10)


def load() -> list[Row]:
    seconds: dict[int, Counter[int]] = defaultdict(Counter)
    number: Counter[int] = Counter()
    for packet in demo("PKT"):
        seconds[bucket(packet)][bucket(packet, SECOND)] += packet["len"]
        number[bucket(packet)] += 1
    rows = []
    for minute, lengths in seconds.items():
        total = sum(lengths.values())
        mean, peak = total * 8 // len(lengths), max(lengths.values()) * 8
        rows.append((Timestamp(minute), "default", number[minute], total, mean, peak))
    return rows


def dns() -> list[Row]:
    found: dict[Row, Counter[str]] = defaultdict(Counter)
    for packet in demo("UDP"):
        asks = packet["destPort"] == 53
        if not asks and packet["srcPort"] != 53:
            continue
        ends = [packet["srcIP"], packet["destIP"]]
        counts = found[(bucket(packet), *(ends if asks else ends[::-1]))]
        counts["questions"] += asks
        if packet["srcPort"] == 53:
            code = packet["UDP_data"][3] % 16
            counts.update(answers=1, no_such_name=int(code == 3), failed=int(code == 2))
    names = ("questions", "answers", "no_such_name", "failed")
    return [(*key, *(counts[name] for name in names)) for key, counts in found.items()]


def scanners(at_least: int = 10) -> list[Row]:
    tried: dict[Row, Counter[Row]] = defaultdict(Counter)
    for packet in demo("TCP"):
        if packet["syn"] and not packet["ack"]:
            target = packet["destIP"], packet["destPort"]
            tried[bucket(packet), packet["srcIP"]][target] += 1
    return [
        (*key, len(targets), targets.total())
        for key, targets in tried.items()
        if len(targets) >= at_least
    ]


def flows() -> list[Row]:
    rows = aggregate(
        demo("DataProtocol"),
        key=lambda p: (
            *(bucket(p), p["protocol"], p["srcIP"], p["srcPort"], p["destIP"], p["destPort"]),
            p["community_id"],
        ),
        aggs={
            "packets": count(),
            "bytes": sum_of(length),
            "first": min_of(lambda p: Timestamp(p["timestamp"])),
            "last": max_of(lambda p: Timestamp(p["timestamp"])),
        },
    )
    return [(*row[:6], *row[7:], row[6]) for row in rows]


def retransmissions() -> list[Row]:
    sent: dict[Row, Counter[int]] = defaultdict(Counter)
    for p in demo("TCP"):
        if p["data_length"] > 0:
            direction = bucket(p), p["srcIP"], p["srcPort"], p["destIP"], p["destPort"]
            sent[direction][p["sequence_number"]] += 1
    rows = [(*key, seen.total(), seen.total() - len(seen)) for key, seen in sent.items()]
    repeated = [row for row in rows if row[-1] > 0]
    return first_of_each_minute(repeated, lambda row: (-row[-1], -row[-2]), 10)


def vlans() -> list[Row]:
    return aggregate(
        demo("ETH"),
        key=lambda p: (bucket(p), p["vlan"], p["inner_vlan"]),
        aggs={"packets": count(), "bytes": sum_of(length), "largest": max_of(length)},
    )


EXPECTED: dict[str, Callable[[], list[Row]]] = {
    "dns": dns,
    "flows": flows,
    "load": load,
    "retransmissions": retransmissions,
    "scanners": scanners,
    "talkers": talkers,
    "vlans": vlans,
}


def demand_rows(result: Result, rows: list[Row]) -> None:
    assert result.code == 0, result.err
    assert_same_rows(rows, result.out.decode())


def test_every_query_has_its_oracle() -> None:
    combining = {case.name for case in CASES if case.path.parent == FOLDER}
    assert sorted({*EXPECTED, *combining}) == NAMES


@pytest.mark.parametrize("name", EXPECTED)
def test_a_query_by_name_gives_the_oracles_rows(name: str) -> None:
    demand_rows(gigastream("run", name, *DEMO, "-o", "csv"), EXPECTED[name]())


def test_a_parameter_changes_a_query() -> None:
    rows = scanners(at_least=1)
    assert rows
    result = gigastream("run", "scanners", *DEMO, "-o", "csv", "--param", "targets=1")
    demand_rows(result, rows)


def test_without_a_query_talkers_are_answered_and_it_is_said() -> None:
    result = gigastream("run", *DEMO, "-o", "csv")
    demand_rows(result, talkers())
    assert result.err.startswith("no query is named: talkers is answered")
    assert gigastream("run", *DEMO, "-q").err == ""


def test_words_behind_a_name_are_a_filter() -> None:
    result = gigastream("run", "flows", "vlans", *DEMO, "tcp", "port", "80")
    assert result.code == 0
    assert b'"query":"flows"' in result.out
    assert b'"query":"vlans"' in result.out
    assert b'"protocol":17' not in result.out
    assert "filtered" in result.err


def test_a_file_of_that_name_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "talkers.gsql").write_text("SELECT time FROM PKT WHERE len > 1500")
    by_name = gigastream("run", "talkers", *DEMO, "-o", "csv", cwd=tmp_path)
    demand_rows(by_name, talkers())
    by_path = gigastream("run", "talkers.gsql", *DEMO, "-o", "csv", cwd=tmp_path)
    assert by_path.lines[0] == "time"


def test_a_file_without_its_ending_is_hinted_at(tmp_path: Path) -> None:
    (tmp_path / "mine.gsql").write_text("SELECT time FROM PKT")
    for words in (("run", "mine", *DEMO), ("check", "mine")):
        result = gigastream(*words, cwd=tmp_path)
        assert result.code == 2
        assert "hint: a query file is named whole: mine.gsql" in result.err


def test_queries_are_listed_with_what_they_answer_and_their_columns() -> None:
    lines = gigastream("queries").lines
    assert [line.split()[0] for line in lines[::2]] == NAMES
    assert all(len(line.split()) > 5 and line.endswith(".") for line in lines[::2])
    assert lines[1::2][NAMES.index("vlans")].split() == [
        *("minute", "vlan", "inner_vlan", "packets", "bytes", "largest"),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_query_is_shown_and_can_be_a_file(name: str, tmp_path: Path) -> None:
    text = gigastream("queries", "--show", name).out
    assert text == (FOLDER / f"{name}.gsql").read_bytes()
    (tmp_path / f"{name}.gsql").write_bytes(text)
    result = gigastream("check", tmp_path / f"{name}.gsql")
    assert (result.code, result.err) == (0, "")

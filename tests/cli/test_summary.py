# SPDX-License-Identifier: Apache-2.0
"""The account of a run over many captures: a line each while they are few, then their sum."""

from __future__ import annotations

from dataclasses import replace

from gigastream.cli.summary import FILES_SHOWN, source_lines
from gigastream.engine.statistics import SourceStatistics

ONE = SourceStatistics(
    label="0.pcap",
    interface="eth0",
    read=100,
    undecodable=0,
    filtered=0,
    late=0,
    skew=0,
    decoded=100,
    truncated=1,
    bytes=1000,
    total_bytes=1000,
    worst_lateness_ns=0,
    damage=None,
)


def many(count: int, **changed: object) -> list[SourceStatistics]:
    return [replace(ONE, label=f"{n}.pcap", **changed) for n in range(count)]


def test_few_have_a_line_each() -> None:
    lines = list(source_lines(many(FILES_SHOWN)))
    assert len(lines) == FILES_SHOWN
    assert lines[3] == "3.pcap (eth0): read 100 = decoded 100; 1 truncated"


def test_many_of_an_interface_are_summed() -> None:
    other = replace(ONE, label="x.pcap", interface="eth1")
    assert list(source_lines([*many(1_100), other])) == [
        "1,100 captures (eth0): read 110,000 = decoded 110,000; 1,100 truncated",
        "x.pcap (eth1): read 100 = decoded 100; 1 truncated",
    ]


def test_those_of_which_something_is_not_answered_are_named() -> None:
    late, cut = many(1, late=3, decoded=97)[0], replace(ONE, label="cut.pcap", damage="is cut")
    assert list(source_lines([*many(20), late, cut])) == [
        "22 captures (eth0): read 2,200 = late 3 + decoded 2,197; 22 truncated",
        "  of these 0.pcap (eth0): read 100 = late 3 + decoded 97; 1 truncated",
        "  of these cut.pcap (eth0): read 100 = decoded 100; 1 truncated",
    ]
    (first, *named, last) = source_lines(many(500, undecodable=60, decoded=40))
    assert first.startswith("500 captures (eth0): read 50,000 = undecodable 30,000 + decoded")
    assert len(named) == FILES_SHOWN
    assert last == "  and 490 more (--stats json)"
    assert len(list(source_lines(many(500, filtered=60, decoded=40)))) == 1, "as was asked"

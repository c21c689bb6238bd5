# SPDX-License-Identifier: Apache-2.0
"""The helpers that state expected answers, and the comparison of answers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.query import (
    aggregate,
    avg_of,
    count,
    count_distinct,
    decode,
    first_of,
    last_of,
    or_of,
    packets,
    select,
    sum_of,
)
from tests.oracle.rows import assert_same_rows, difference, parse_csv, to_csv
from tests.oracle.values import Inet, Ip, Timestamp
from tests.strategies import frames
from tests.strategies.captures import Traffic, generate, traffics
from tests.strategies.files import Packet, pcap

SECOND_NS = 1_000_000_000


def frame(source: int, payload: bytes = b"") -> bytes:
    return frames.ethernet(0x0800, frames.ipv4(source, 9, 6, frames.tcp(80, 81, payload)))


CAPTURE = pcap(
    [
        Packet(30 * SECOND_NS, frame(1)),
        Packet(61 * SECOND_NS, frame(1, b"abc")),
        Packet(59 * SECOND_NS, frame(2)),
        Packet(62 * SECOND_NS, frame(1, b"defgh")),
        Packet(63 * SECOND_NS, frames.ethernet(0x0806, bytes(28))),
    ]
)


def test_an_aggregation_prints_as_the_command_line_does() -> None:
    rows = aggregate(
        packets("IPV4", CAPTURE),
        key=lambda p: (p["time"] // 60, p["srcIP"]),
        aggs={
            "packets": count(),
            "bytes": sum_of(lambda p: p["len"]),
            "mean": avg_of(lambda p: p["len"]),
            "first": first_of(lambda p: p["timestamp"]),
        },
        having=lambda result: result["bytes"] > 54,
    )
    assert to_csv(["tb", "srcIP", "packets", "bytes", "mean", "first"], rows) == (
        "tb,srcIP,packets,bytes,mean,first\n1,0.0.0.1,2,116,58.0,1970-01-01T00:01:01.000000000Z\n"
    )


def test_several_sources_and_other_aggregates() -> None:
    rows = aggregate(
        packets("TCP", [CAPTURE, decode(CAPTURE)]),
        key=lambda p: (),
        aggs={
            "sources": count_distinct(lambda p: p["srcIP"]),
            "bits": or_of(lambda p: p["data_length"]),
            "last": last_of(lambda p: p["data_length"]),
        },
        where=lambda p: p["destPort"] == 81,
    )
    assert rows == [(2, 7, 5)]


def test_a_named_field_that_a_packet_lacks_makes_it_no_tuple() -> None:
    assert len(list(packets("PKT", CAPTURE))) == 5
    assert len(list(packets("ETH", CAPTURE, names=["mpls_label"]))) == 0
    assert select(packets("IPV4", CAPTURE), lambda p: (p["mpls_label"],)) == []
    with pytest.raises(KeyError):
        select(packets("IPV4", CAPTURE), lambda p: (p["srcPort"],))


def test_late_packets_are_counted_and_left_out() -> None:
    steps = [Packet(at * SECOND_NS, frame(1)) for at in (50, 51, 52, 53, 54, 10)]
    decoded = decode(pcap(steps), disorder_bytes=80)
    assert (decoded.accounting.late, decoded.accounting.decoded) == (1, 5)
    assert decode(pcap(steps), slack_ns=SECOND_NS).accounting.late == 1
    assert decode(pcap(steps), disorder_bytes=None).accounting.late == 0


@settings(max_examples=10)
@given(traffics)
def test_large_captures_are_counted_as_they_were_made(traffic: Traffic) -> None:
    made = generate(traffic)
    rows = aggregate(packets("IP", pcap(made)), lambda p: (p["time"] // 60,), {"n": count()})
    assert Counter(dict(rows)) == Counter(p.timestamp_ns // SECOND_NS // 60 for p in made)


cells = st.none() | st.text(st.characters(codec="ascii"), max_size=5) | st.integers()


@given(st.lists(st.tuples(cells, cells), max_size=5))
def test_csv_reads_back(rows: list[tuple[object, ...]]) -> None:
    text = to_csv(["a", "b"], rows)
    assert parse_csv(text)[0] == ["a", "b"]
    assert difference(rows, text) is None


def test_null_is_not_an_empty_string() -> None:
    assert to_csv(["a", "b"], [(None, "")]) == 'a,b\n,""\n'
    assert difference([(None, "")], 'a,b\n"",\n') is not None


def test_differences() -> None:
    rows = [(1, Ip(0x0A000001), 0.1 + 0.2), (1, Inet(bytes(16)), None)]
    assert_same_rows(rows, "a,b,c\n1,::,\n1,10.0.0.1,0.3\n")
    assert_same_rows([(Timestamp(1),)], "t\n1970-01-01T00:00:00.000000001Z\n")
    assert "1 rows wanted, 0 given" in difference(rows, "a,b,c\n1,::,\n")
    assert "0 rows wanted, 1 given" in difference([], "a\n5\n")
    assert difference(rows, "a,b,c\n1,::,\n1,10.0.0.1,0.30001\n") is not None
    assert difference([(1,)], "a\n1\n1\n") is not None

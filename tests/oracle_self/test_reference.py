# SPDX-License-Identifier: Apache-2.0
"""The reference on captures whose answers a person can work out."""

from __future__ import annotations

import pytest

from tests.answers.reference.queries import Answer, Source, answers
from tests.oracle.query import decode
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap

SECOND_NS = 10**9


def udp(second: float, source: int, destination: int = 53, *, later: bool = False) -> Packet:
    """A packet of UDP, or a later fragment of one, which has no ports."""
    payload = frames.udp(source, destination, b"")
    ip = frames.ipv4(1, 2, frames.UDP, payload, offset=9 if later else 0)
    return Packet(int(second * SECOND_NS), frames.ethernet(frames.ETHERTYPE_IPV4, ip))


def asked(query: str, **captures: list[Packet]) -> Answer:
    """What the last query of a set gives."""
    sources = [
        Source(decode(pcap(packets, magic=NANOSECONDS)), interface)
        for interface, packets in captures.items()
    ]
    return list(answers(query, sources).values())[-1]


def types(answer: Answer) -> list[str]:
    return [column.typed.type for column in answer.columns]


def moving(answer: Answer) -> list[str]:
    return [column.name for column in answer.columns if column.typed.is_temporal]


# Windows

FIVE = [udp(second, 7) for second in (0, 4, 5, 12, 29)]


def test_a_window_ends_at_every_slide_and_begins_a_range_before() -> None:
    query = (
        "SELECT window_start, window_end, count(*) AS n FROM UDP [RANGE 10 s, SLIDE 5 s, WA time]"
    )
    answer = asked(query, eth=FIVE)
    assert sorted(answer.rows) == [
        (-5, 5, 2),
        (0, 10, 3),
        (5, 15, 2),
        (10, 20, 1),
        (20, 30, 1),
        (25, 35, 1),
    ]
    assert types(answer) == ["llong", "llong", "ullong"]
    assert moving(answer) == ["window_start", "window_end"]


def test_what_stands_in_a_gap_is_in_no_window() -> None:
    query = "SELECT window_start, window_end, count(*) AS n FROM UDP [RANGE 2, SLIDE 5, WA time]"
    assert sorted(asked(query, eth=FIVE).rows) == [(3, 5, 1), (28, 30, 1)]


@pytest.mark.parametrize("wa", ["time", "time_ms", "timestamp"])
def test_a_window_is_the_same_over_any_clock(wa: str) -> None:
    unit = {"time": 1, "time_ms": 10**3, "timestamp": 10**9}[wa]
    query = f"SELECT window_end, count(*) AS n FROM UDP [RANGE 10 sec, SLIDE 10 sec, WA {wa}]"
    answer = asked(query, eth=FIVE)
    assert sorted(answer.rows) == [(10 * unit, 3), (20 * unit, 1), (30 * unit, 1)]
    assert types(answer)[0] == ("timestamp" if wa == "timestamp" else "llong")


@pytest.mark.parametrize(
    "body",
    [
        "count(*) AS n FROM UDP [RANGE 6 s, SLIDE 2 s, WA time]",
        "count(*) AS n [RANGE 6 s, SLIDE 2 s, WA time] FROM UDP",
        "count(*) AS n FROM UDP UNION ICMP AS u [SLIDE 2 s, RANGE 6 s, WA u.time]",
    ],
)
def test_the_bracket_has_three_places(body: str) -> None:
    rows = asked(f"SELECT window_end, {body}", eth=FIVE).rows
    assert len(rows) == 11
    assert sum(n for _, n in rows) == 3 * len(FIVE)


def test_rows_are_counted_before_where_among_the_tuples_of_a_source() -> None:
    """The fragment has no ports, so it is no tuple of a query that names one."""
    packets = [udp(1, 10), udp(2, 0, later=True), udp(3, 11), udp(4, 12), udp(5, 13), udp(6, 14)]
    query = (
        "SELECT window_start, window_end, min(srcPort) AS low, count(*) AS n FROM IP_OR_UDP"
        " [RANGE 3 ROWS, SLIDE 2 ROWS] WHERE srcPort <> 12"
    ).replace("IP_OR_UDP", "DataProtocol")
    assert sorted(asked(query, eth=packets).rows) == [
        (-1, 2, 10, 2),
        (1, 4, 11, 2),
        (3, 6, 13, 2),
    ]


def test_a_windows_groups_are_sorted_and_cut_by_window() -> None:
    packets = [udp(1, 7), udp(2, 8), udp(2, 8), udp(11, 7)]
    query = (
        "SELECT window_end, srcPort, count(*) AS n FROM UDP [RANGE 20 s, SLIDE 10 s, WA time]"
        " GROUP BY srcPort ORDER BY n DESC, srcPort LIMIT 1"
    )
    assert sorted(asked(query, eth=packets).rows) == [(10, 8, 2), (20, 7, 2), (30, 7, 1)]


# Joins

LEFT = [udp(1, 7), udp(2, 8), udp(3, 9)]
RIGHT = [udp(1, 7, 99), udp(2, 0, later=True), udp(4, 9, 98)]


def test_a_side_has_the_packets_with_the_fields_that_are_named_of_it() -> None:
    """Of IP are the right side's fragments, too: only the left side's port is named."""
    query = "SELECT a.time, a.srcPort FROM left.UDP a, right.IP b WHERE a.time = b.time"
    assert sorted(asked(query, left=LEFT, right=RIGHT).rows) == [(1, 7), (2, 8)]
    query = "SELECT a.time, b.destPort FROM left.UDP a, right.UDP b WHERE a.time = b.time"
    assert sorted(asked(query, left=LEFT, right=RIGHT).rows) == [(1, 99)]


def test_tigons_outer_join_fills_what_is_equated() -> None:
    query = (
        "SELECT a.time, b.time AS u, a.srcPort, b.destPort OUTER_JOIN FROM left.UDP a, right.UDP b"
        " WHERE a.time = b.time AND a.srcPort = b.srcPort"
    )
    answer = asked(query, left=LEFT, right=RIGHT)
    assert sorted(answer.rows, key=str) == [
        (1, 1, 7, 99),
        (2, 2, 8, None),
        (3, 3, 9, None),
        (4, 4, 9, 98),
    ]
    assert moving(answer) == ["time", "u"]


def test_a_join_behind_on_leaves_null() -> None:
    query = (
        "SELECT a.time, b.time AS u, b.destPort FROM left.UDP a LEFT JOIN right.UDP b"
        " ON a.time = b.time AND a.srcPort = b.srcPort"
    )
    answer = asked(query, left=LEFT, right=RIGHT)
    assert sorted(answer.rows, key=str) == [(1, 1, 99), (2, None, None), (3, None, None)]
    assert moving(answer) == ["time"]


def test_zero_stands_for_an_absent_side() -> None:
    query = (
        "DEFINE { outer_default 'zero'; } SELECT a.srcPort, b.srcIP, b.interface, b.timestamp"
        " LEFT_OUTER_JOIN FROM left.UDP a, right.UDP b WHERE a.time = b.time + 100"
    )
    answer = asked(query, left=LEFT[:1], right=RIGHT)
    assert answer.rows == [(7, bytes(16), b"", 0)]
    assert moving(answer) == []


def test_a_window_on_each_input_is_exclusive() -> None:
    """The other is younger by less than the own range, older by less than its."""
    query = (
        "SELECT b.time FROM left.UDP a [WA time, RANGE 3 s], right.UDP b [WA time, RANGE 2 s]"
        " WHERE a.destPort = b.destPort"
    )
    right = [udp(second, 1) for second in range(20)]
    assert sorted(asked(query, left=[udp(10, 1)], right=right).rows) == [(9,), (10,), (11,), (12,)]


def test_a_row_joins_itself() -> None:
    query = "SELECT x.time, x.srcPort, y.srcPort AS p FROM UDP x, UDP y WHERE x.time = y.time"
    packets = [udp(1, 7), udp(1, 8), udp(2, 9)]
    rows = [(1, 7, 7), (1, 7, 8), (1, 8, 7), (1, 8, 8), (2, 9, 9)]
    assert sorted(asked(query, eth=packets).rows) == rows


def test_a_condition_without_a_value_matches_nothing() -> None:
    query = (
        "SELECT a.srcPort, b.srcPort AS p FROM left.UDP a LEFT JOIN right.UDP b"
        " ON a.time = b.time AND 9 / (a.srcPort - b.srcPort) = 9"
    )
    rows = asked(query, left=LEFT[:2], right=[udp(1, 7), udp(2, 7)]).rows
    assert sorted(rows, key=str) == [(7, None), (8, 7)]


# Merges and unions


def test_what_has_no_value_is_not_asked_behind_the_first_that_has_one() -> None:
    given = asked("SELECT coalesce(64, 100 / (64 - 64)) AS kept FROM UDP", eth=[udp(0, 1)])
    assert given.rows == [(64,)]
    assert asked("SELECT 100 / (64 - 64) AS none FROM UDP", eth=[udp(0, 1)]).rows == []


def test_a_merge_of_packets_has_those_that_its_reader_can_use() -> None:
    merge = (
        "DEFINE {{ query_name m; visibility {}; }} MERGE a.time : b.time FROM left.IP a, right.IP b"
    )
    query = merge.format("internal") + "; SELECT time, interface FROM m"
    expected = [(1, b"left"), (1, b"right"), (2, b"left"), (2, b"right"), (3, b"left")]
    assert sorted(asked(query, left=LEFT, right=RIGHT).rows) == [*expected, (4, b"right")]
    query = merge.replace("IP", "DataProtocol").format("internal") + "; SELECT srcPort FROM m"
    assert sorted(asked(query, left=LEFT, right=RIGHT).rows) == [(7,), (7,), (8,), (9,), (9,)]


def test_a_merge_that_is_put_out_has_every_field() -> None:
    answer = asked(
        "MERGE a.timestamp : b.timestamp FROM left.IP a, right.IP b", left=[], right=RIGHT
    )
    names = [column.name for column in answer.columns]
    assert names[:3] == ["time", "time_ms", "timestamp"]
    assert [row[names.index("flow_label")] for row in answer.rows] == [None] * 3


def test_packets_and_rows_are_one_by_name() -> None:
    query = (
        "DEFINE { query_name q; visibility internal; }"
        "SELECT srcPort + 100 AS n, time FROM left.UDP;"
        "SELECT time, count(*) AS n FROM right.UDP UNION q GROUP BY time"
    )
    assert sorted(asked(query, left=LEFT, right=RIGHT).rows) == [(1, 2), (2, 1), (3, 1), (4, 1)]

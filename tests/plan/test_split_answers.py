# SPDX-License-Identifier: Apache-2.0
"""Where a query is cut changes no row: the same question, split in different ways, over a capture.

Each case is one question and the ways to ask it that put other parts below the border.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from captures import DEMO_CAPTURE

import gigastream

AGGREGATES = (
    "count(*) AS n, sum(len) AS s, avg(len) AS a, var(len) AS v, stddev(len) AS d, min(ttl) AS lo,"
    " max(ttl) AS hi, first(len) AS f, last(len) AS l, or_aggr(tos) AS o, xor_aggr(id) AS x"
)
FILTERED = (
    "count(*) FILTER (WHERE len > 500) AS n, sum(len) FILTER (WHERE len > 500) AS s,"
    " avg(len) FILTER (WHERE len > 500) AS a, stddev(len) FILTER (WHERE len > 500) AS d,"
    " first(destIP) FILTER (WHERE len > 500) AS f,"
    " min(9999/(len - 66)) FILTER (WHERE len <> 66) AS m"
)


def rows(*queries: str) -> Counter[tuple[Any, ...]]:
    """The multiset of rows of all queries, floating numbers to nine digits."""
    found: Counter[tuple[Any, ...]] = Counter()
    for query in queries:
        for batch in gigastream.run(query, DEMO_CAPTURE):
            found.update(map(_row, batch.to_pylist()))
    return found


def _row(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(map(_rounded, row.values()))


def _rounded(value: Any) -> Any:
    if not isinstance(value, float) or value == 0:
        return value
    return round(value, 8 - math.floor(math.log10(abs(value))))


GROUPED = f"SELECT tb, srcIP, {AGGREGATES} FROM IPV4 GROUP BY time/60 AS tb, srcIP"
WEB = "SELECT time, srcIP, len FROM TCP WHERE destPort = 80"
SAME = {
    "aggregation low, high, and over a query": (
        GROUPED,
        f"DEFINE {{ select_lfta true; }} {GROUPED}",
        "DEFINE { aggregate_slots 2; flush immediate; }" + GROUPED,
        # no slot holds a string: everything but the fields is above
        f"SELECT tb, srcIP, {AGGREGATES} FROM IPV4"
        " GROUP BY time/60 AS tb, srcIP, str_truncate(interface, 0) AS nothing",
    ),
    "FILTER low, and high": (
        f"SELECT tb, srcIP, {FILTERED} FROM IPV4 GROUP BY time/60 AS tb, srcIP",
        f"DEFINE {{ aggregate_slots 1; }} SELECT tb, srcIP, {FILTERED} FROM IPV4"
        " GROUP BY time/60 AS tb, srcIP",
        f"DEFINE {{ select_lfta true; }} SELECT tb, srcIP, {FILTERED} FROM IPV4"
        " GROUP BY time/60 AS tb, srcIP",
        "DEFINE { lfta_aggregation true; aggregate_slots 1048576; }"
        f"SELECT tb, srcIP, {FILTERED} FROM IPV4 GROUP BY time/60 AS tb, srcIP",
    ),
    "partial groups that never met another are whole": (
        "SELECT tb, srcIP, count(*) AS n, avg(len) AS a, var(len) AS v FROM IPV4"
        " GROUP BY time/60 AS tb, srcIP HAVING count(*) > 3",
        "DEFINE { lfta_aggregation true; aggregate_slots 1048576; }"
        "SELECT tb, srcIP, count(*) AS n, avg(len) AS a, var(len) AS v FROM IPV4"
        " GROUP BY time/60 AS tb, srcIP HAVING count(*) > 3",
    ),
    "a selection through other queries": (
        WEB,
        f"{WEB} AND str_length(str_extract_regex(interface, '.*')) >= 0",
        "DEFINE { visibility internal; } SELECT time, srcIP, len, destPort FROM TCP;"
        "DEFINE { query_name b; } SELECT time, srcIP, len FROM query WHERE destPort = 80",
    ),
    "an aggregation over a query": (
        "SELECT tb, sum(len) AS s, count(*) AS n FROM TCP WHERE destPort = 80"
        " GROUP BY time/60 AS tb",
        f"DEFINE {{ visibility internal; }} {WEB};"
        "DEFINE { query_name b; } SELECT tb, sum(len) AS s, count(*) AS n FROM query"
        " GROUP BY time/60 AS tb",
    ),
    "distinct": (
        "SELECT DISTINCT time/60 AS tb, srcIP FROM IPV4",
        "SELECT tb, srcIP FROM IPV4 GROUP BY time/60 AS tb, srcIP",
    ),
    "an expression that is shown, and one that is hidden": (
        "SELECT tb, srcIP FROM IPV4 GROUP BY time/60 AS tb, srcIP ORDER BY sum(len) DESC LIMIT 2",
        "DEFINE { visibility internal; } SELECT tb, srcIP, sum(len) AS s FROM IPV4"
        " GROUP BY time/60 AS tb, srcIP ORDER BY s DESC LIMIT 2;"
        "DEFINE { query_name b; } SELECT tb, srcIP FROM query",
        "DEFINE { lfta_aggregation true; aggregate_slots 1048576; }"
        "SELECT tb, srcIP FROM IPV4 GROUP BY time/60 AS tb, srcIP ORDER BY sum(len) DESC LIMIT 2",
    ),
}


PAIRS = [
    pytest.param(queries[0], other, id=name)
    for name, queries in SAME.items()
    for other in queries[1:]
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_the_split_changes_no_row(one: str, other: str) -> None:
    expected = rows(one)
    assert sum(expected.values()) > 3
    assert rows(other) == expected


def test_a_union_has_the_rows_of_its_parts() -> None:
    columns = "SELECT time, srcPort, destPort, len FROM"
    parts = rows(f"{columns} TCP", f"{columns} UDP")
    assert rows(f"{columns} TCP UNION UDP") == parts
    internal = "DEFINE { visibility internal;"
    text = f"{internal} query_name t; }} {columns} TCP; {internal} query_name u; }} {columns} UDP;"
    assert rows(f"{text} DEFINE {{ query_name b; }} SELECT * FROM t UNION u") == parts


def test_a_group_that_leaves_the_low_level_early_is_more_than_one_row() -> None:
    text = "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/60 AS tb, srcIP"
    partial = rows("DEFINE { lfta_aggregation true; aggregate_slots 1; }" + text)
    whole = rows(text)
    assert sum(partial.values()) > sum(whole.values())
    counts: Counter[tuple[Any, ...]] = Counter()
    for (*group, n), times in partial.items():
        counts[tuple(group)] += n * times
    assert counts == {tuple(group): n for *group, n in whole}


@pytest.mark.parametrize("argument", ["UDP_data", "CASE WHEN len > 100 THEN UDP_data END"])
def test_first_and_last_strings_outlive_their_rows(argument: str) -> None:
    columns = f"time/60 AS tb, srcIP, timestamp, packet_id, {argument} AS data"
    expected: dict[tuple[Any, ...], list[Any]] = {}
    for tb, ip, *_, data in sorted(rows(f"SELECT {columns} FROM UDP"), key=lambda row: row[2:4]):
        found = expected.setdefault((tb, ip), [])
        found += [] if data is None else [data]
    both = f"first({argument}) AS f, last({argument}) AS l"
    aggregated = rows(f"SELECT tb, srcIP, {both} FROM UDP GROUP BY time/60 AS tb, srcIP")
    ends = ((*group, *((d[0], d[-1]) if d else (None, None))) for group, d in expected.items())
    assert set(aggregated) == set(ends)


def test_one_row_has_no_variance() -> None:
    text = (
        "SELECT time, packet_id, var(len) AS v, stddev(len) AS s FROM UDP GROUP BY time, packet_id"
    )
    assert {(v, s) for _, _, v, s in rows(text)} == {(None, None)}


def test_null_groups_are_groups() -> None:
    text = "SELECT tb, big, count(*) AS n FROM PKT GROUP BY time/60 AS tb, {} AS big"
    found = rows(text.format("CASE WHEN len > 1000 THEN 1 END"))
    expected = rows(text.format("CASE WHEN len > 1000 THEN 1 ELSE 0 END"))
    assert found == {(tb, big or None, n): times for (tb, big, n), times in expected.items()}

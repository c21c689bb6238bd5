# SPDX-License-Identifier: Apache-2.0
"""The reference's joins, unions and windows, and SQLite's: small tables at random, one answer.

A table has a row for each packet: t is its second, k and v are its ports; v is NULL from 6 on.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from tests.answers.reference.queries import Answer, Source, answers
from tests.oracle.query import decode
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap

Row = tuple[int | None, ...]
SECOND_NS = 10**9
GREATEST_V = 5
TABLES = "abc"

INPUTS = "".join(
    f"DEFINE {{ query_name {name}; visibility internal; }}"
    " SELECT time AS t, srcPort AS k, CASE WHEN destPort <= 5 THEN destPort END AS v,"
    f" timestamp AS ts FROM {name}.UDP;\n"
    for name in TABLES
)

JOINS = {
    "comma": (
        "SELECT a.t, b.k, a.v FROM a, b WHERE a.t = b.t AND a.k = b.k AND a.v < b.v",
        "SELECT a.t, b.k, a.v FROM a, b WHERE a.t = b.t AND a.k = b.k AND a.v < b.v",
    ),
    "band": (
        "SELECT a.t AS x, b.t AS y FROM a, b WHERE a.t >= b.t - 2 AND a.t <= b.t + 3 AND a.v = b.v",
        "SELECT a.t, b.t FROM a, b WHERE a.t BETWEEN b.t - 2 AND b.t + 3 AND a.v = b.v",
    ),
    "left_on": (
        "SELECT a.t, a.k, b.v FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k AND b.v > 2",
        "SELECT a.t, a.k, b.v FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k AND b.v > 2",
    ),
    "left_on_own_side": (
        "SELECT a.t, a.k, b.v FROM a LEFT JOIN b ON a.t = b.t AND a.v > 2",
        "SELECT a.t, a.k, b.v FROM a LEFT JOIN b ON a.t = b.t AND a.v > 2",
    ),
    "anti": (
        "SELECT a.t, a.k FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k WHERE b.k IS NULL",
        "SELECT a.t, a.k FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k WHERE b.k IS NULL",
    ),
    "right_on": (
        "SELECT a.t, b.v FROM a RIGHT JOIN b ON a.t = b.t AND a.v = b.v WHERE b.k > 1",
        "SELECT a.t, b.v FROM a RIGHT JOIN b ON a.t = b.t AND a.v = b.v WHERE b.k > 1",
    ),
    "full_on": (
        "SELECT a.t, a.k AS p, b.k AS q FROM a FULL OUTER JOIN b ON a.t = b.t AND a.k = b.k",
        "SELECT a.t, a.k, b.k FROM a FULL JOIN b ON a.t = b.t AND a.k = b.k",
    ),
    "full_on_band": (
        "SELECT a.v, b.v AS w FROM a FULL JOIN b ON a.t >= b.t AND a.t <= b.t + 1 AND a.k = b.k",
        "SELECT a.v, b.v FROM a FULL JOIN b ON a.t BETWEEN b.t AND b.t + 1 AND a.k = b.k",
    ),
    "tigon_left": (
        "SELECT a.t, b.k, a.v, b.v AS w LEFT_OUTER_JOIN FROM a, b"
        " WHERE a.t = b.t AND a.k = b.k AND a.v > 1 AND b.v > 2",
        "SELECT a.t, a.k, a.v, b.v FROM (SELECT * FROM a WHERE v > 1) a"
        " LEFT JOIN (SELECT * FROM b WHERE v > 2) b ON a.t = b.t AND a.k = b.k",
    ),
    "tigon_right": (
        "SELECT a.t, a.k, a.v RIGHT_OUTER_JOIN FROM a, b WHERE a.t = b.t AND a.k = b.k"
        " AND a.v <> b.v",
        "SELECT b.t, b.k, a.v FROM a RIGHT JOIN b ON a.t = b.t AND a.k = b.k AND a.v <> b.v",
    ),
    "tigon_full": (
        "SELECT t, b.k, a.v, b.v AS w OUTER_JOIN FROM a, b"
        " WHERE a.t = b.t AND a.k = b.k AND b.v IS NULL",
        "SELECT coalesce(a.t, b.t), coalesce(b.k, a.k), a.v, b.v"
        " FROM a FULL JOIN (SELECT * FROM b WHERE v IS NULL) b ON a.t = b.t AND a.k = b.k",
    ),
    "tigon_full_of_expressions": (
        "SELECT a.t, b.t AS u OUTER_JOIN FROM a, b WHERE a.t / 3 = b.t / 3 + 1 AND a.v = b.v",
        "SELECT a.t, b.t FROM a FULL JOIN b ON a.t / 3 = b.t / 3 + 1 AND a.v = b.v",
    ),
    "zero": (
        "DEFINE { outer_default 'zero'; }"
        "SELECT a.t, a.v, b.t AS u FROM a FULL JOIN b ON a.t = b.t + 1 AND a.k = b.v",
        "SELECT CASE WHEN a.t IS NULL THEN 0 ELSE a.t END,"
        " CASE WHEN a.t IS NULL THEN 0 ELSE a.v END, coalesce(b.t, 0)"
        " FROM a FULL JOIN b ON a.t = b.t + 1 AND a.k = b.v",
    ),
    "self": (
        "SELECT x.t, x.v, y.v AS w FROM a x, a y WHERE x.t = y.t AND x.k <= y.k",
        "SELECT x.t, x.v, y.v FROM a x, a y WHERE x.t = y.t AND x.k <= y.k",
    ),
    "three": (
        "SELECT a.t, b.v, c.v AS w FROM a, b, c"
        " WHERE a.t = b.t AND b.t = c.t AND a.k = c.k AND b.v < 4",
        "SELECT a.t, b.v, c.v FROM a, b, c WHERE a.t = b.t AND b.t = c.t AND a.k = c.k AND b.v < 4",
    ),
    "three_outer": (
        "SELECT a.t, b.v, c.k FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k"
        " FULL JOIN c ON a.t = c.t AND b.v = c.v",
        "SELECT a.t, b.v, c.k FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k"
        " FULL JOIN c ON a.t = c.t AND b.v = c.v",
    ),
    "three_tigon": (
        "SELECT c.t, a.k, c.v OUTER_JOIN FROM a, b, c"
        " WHERE a.t = b.t AND a.k = b.k AND b.t = c.t AND b.k = c.k",
        "SELECT coalesce(d.t, c.t), coalesce(d.k, c.k), c.v FROM"
        " (SELECT coalesce(a.t, b.t) t, coalesce(a.k, b.k) k"
        "  FROM a FULL JOIN b ON a.t = b.t AND a.k = b.k) d"
        " FULL JOIN c ON d.t = c.t AND d.k = c.k",
    ),
    "comma_behind_left": (
        "SELECT a.t, b.v, c.k FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k, c"
        " WHERE c.t = a.t AND c.k < 2 AND b.v IS NULL AND a.k > 0",
        "SELECT a.t, b.v, c.k FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k, c"
        " WHERE c.t = a.t AND c.k < 2 AND b.v IS NULL AND a.k > 0",
    ),
    "inputs_windowed": (
        "SELECT a.t, b.t AS u FROM a [WA t, RANGE 3 sec], b [WA t, RANGE 2 sec] WHERE a.k = b.k",
        "SELECT a.t, b.t FROM a, b WHERE b.t > a.t - 2 AND b.t < a.t + 3 AND a.k = b.k",
    ),
    "inputs_windowed_left": (
        "SELECT a.t, b.v FROM a [WA ts, RANGE 3 sec] LEFT JOIN b [RANGE 1 sec, WA ts]"
        " ON a.k = b.k AND a.v = b.v",
        "SELECT a.t, b.v FROM a LEFT JOIN b"
        " ON b.t >= a.t AND b.t < a.t + 3 AND a.k = b.k AND a.v = b.v",
    ),
    "grouped": (
        "SELECT t, b.v, count(*) AS n, sum(a.v) AS s FROM a, b WHERE a.t = b.t AND a.k <> b.k"
        " GROUP BY a.t AS t, b.v HAVING count(*) > 1",
        "SELECT a.t, b.v, count(*), sum(a.v) FROM a, b WHERE a.t = b.t AND a.k <> b.k"
        " GROUP BY a.t, b.v HAVING count(*) > 1",
    ),
    "grouped_by_columns_of_one_name": (
        "SELECT a.t, b.t, count(*) AS n FROM a [WA t, RANGE 2 s], b [RANGE 2 s]"
        " WHERE a.t < b.t AND a.k = b.v GROUP BY a.t, b.t",
        "SELECT a.t, b.t, count(*) FROM a, b"
        " WHERE b.t < a.t + 2 AND a.t < b.t + 2 AND a.t < b.t AND a.k = b.v GROUP BY a.t, b.t",
    ),
    "windows_over_two_clocks": (
        "SELECT a.t, b.t AS u FROM a [WA t, RANGE 3], b [WA ts, RANGE 2 min] WHERE a.k = b.k",
        "SELECT a.t, b.t FROM a, b WHERE b.t < a.t + 3 AND b.t > a.t - 120 AND a.k = b.k",
    ),
    "equated_and_unqualified": (
        "SELECT t, k, a.v FROM a RIGHT JOIN b ON a.t = b.t AND a.k = b.k",
        "SELECT b.t, b.k, a.v FROM a RIGHT JOIN b ON a.t = b.t AND a.k = b.k",
    ),
    "everything": (
        "SELECT * FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k",
        "SELECT * FROM a LEFT JOIN b ON a.t = b.t AND a.k = b.k",
    ),
    "grouped_outer": (
        "SELECT tb, k, count(b.v) AS n, max(b.k) AS m FROM a LEFT JOIN b ON a.t = b.t"
        " AND a.v = b.v GROUP BY a.t/5 AS tb, a.k AS k",
        "SELECT a.t/5, a.k, count(b.v), max(b.k) FROM a LEFT JOIN b ON a.t = b.t AND a.v = b.v"
        " GROUP BY a.t/5, a.k",
    ),
    "distinct": (
        "SELECT DISTINCT a.t, b.v FROM a, b WHERE a.t = b.t",
        "SELECT DISTINCT a.t, b.v FROM a, b WHERE a.t = b.t",
    ),
    "of_aggregations": (
        "DEFINE { query_name left_counts; visibility internal; }"
        "SELECT tb, k, count(*) AS n FROM a GROUP BY t/4 AS tb, k;"
        "DEFINE { query_name right_counts; visibility internal; }"
        "SELECT tb, k, count(*) AS n FROM b GROUP BY t/4 AS tb, k;"
        "SELECT x.tb, x.k, x.n, y.n AS m OUTER_JOIN FROM left_counts x, right_counts y"
        " WHERE x.tb = y.tb AND x.k = y.k",
        "SELECT coalesce(x.tb, y.tb), coalesce(x.k, y.k), x.n, y.n FROM"
        " (SELECT t/4 tb, k, count(*) n FROM a GROUP BY 1, 2) x FULL JOIN"
        " (SELECT t/4 tb, k, count(*) n FROM b GROUP BY 1, 2) y ON x.tb = y.tb AND x.k = y.k",
    ),
    "of_unions": (
        "SELECT M.t, M.v, N.k FROM a UNION b AS M, c UNION a AS N WHERE M.t = N.t AND M.k = N.k",
        "WITH M AS (SELECT * FROM a UNION ALL SELECT * FROM b),"
        " N AS (SELECT * FROM c UNION ALL SELECT * FROM a)"
        "SELECT M.t, M.v, N.k FROM M, N WHERE M.t = N.t AND M.k = N.k",
    ),
    "merge": (
        "MERGE a.t : b.t : c.t SLACK 2 FROM a, b, c",
        "SELECT * FROM a UNION ALL SELECT * FROM b UNION ALL SELECT * FROM c",
    ),
    "of_merge": (
        "DEFINE { query_name m; visibility internal; } MERGE x.t : y.t FROM a x, b y;"
        "SELECT m.t, m.k, c.v FROM m, c WHERE m.t = c.t AND m.v = c.v",
        "WITH m AS (SELECT * FROM a UNION ALL SELECT * FROM b)"
        "SELECT m.t, m.k, c.v FROM m, c WHERE m.t = c.t AND m.v = c.v",
    ),
    "union_of_packets_and_rows": (
        "DEFINE { query_name d; visibility internal; } SELECT t AS time, k AS srcPort FROM a;"
        "SELECT time, srcPort FROM b.UDP UNION d WHERE srcPort > 1",
        "SELECT t, k FROM b WHERE k > 1 UNION ALL SELECT t, k FROM a WHERE k > 1",
    ),
}

WINDOWS = ((7, 7), (7, 3), (3, 7), (6, 2), (1, 1), (30, 4))
WIDS = "WITH RECURSIVE wids(w) AS (SELECT -40 UNION ALL SELECT w + 1 FROM wids WHERE w < 70)"


def _windowed(table: str, of: str, length: int, slide: int) -> str:
    """Rows beside the ends of each window that they are in."""
    return (
        f"(SELECT (w + 1) * {slide} - {length} ws, (w + 1) * {slide} we, x.* FROM wids,"
        f" {table} x WHERE x.{of} >= ws AND x.{of} < we)"
    )


def _window_queries(length: int, slide: int) -> list[tuple[str, str]]:
    bracket = f"[RANGE {length} s, SLIDE {slide} s, WA t]"
    numbered = "(SELECT *, row_number() OVER () - 1 number FROM a)"
    return [
        (
            f"SELECT window_start, k, count(*) AS n, sum(v) AS s FROM a {bracket}"
            " WHERE k < 3 GROUP BY k HAVING count(*) > 1",
            f"{WIDS} SELECT ws, k, count(*), sum(v) FROM {_windowed('a', 't', length, slide)}"
            " WHERE k < 3 GROUP BY ws, k HAVING count(*) > 1",
        ),
        (
            f"SELECT count(*) AS n, window_end {bracket} FROM a UNION b",
            f"{WIDS}, u AS (SELECT * FROM a UNION ALL SELECT * FROM b)"
            f" SELECT count(*), we FROM {_windowed('u', 't', length, slide)} GROUP BY we",
        ),
        (
            f"SELECT window_start, max(b.v) AS m FROM a, b"
            f" [RANGE {length}, SLIDE {slide}, WA b.t] WHERE a.t = b.t AND a.k = b.k",
            f"{WIDS}, j AS (SELECT b.t t, b.v v FROM a, b WHERE a.t = b.t AND a.k = b.k)"
            f" SELECT ws, max(v) FROM {_windowed('j', 't', length, slide)} GROUP BY ws",
        ),
        (
            f"SELECT window_start, window_end, count(*) AS n, min(srcPort) AS m FROM a.UDP"
            f" [RANGE {length} ROWS, SLIDE {slide} ROWS] WHERE srcPort > 0",
            f"{WIDS} SELECT ws, we, count(*), min(k) FROM"
            f" {_windowed(numbered, 'number', length, slide)} WHERE k > 0 GROUP BY ws",
        ),
        (
            f"SELECT window_start, k, count(*) AS n FROM a {bracket} GROUP BY k"
            " ORDER BY n DESC LIMIT 2",
            f"{WIDS}, g AS (SELECT ws, k, count(*) n FROM {_windowed('a', 't', length, slide)}"
            " GROUP BY ws, k), o AS (SELECT *, row_number() OVER"
            " (PARTITION BY ws ORDER BY n DESC, k) place FROM g)"
            " SELECT ws, k, n FROM o WHERE place <= 2",
        ),
    ]


def _packets(chance: Random) -> list[Row]:
    return [
        (chance.randrange(24), chance.randrange(4), chance.randrange(8))
        for _ in range(chance.choice((0, 30, 40, 50, 60, 70)))
    ]


def _capture(rows: Sequence[Row]) -> bytes:
    packets = []
    for t, k, v in rows:
        assert t is not None
        assert k is not None
        assert v is not None
        packet = frames.ipv4(1, 2, frames.UDP, frames.udp(k, v, b""))
        packets.append(Packet(t * SECOND_NS, frames.ethernet(frames.ETHERTYPE_IPV4, packet)))
    return pcap(packets, magic=NANOSECONDS)


def _both(query: str, sql: str, seed: int) -> tuple[Answer, list[Row]]:
    """What the reference and SQLite say."""
    chance = Random(f"{seed} {sql}")
    tables = {name: _packets(chance) for name in TABLES}
    sources = [Source(decode(_capture(rows)), name) for name, rows in tables.items()]
    given = answers(INPUTS + query, sources)["query"]
    base = sqlite3.connect(":memory:")
    for name, rows in tables.items():
        base.execute(f"CREATE TABLE {name} (t, k, v, ts)")
        shown = [
            (t, k, v if v is None or v <= GREATEST_V else None, (t or 0) * SECOND_NS)
            for t, k, v in rows
        ]
        base.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", shown)
    expected = base.execute(sql).fetchall()
    base.close()
    return given, expected


def _check(query: str, sql: str, seeds: int) -> None:
    rows = 0
    for seed in range(seeds):
        given, expected = _both(query, sql, seed)
        assert Counter(given.rows) == Counter(expected), f"seed {seed}: {query}"
        rows += len(expected)
    assert rows > 0, f"nothing ever matches: {query}"


@pytest.mark.parametrize("name", JOINS)
def test_joins_and_unions(name: str) -> None:
    _check(*JOINS[name], seeds=8)


@pytest.mark.parametrize(("length", "slide"), WINDOWS, ids=str)
def test_windows(length: int, slide: int) -> None:
    for query, sql in _window_queries(length, slide):
        _check(query, sql, seeds=4)

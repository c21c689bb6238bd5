# SPDX-License-Identifier: Apache-2.0
"""Queries that call functions in Python of every type, each beside what it must answer."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream

FUNCTIONS = Path(__file__).with_name("every_type.py")
PAIRS = {
    "TCP": {
        "of_bool(len > 100)": "len > 100",
        "of_ushort(srcPort)": "srcPort",
        "of_uint(len)": "len",
        "of_int(int(len))": "int(len)",
        "of_ullong(ullong(len) * 4611686018427387)": "ullong(len) * 4611686018427387",
        "of_llong(-llong(len))": "-llong(len)",
        "of_float(float(len) / 3)": "float(len) / 3",
        "of_string(TCP_data)": "TCP_data",
        "of_inet(srcIP)": "srcIP",
        "of_timestamp(timestamp)": "timestamp",
    },
    "IPV4": {
        "of_ip(srcIP)": "srcIP",
        "or_seven(CASE WHEN len > 100 THEN len END)": "CASE WHEN len > 100 THEN len ELSE 7 END",
        "of_uint(CASE WHEN len > 100 THEN len END)": "CASE WHEN len > 100 THEN len END",
    },
    "IPV6": {"of_ipv6(srcIP)": "srcIP", "of_uint(uint(of_uint(len) + 1))": "uint(len + 1)"},
}
"""By protocol: a call, and what it answers."""
GROUPS = """DEFINE {{ query_name {name}; }}
SELECT tb, {host}(destIP) AS host, sum({uint}(len)) AS bytes, {ullong}(count(*)) AS packets
FROM TCP WHERE {bool}(len < 1000) {more} GROUP BY time/60 AS tb, {host}(destIP)
HAVING {ullong}(count(*)) > 1
"""
FUNCTIONS_OF_GROUPS = {
    "host": "of_inet",
    "uint": "of_uint",
    "ullong": "of_ullong",
    "bool": "of_bool",
}


def _of_protocol(name: str) -> str:
    pairs = enumerate(PAIRS[name].items())
    columns = ", ".join(f"{call} AS f{at}, {value} AS x{at}" for at, (call, value) in pairs)
    return f"DEFINE {{ query_name of_{name}; }} SELECT time, {columns} FROM {name}"


CALLED = GROUPS.format(name="called", more="AND seldom(len) > 0", **FUNCTIONS_OF_GROUPS)
PLAIN = GROUPS.format(name="plain", more="AND len % 7 <> 0", host="", uint="", ullong="", bool="")
AGGREGATED = """DEFINE { query_name aggregated; }
SELECT tb, host, as_text(len > 100, srcPort, CASE WHEN len > 60 THEN len END, int(len),
    ullong(len) * 4611686018427387, -llong(len), float(len) / 3,
    CASE WHEN len > 100 THEN TCP_data END, destIP, timestamp, TCP_data) AS all,
    middle(of_uint(len)) FILTER (WHERE len > 60) AS middle, few(len) AS few, count(*) AS packets
FROM TCP GROUP BY time/60 AS tb, of_inet(srcIP) AS host
HAVING middle(len) > 50
"""
QUERIES = ";\n".join((*map(_of_protocol, PAIRS), CALLED, PLAIN, AGGREGATED))
NAMES = (*(f"of_{protocol}" for protocol in PAIRS), "called", "plain", "aggregated")
WORDS = ("--python", FUNCTIONS, "-e", QUERIES)
Rows = dict[str, list[list[str]]]


def answered(folder: Path, *words: object) -> Rows:
    """The rows of all queries, sorted, which a run with these words writes."""
    done = gigastream("run", "-q", *map(str, words), "-o", f"csv:{folder}")
    assert done.code == 0, done.err
    return {name: read(folder / f"{name}.csv") for name in NAMES}


def of_capture(folder: Path) -> Rows:
    return answered(folder, *WORDS, "-r", DEMO_CAPTURE)


def read(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return sorted(list(csv.reader(file))[1:])


def check(rows: Rows) -> None:
    """Each call answers what stands beside it."""
    for protocol in PAIRS:
        found = rows[f"of_{protocol}"]
        assert len(found) > 50
        for row in found:
            assert row[1::2] == row[2::2]
    assert rows["called"] == rows["plain"] != []

# SPDX-License-Identifier: Apache-2.0
"""UDAFs over every type, below the border and above it, beside aggregates that agree with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream
from tests.extensions.tops import TYPES, definitions

ORDERED = tuple(name for name in TYPES if name != "bool")


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return definitions(tmp_path_factory.mktemp("tops"))


def low_and_high(name: str) -> str:
    _, _, column, protocol = TYPES[name]
    return f"""
    DEFINE {{ query_name low_{name}; }}
    SELECT tb, srcPort, top({column}) AS a, max({column}) AS b, count(*) AS rows
    FROM {"TCP" if protocol != "IPV6" else "DataProtocol"}
    {f"WHERE ipversion = {protocol[-1]}" if protocol.startswith("IPV") else ""}
    GROUP BY time/60 AS tb, srcPort;
    DEFINE {{ query_name rows_{name}; visibility internal; }}
    SELECT time/60 AS tb, {column} AS x FROM {protocol};
    DEFINE {{ query_name high_{name}; }}
    SELECT tb, top(x) AS a, max(x) AS b, count(*) AS rows FROM rows_{name} GROUP BY tb
    """


def rows_of(folder: Path, name: str) -> list[list[str]]:
    return [line.split(",") for line in (folder / f"{name}.csv").read_text().splitlines()[1:]]


def test_every_type_low_and_high(declared: Path, tmp_path: Path) -> None:
    query = ";".join(map(low_and_high, ORDERED))
    words = ("--definitions", declared, "-e", query, "-r", DEMO_CAPTURE, "--slots", "2")
    done = gigastream("run", "-q", *words, "-o", f"csv:{tmp_path}")
    assert done.code == 0, done.err
    for name in ORDERED:
        for level in ("low", "high"):
            rows = rows_of(tmp_path, f"{level}_{name}")
            assert rows, (level, name)
            assert all(a == b for *_, a, b, _ in rows), (level, name)


def test_texts_bytes_truths_and_nulls(declared: Path) -> None:
    """A text is made when the group leaves; a NULL among the arguments passes the row over."""
    query = """
    SELECT tb, top(len > 100) AS any_large, longest(TCP_data) AS text, bits(five(len)) AS bits,
        pairs(CASE WHEN len > 100 THEN len END, CASE WHEN len < 300 THEN UINT(1) END) AS middle,
        sum(CASE WHEN len > 100 AND len < 300 THEN len ELSE 0 END) AS sum
    FROM TCP WHERE data_length > 0 GROUP BY time/600 AS tb
    """
    done = gigastream("run", "-q", "--definitions", declared, "-e", query, "-r", DEMO_CAPTURE)
    plain = "SELECT tb, or_aggr(len) AS bits FROM TCP WHERE data_length > 0 GROUP BY time/600 AS tb"
    expected = gigastream("run", "-q", "-e", plain, "-r", DEMO_CAPTURE, "-o", "csv")
    assert done.code == 0, done.err
    for line, other in zip(done.lines, expected.lines[1:], strict=True):
        row = json.loads(line)
        bits = int(other.split(",")[1]).to_bytes(4, "little").hex() + "00"
        assert (row["any_large"], row["bits"]) == (True, bits)
        assert (row["middle"] or 0) == row["sum"]
        assert row["text"]
    assert len(done.lines) == 2


def test_without_rows_a_value_is_null(declared: Path) -> None:
    """As of every aggregate, where there is no GROUP BY."""
    query = (
        "DEFINE { no_temporal_aggr; } SELECT count(*) AS n, top(len) AS top FROM TCP WHERE len = 1"
    )
    words = ("--definitions", declared, "-e", query, "-r", DEMO_CAPTURE, "-o", "csv")
    done = gigastream("run", "-q", *words)
    assert (done.code, done.lines) == (0, ["n,top", "0,"]), done.err

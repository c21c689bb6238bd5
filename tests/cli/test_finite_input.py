# SPDX-License-Identifier: Apache-2.0
"""Input that has an end: an aggregation without a clock is answered there, and only there."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import Result, gigastream

import gigastream as library

QUERY = "SELECT protocol, count(*) AS n, sum(len) AS bytes FROM IPV4 GROUP BY protocol"
EXPLICIT = f"DEFINE {{ no_temporal_aggr; }} {QUERY}"
NOTE = "no group variable is temporal: one answer comes, when all input has been read"
REFUSED = "no group variable is temporal: no group would ever be complete"
FILE = ("-r", str(DEMO_CAPTURE))


def rows(result: Result) -> list[list[str]]:
    """The rows of a run that went well, in any order."""
    assert result.code == 0, result.err
    return sorted(csv.reader(result.lines))


@pytest.mark.long
@pytest.mark.parametrize("output", ["csv", "json", "table"])
def test_files_are_answered_once_and_a_note_says_so(output: str) -> None:
    found = gigastream("run", *FILE, "-e", QUERY, "-o", output)
    wanted = gigastream("run", "-q", *FILE, "-e", EXPLICIT, "-o", output)
    assert found.code == 0
    assert sorted(found.lines) == sorted(wanted.lines)
    assert f"query:1:70: warning: {NOTE}\n" in found.err
    assert "read 2,010 = decoded 2,010" in found.err
    assert wanted.err == ""


def test_several_files_and_interfaces_are_one_answer() -> None:
    two = gigastream("run", "-q", *FILE, "-r", f"b={DEMO_CAPTURE}", "-e", QUERY, "-o", "csv")
    one = gigastream("run", "-q", *FILE, "-e", QUERY, "-o", "csv")
    doubled = [[p, str(2 * int(n)), str(2 * int(b))] for p, n, b in rows(one)[:-1]]
    assert sorted(rows(two)[:-1]) == sorted(doubled)


def test_a_query_of_a_set_that_has_a_clock_is_answered_as_ever(tmp_path: Path) -> None:
    clocked = (
        "DEFINE { query_name timed; } SELECT tb, count(*) AS n FROM IPV4 GROUP BY time/60 AS tb"
    )
    result = gigastream("run", "-q", *FILE, "-e", f"{QUERY}; {clocked}", "-o", f"csv:{tmp_path}")
    assert result.code == 0
    assert len((tmp_path / "query.csv").read_text().splitlines()) == 4
    assert len((tmp_path / "timed.csv").read_text().splitlines()) == 5


def test_queries_over_it_and_sorted_ones() -> None:
    text = f"{QUERY} ORDER BY n DESC LIMIT 1; DEFINE {{ query_name over; visibility external; }} "
    over = "SELECT max(n) AS most, count(*) AS rows FROM query"
    result = gigastream("run", "-q", *FILE, "-e", text + over, "-o", "json")
    assert result.code == 0
    assert '{"query":"over","most":856,"rows":1}' in result.lines


def test_a_pipe_is_refused() -> None:
    words = ("run", "-q", "-r", "-", "-e", QUERY, "-o", "csv")
    piped = gigastream(*words, stdin=DEMO_CAPTURE.read_bytes())
    assert piped.code == 2
    assert REFUSED in piped.err


@pytest.mark.parametrize(
    "words",
    [("check",), ("explain",), ("run", *FILE, "-o", "spool:s"), ("run", *FILE, "--on", "spark")],
    ids=["check", "explain", "spool", "spark"],
)
def test_what_does_not_know_of_an_end_refuses_it(words: tuple[str, ...], tmp_path: Path) -> None:
    result = gigastream(*words, "-e", QUERY, cwd=tmp_path)
    assert result.code == 2
    assert f"query:1:70: error: {REFUSED}" in result.err
    assert not (tmp_path / "s").exists()


@pytest.mark.long
def test_a_spool_that_has_ended_is_answered(tmp_path: Path) -> None:
    low = "DEFINE { query_name low; } SELECT time, protocol, len FROM IPV4"
    written = gigastream("run", "-q", *FILE, "-e", low, "-o", f"spool:{tmp_path / 's'}")
    assert written.code == 0
    high = low.replace("low;", "low; visibility internal;") + ";" + QUERY.replace("IPV4", "low")
    named = high.replace(";SELECT protocol", "; DEFINE { query_name query; } SELECT protocol")
    found = gigastream("run", "--spool", tmp_path / "s", "-e", named, "-o", "csv")
    assert NOTE in found.err
    assert rows(found) == rows(gigastream("run", "-q", *FILE, "-e", QUERY, "-o", "csv"))


def test_the_library_answers_files() -> None:
    batches = list(library.run(QUERY, DEMO_CAPTURE))
    assert sum(batch.num_rows for batch in batches) == 3

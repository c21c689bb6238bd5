# SPDX-License-Identifier: Apache-2.0
"""LIMIT of a selection: so many rows, then the query's end, and the run's once all have ended."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, SECONDS, Result, gigastream

ALL = 2010
FIRST = "SELECT time, len FROM PKT LIMIT 3"
MINUTES = "DEFINE { query_name minutes; } SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"


def run(*words: object) -> Result:
    result = gigastream("run", "-o", "json", "--stats", "json", *map(str, words))
    assert result.code == 0, result.err
    return result


def account(result: Result) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The first source's counters, and those of the operators by name."""
    found = json.loads(result.err)
    return found["sources"][0], {operator["name"]: operator for operator in found["operators"]}


@pytest.mark.parametrize("limit", [0, 1, 63, 64, 65, 1000, ALL, ALL + 1])
def test_the_first_rows_and_the_end_of_the_run(limit: int) -> None:
    every = run("-e", "SELECT time, len FROM PKT", "-r", DEMO_CAPTURE).lines
    result = run("-e", f"SELECT time, len FROM PKT LIMIT {limit}", "-r", DEMO_CAPTURE)
    assert result.lines == every[:limit]
    source, operators = account(result)
    counted = operators["query"]
    assert counted["rows_out"] == min(limit, ALL)
    assert counted["rows_in"] == counted["rows_out"] + counted["beyond_limit"]
    assert source["read"] == source["decoded"] == counted["rows_in"]


def test_it_reads_no_further() -> None:
    source, _ = account(run("-e", FIRST, "-r", DEMO_CAPTURE))
    assert source["read"] < ALL / 2


def test_the_run_goes_on_for_another_query() -> None:
    result = run("-e", f"{FIRST}; {MINUTES}", "-r", DEMO_CAPTURE)
    source, operators = account(result)
    rows = [json.loads(line) for line in result.lines]
    assert source["read"] == ALL
    assert sum(row.get("n", 0) for row in rows) == ALL
    assert sum("len" in row for row in rows) == 3
    assert operators["query"]["beyond_limit"] == ALL - 3


def test_a_reader_of_a_limited_query_answers_at_its_end() -> None:
    inner = "DEFINE { query_name few; visibility internal; } SELECT time, len FROM PKT LIMIT 20"
    outer = "DEFINE { query_name n; } SELECT tb, count(*) AS n FROM few GROUP BY time/60 AS tb"
    result = run("-e", f"{inner}; {outer}", "-r", DEMO_CAPTURE)
    assert sum(json.loads(line)["n"] for line in result.lines) == 20
    assert account(result)[0]["read"] < ALL / 2


def test_of_several_captures_as_many_rows_as_of_one() -> None:
    every = run("-e", "SELECT time, len FROM PKT", "-r", DEMO_CAPTURE).lines
    both = ("-r", f"a={DEMO_CAPTURE}", "-r", f"b={DEMO_CAPTURE}")
    lines = run("-e", "SELECT time, len FROM PKT LIMIT 100", *both).lines
    assert len(lines) == 100
    assert set(lines) <= set(every)


def test_rows_that_order_by_cuts_are_counted() -> None:
    query = "SELECT tb, len, count(*) AS n FROM PKT GROUP BY time/60 AS tb, len ORDER BY n LIMIT 2"
    counted = account(run("-e", query, "-r", DEMO_CAPTURE))[1]["query"]
    assert counted["beyond_limit"] > 0
    assert counted["rows_in"] == counted["rows_out"] + counted["beyond_limit"]


@pytest.mark.parametrize("limit", [0, 5])
def test_a_pipe_that_stays_open(limit: int) -> None:
    """Nobody closes the pipe: the rows end the run."""
    query = f"SELECT time, len FROM PKT LIMIT {limit}"
    process = subprocess.Popen(
        [*COMMAND, "run", "-e", query, "-r", "-", "-o", "json", "--stats", "json"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(BrokenPipeError):  # it has ended before it has read all
        process.stdin.write(DEMO_CAPTURE.read_bytes())
        process.stdin.flush()
    assert len(process.stdout.read().splitlines()) == limit
    counted = json.loads(process.stderr.read())
    assert process.wait(SECONDS) == 0
    assert counted["rows"] == limit
    with suppress(BrokenPipeError):
        process.stdin.close()


def test_over_a_spool(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    run("-e", "SELECT time, len FROM PKT", "-r", DEMO_CAPTURE, "-o", f"spool:{spool}")
    rows = run("--spool", spool, "-e", FIRST)
    assert rows.lines == run("-e", FIRST, "-r", DEMO_CAPTURE).lines
    (counted,) = json.loads(rows.err)["operators"]
    assert counted["rows_in"] == counted["rows_out"] + counted["beyond_limit"] == ALL


def test_a_spool_is_not_written_with_it(tmp_path: Path) -> None:
    words = ("-e", FIRST, "-r", DEMO_CAPTURE, "-o", f"spool:{tmp_path / 'spool'}")
    refused = gigastream("run", *map(str, words))
    assert refused.code == 2
    assert "query:1:33: error: LIMIT ends a query above the border" in refused.err
    assert not (tmp_path / "spool").exists()

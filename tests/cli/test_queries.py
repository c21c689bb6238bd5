# SPDX-License-Identifier: Apache-2.0
"""check, explain and compile: what becomes of queries without packets."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
from pathlib import Path

import pytest
from captures import ROOT
from cli.command import COMMAND, gigastream

from gigastream.gsql.binder.aggregates import AGGREGATES
from gigastream.gsql.binder.language import LANGUAGE

QUERY = "SELECT tb, srcIP, count(*) AS n FROM TCP WHERE destPort = 80 GROUP BY time/60 AS tb, srcIP"
DEMO_QUERIES = sorted((ROOT / "demo").glob("*.gsql"))


FIVE_MISTAKES = """\
SELECT tb, srcIP, sum(lne) AS n FROM IPV4 GROUP BY time/60 AS tb, srcIP;
DEFINE { query_name second; } SELECT time, scrPort FROM TCP;
DEFINE { query_name third; } SELECT srcIP FROM IPV5;
DEFINE { query_name fourth; } SELECT srcIP, count(*) AS n FROM IPV4 GROUP BY srcIP;
DEFINE { query_name fifth; } SELECT time FROM IPV4 WHERE count(*) > 1;
"""


def test_five_mistakes_are_five_messages_with_places_and_hints(tmp_path: Path) -> None:
    (tmp_path / "wrong.gsql").write_text(FIVE_MISTAKES)
    result = gigastream("check", "wrong.gsql", cwd=tmp_path)
    assert result.code == 2
    assert result.out == b""
    places = re.findall(r"^wrong\.gsql:(\d+):(\d+): error: ", result.err, re.MULTILINE)
    assert [int(line) for line, _ in places] == [1, 2, 3, 4, 5]
    assert result.err.count("^") >= 5
    assert result.err.count("hint: ") >= 5


@pytest.mark.parametrize("path", DEMO_QUERIES, ids=lambda path: path.stem)
def test_the_demos_queries_are_right(path: Path) -> None:
    result = gigastream("check", path)
    assert result.code == 0
    assert result.err == ""
    assert re.match(rf"{path.stem}: (minute|at) timestamp, ", result.lines[0])


def test_explain_shows_both_levels_order_and_punctuation() -> None:
    text = gigastream("explain", "-e", QUERY).out.decode()
    for expected in (
        "query query",
        "FROM TCP",
        "high level",
        "completes  count(*) = sum of count0",
        "increasing, ordered",
        "---- border ----",
        "low level",
        "prefilter  bit 0: destPort = 80",
        "increasing, progressing  punctuation of timestamp b ->",
        "bit 0  cost 2  destPort = 80  for query_low",
    ):
        assert expected in text


def test_explain_as_json_is_a_graph_whose_inputs_come_first() -> None:
    plan = json.loads(gigastream("explain", "--json", "-e", QUERY).out)
    names = [node["name"] for node in plan["nodes"]]
    for place, node in enumerate(plan["nodes"]):
        assert set(node["inputs"]) <= set(names[:place])
    assert [node["kind"] for node in plan["nodes"]] == ["PartialAggregate", "Aggregate"]
    assert plan["outputs"] == [{"query": "query", "input": "query"}]


def test_explain_shows_the_c_and_the_graph() -> None:
    assert "gs_query_set" in gigastream("explain", "--c", "-e", QUERY).out.decode()
    assert gigastream("explain", "--dot", "-e", QUERY).out.startswith(b"digraph")


def test_two_forms_are_too_many() -> None:
    result = gigastream("explain", "--c", "--dot", "-e", QUERY)
    assert result.code == 2
    assert "not allowed with" in result.err


def test_functions_lists_what_the_language_and_the_configuration_have() -> None:
    listed = gigastream("functions").out.decode()
    for name in (*AGGREGATES, *LANGUAGE, "str_regex_match"):
        assert f"\n{name}(" in listed
    assert gigastream("functions", "sum").lines[1].endswith("ullong llong float  an aggregate")


@pytest.mark.parametrize(
    "shown",
    [
        "ARG_MAX(any value, a number, a timestamp or an address)",
        "STRING_AGG(a whole number, an address or a string, string CONST)",
        "CAT_AGGR(string CONST, a whole number, an address or a string)",
        "TIME_AVG(a number, from, to)",
    ],
)
def test_functions_shows_every_argument_of_an_aggregate(shown: str) -> None:
    assert gigastream("functions", shown.split("(")[0]).lines[1].startswith(shown + " ")


def test_a_list_that_finds_no_room_is_told_in_words() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "queries"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"gigastream: No space left on device\n")


def test_compile_makes_an_object_that_can_be_loaded(tmp_path: Path) -> None:
    target = tmp_path / "web.so"
    result = gigastream("compile", "-e", QUERY, "-o", target)
    assert result.lines == [str(target)]
    assert ctypes.c_char.in_dll(ctypes.CDLL(str(target)), "gs_query_set")

# SPDX-License-Identifier: Apache-2.0
"""What waits for a time that stands still is refused, also where the time is another query's."""

from __future__ import annotations

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream
from plan.planned import checked, planned

from gigastream.gsql.diagnostics import GsqlError
from gigastream.plan import plan_queries

STANDING = ["UMIN(time, 100)", "time >> 32", "100/(time + 1)", "-UMIN(time, 100)", "-(time >> 32)"]
GOING = [
    "time",
    "time/60",
    "time >> 6",
    "UMAX(time, 100)",
    "UMIN(time, 2*time)",
    "-time",
    "time_ms",
]
READERS = {
    "group": "SELECT t, count(*) AS n FROM query GROUP BY t",
    "group of": "SELECT g, count(*) AS n FROM query GROUP BY t/60 AS g",
    "distinct": "SELECT DISTINCT t, len FROM query",
    "window": "SELECT count(*) AS n FROM query [RANGE 5, SLIDE 1, WA t]",
    "order": "SELECT t, len, count(*) AS n FROM query GROUP BY t, len ORDER BY n LIMIT 3",
    "union": "SELECT t, count(*) AS n FROM query UNION query GROUP BY t",
    "sort": "MERGE a.t : b.t FROM both a, query b",
}
BOTH = "DEFINE { query_name both; visibility internal; } SELECT t, len FROM query UNION query"


def pairs(times: list[str]) -> list[tuple[str, str]]:
    """Each with each reader that it may have: a window is over what rises."""
    found = [(time, reader) for time in times for reader in READERS]
    return [each for each in found if each[1] != "window" or each[0][0] not in "-1"]


def through(time: str, reader: str) -> str:
    first = f"SELECT {time} AS t, len FROM TCP"
    return f"{first}; {BOTH}; DEFINE {{ query_name last; }} {READERS[reader]}"


def refusal(text: str) -> tuple[str, str]:
    """The text that is marked, and what is said of it."""
    with pytest.raises(GsqlError) as failure:
        planned(text)
    (found,) = failure.value.diagnostics
    assert found.code == "standing-time"
    return found.span.text, found.message.partition(":")[0]


@pytest.mark.parametrize("time", ["time/1000000000", "time >> 30"])
def test_what_has_its_last_value_in_a_later_age_goes_on(time: str) -> None:
    planned(f"SELECT t, count(*) FROM TCP GROUP BY {time} AS t")


@pytest.mark.parametrize("time", STANDING)
def test_in_one_query(time: str) -> None:
    said = time, f"{time} stands still as time goes on"
    assert refusal(f"SELECT t, count(*) FROM TCP GROUP BY {time} AS t") == said
    assert refusal(f"SELECT DISTINCT {time} AS t FROM TCP") == said
    low = "DEFINE { lfta_aggregation; }"
    assert refusal(f"{low} SELECT t, count(*) FROM TCP GROUP BY {time} AS t") == said


@pytest.mark.parametrize(("time", "reader"), pairs(STANDING))
def test_through_a_query(time: str, reader: str) -> None:
    marked, message = refusal(through(time, reader))
    assert message.endswith(" stands still as time goes on")
    if reader in ("group", "distinct", "order", "union"):
        assert (marked, message) == ("t", "t stands still as time goes on")
    elif reader == "group of":
        assert marked == "t/60"


@pytest.mark.parametrize(("time", "reader"), pairs(GOING))
def test_what_goes_on_is_planned(time: str, reader: str) -> None:
    planned(through(time, reader))


@pytest.mark.parametrize(("reader", "is_offered"), [("group", True), ("sort", False)])
def test_one_answer_is_offered_to_groups_alone(reader: str, is_offered: bool) -> None:
    with pytest.raises(GsqlError) as failure:
        planned(through("UMIN(time, 100)", reader))
    (found,) = failure.value.diagnostics
    assert ("no_temporal_aggr" in (found.hint or "")) == is_offered


def test_one_that_goes_on_is_enough() -> None:
    planned("SELECT count(*) FROM TCP GROUP BY UMIN(time, 100) AS t, time/60 AS tb")


def test_of_several_all_are_named() -> None:
    text = "SELECT count(*) FROM TCP GROUP BY UMIN(time, 100) AS t, len, time >> 32 AS s"
    said = "UMIN(time, 100) and time >> 32 stand still as time goes on"
    assert refusal(text) == ("UMIN(time, 100)", said)


def test_a_stream_of_a_union_that_stands_holds_the_others_back() -> None:
    text = (
        "SELECT UMIN(time, 100) AS t FROM TCP; "
        "DEFINE { query_name other; } SELECT time AS t FROM UDP; "
        "DEFINE { query_name last; } SELECT t, count(*) AS n FROM query UNION other GROUP BY t"
    )
    assert refusal(text)[0] == "t"


def test_who_asks_for_one_answer_gets_it() -> None:
    reader = f"no_temporal_aggr; }} {READERS['group']}"
    text = f"SELECT UMIN(time, 100) AS t FROM TCP; DEFINE {{ query_name last; {reader}"
    assert planned(text).warnings == ()


def test_over_input_that_ends_a_warning_says_so() -> None:
    plan = plan_queries(checked(through("UMIN(time, 100)", "group")), is_finite=True)
    (warning,) = plan.warnings
    assert (warning.severity, warning.code) == ("warning", "answered-once")
    text = "SELECT t, count(*) AS n FROM TCP GROUP BY UMIN(time, 100) AS t"
    found = gigastream("run", "-r", DEMO_CAPTURE, "-o", "csv", "-e", text)
    assert found.code == 0
    assert "warning: UMIN(time, 100) stands still as time goes on: what it holds comes" in found.err
    assert found.lines[1].startswith("100,")

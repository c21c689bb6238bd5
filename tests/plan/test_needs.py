# SPDX-License-Identifier: Apache-2.0
"""What consumers look at, as LFTAs learn it; and that a punctuation changes it when it should."""

from __future__ import annotations

import pytest
from plan.planned import node, planned

from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.rules.describe_needs import MAX_NEEDS

SECOND = 1_000_000_000


def needs(text: str, name: str) -> list[str]:
    low = node(planned(text), name)
    assert isinstance(low, LowNode)
    return [function.forward_text for function in low.needs]


def reader(of: str, group: str, name: str = "b") -> str:
    return (
        f"DEFINE {{ query_name {name}; }} SELECT g, count(*) AS n FROM {of} GROUP BY {group} AS g"
    )


def test_an_aggregation_below_needs_its_own_windows() -> None:
    text = "SELECT tb, count(*) AS n FROM PKT GROUP BY time_ms/60000 AS tb"
    assert needs(text, "query_low") == ["b -> floor(b/1000000)/60000"]


def test_a_selection_that_nobody_groups_needs_nothing() -> None:
    assert needs("SELECT time FROM PKT", "query") == []
    text = "SELECT time FROM PKT; DEFINE { query_name b; } SELECT time FROM query"
    assert needs(text, "query") == []


def test_needs_go_down_through_selections_and_unions() -> None:
    one = "SELECT time_ms AS t FROM TCP; DEFINE { query_name two; } SELECT time_ms AS t FROM UDP;"
    moved = "DEFINE { query_name moved; } SELECT t + 5000 AS s FROM query UNION two;"
    text = f"{one} {moved} {reader('moved', 's/1000')}"
    expected = ["b -> (floor(b/1000000) + 5000)/1000"]
    assert needs(text, "query") == expected
    assert needs(text, "two") == expected


def test_each_need_is_told_once_and_no_more_than_the_engine_holds() -> None:
    rows = "SELECT timestamp AS t FROM PKT;"
    twice = "; ".join([reader("query", "t/10", "b"), reader("query", "t/10", "c")])
    assert needs(f"{rows} {twice}", "query") == ["b -> b/10"]
    many = "; ".join(reader("query", f"t/{n}", f"b{n}") for n in range(2, 9))
    assert len(needs(f"{rows} {many}", "query")) == MAX_NEEDS


def test_an_aggregation_between_hides_what_is_above_it() -> None:
    text = "SELECT s, count(*) AS n FROM PKT GROUP BY time AS s; " + reader("query", "s/60")
    assert needs(text, "query_low") == ["b -> min(floor(b/1000000000), 4294967295)"]


@pytest.mark.parametrize("second", [59, 60, 61, 119, 120])
def test_a_need_changes_with_the_window(second: int) -> None:
    low = node(planned("SELECT tb FROM PKT GROUP BY time/60 AS tb"), "query_low")
    assert isinstance(low, LowNode)
    assert low.needs[0].forward(second * SECOND) == second // 60
    assert low.needs[0].forward(second * SECOND - 1) == (second - 1) // 60

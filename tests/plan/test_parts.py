# SPDX-License-Identifier: Apache-2.0
"""Which nodes of a plan threads have for their part of the groups, and which are above."""

from __future__ import annotations

import pytest

from gigastream.plan.parts import parts_of_plan
from tests.answers.engine import plan_of
from tests.engine.divided_queries import TEXTS

GROUPS = (
    "DEFINE { query_name a; } SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time AS tb, srcIP"
)
OVER = GROUPS + "; DEFINE { query_name b; } "

CUTS = {
    "groups": (GROUPS, "a_low a a", "", ""),
    "one group a window": (
        "SELECT tb, count(*) AS n FROM IPV4 GROUP BY time AS tb",
        "query_low",
        "query_low",
        "query query",
    ),
    "the first": (
        GROUPS + " ORDER BY count(*) LIMIT 3",
        "a_low a_groups",
        "a_groups",
        "a a",
    ),
    "groups of groups": (
        OVER + "SELECT a.tb, max(a.n) AS m FROM a GROUP BY a.tb",
        "a_low a",
        "a",
        "a b b",
    ),
    "a selection": (OVER + "SELECT a.tb, a.n FROM a WHERE a.n > 3", "a_low a a b b", "", ""),
    "a selection that hides the window": (
        OVER + "SELECT a.srcIP, a.n FROM a WHERE a.n > 3",
        "a_low a",
        "a",
        "a b b",
    ),
    "what hides it is read below nothing": (
        OVER + "SELECT a.srcIP, a.n, a.tb % 5 AS tb FROM a; DEFINE { query_name c; } "
        "SELECT b.n FROM b WHERE b.n > 3",
        "a_low a",
        "a",
        "a b b c c",
    ),
    "windows that are not shown": (
        "SELECT srcIP, count(*) AS n FROM IPV4 GROUP BY time AS tb, srcIP",
        "query_low",
        "query_low",
        "query query",
    ),
    "one window for all time": (
        "DEFINE { query_name a; no_temporal_aggr true; } SELECT srcIP, count(*) AS n FROM IPV4 "
        "GROUP BY srcIP ORDER BY n LIMIT 3",
        "a_low a_groups",
        "a_groups",
        "a a",
    ),
}
"""A text; the nodes below, those of them that are read above, and those above."""


@pytest.mark.parametrize("name", sorted(CUTS))
def test_where_a_plan_is_cut(name: str) -> None:
    text, *expected = CUTS[name]
    plan = plan_of(text)
    parts = parts_of_plan(plan)
    found = [
        " ".join(plan.nodes[at].name for at in numbers)
        for numbers in (parts.below, parts.crossing, parts.above)
    ]
    assert found == expected
    assert parts.have_groups == (len(parts.below) > len(plan.low))


def test_a_query_that_others_read_above_leaves_once() -> None:
    """Its output and its stream have one name."""
    plan = plan_of(TEXTS["cut"])
    parts = parts_of_plan(plan)
    names = [plan.nodes[at].name for at in parts.below]
    assert len(names) == len(set(names))
    assert sorted((*parts.below, *parts.above)) == list(range(len(plan.nodes)))


LIGHT = ("groups", "one group a window", "the first", "a selection", "one window for all time")


@pytest.mark.parametrize("name", sorted(CUTS))
def test_what_is_above_is_little_or_not(name: str) -> None:
    parts = parts_of_plan(plan_of(CUTS[name][0]))
    hides = name in ("a selection that hides the window", "what hides it is read below nothing")
    assert parts.is_light_above == (name in LIGHT or hides)

# SPDX-License-Identifier: Apache-2.0
"""Which LFTAs fill one table, by what they are asked."""

from __future__ import annotations

import pytest
from plan.planned import node, planned

from gigastream.plan.plan import Plan
from gigastream.plan.rules.share_groups import MOST_MEMBERS, unshared
from gigastream.plan.to_json import to_json

FIRST = "SELECT tb, srcIP, count(*) AS n FROM IPV4 WHERE len > 99 GROUP BY time/60 AS tb, srcIP"
TOGETHER = {
    "another predicate": FIRST.replace("> 99", "< 50"),
    "other aggregates": FIRST.replace("count(*)", "avg(len)"),
    "other names, another order": "SELECT s, m, max(len) AS n FROM IPV4 GROUP BY srcIP AS s, "
    "time/60 AS m",
    "a predicate that calls a function": FIRST.replace("len > 99", "100/len > 1"),
    "one value, but of many packets": FIRST.replace("len > 99", "protocol = 6"),
    "above, another query": FIRST.replace("> 99", "> 9") + " HAVING count(*) > 3",
}
APART = {
    "another window": FIRST.replace("time/60", "time/30").replace("> 99", "> 9"),
    "another group": FIRST.replace("srcIP", "destIP"),
    "one group more": FIRST.replace("srcIP", "srcIP, destIP"),
    "another protocol": FIRST.replace("IPV4", "TCP"),
    "another table": "DEFINE { query_name b; aggregate_slots 64; } " + FIRST,
    "another flush": "DEFINE { query_name b; flush lazy; } " + FIRST.replace("> 99", "> 9"),
    "few packets": FIRST.replace("len > 99", "len = 99"),
    "an argument without a value": FIRST.replace("count(*)", "sum(100/(len - 60))"),
    "an argument that may be NULL": FIRST.replace(
        "count(*)", "sum(CASE WHEN len > 60 THEN len END)"
    ),
}


def both(second: str) -> Plan:
    define = "" if second.startswith("DEFINE") else "DEFINE { query_name b; } "
    return planned(f"DEFINE {{ query_name a; }} {FIRST}; {define}{second}")


@pytest.mark.parametrize("second", TOGETHER.values(), ids=TOGETHER)
def test_they_fill_one_table(second: str) -> None:
    plan = both(second)
    assert [low.table_of for low in plan.low] == [("a_low", "b_low")] * 2
    assert [low.has_table_of_another for low in plan.low] == [False, True]


@pytest.mark.parametrize("second", APART.values(), ids=APART)
def test_each_has_its_own(second: str) -> None:
    plan = both(second)
    assert [low.table_of for low in plan.low] == [()] * 2


@pytest.mark.parametrize(("group", "is_one"), [("ttl", True), ("length(text(ttl))", False)])
def test_groups_that_make_strings_have_their_own(group: str, is_one: bool) -> None:
    text = f"SELECT tb, g FROM IPV4 WHERE len > {{}} GROUP BY time/60 AS tb, {group} AS g"
    plan = planned(f"{text.format(9)}; DEFINE {{ query_name b; }} {text.format(8)}")
    assert [bool(low.table_of) for low in plan.low] == [is_one] * 2


def test_temporal_groups_are_compared_in_their_order() -> None:
    times = "SELECT a, b, count(*) AS n FROM IPV4 WHERE len > {} GROUP BY {}"
    groups = ("time/60 AS a, time_ms/7 AS b", "time_ms/7 AS b, time/60 AS a")
    plans = [
        planned(f"{times.format(9, groups[0])}; DEFINE {{ query_name b; }} {times.format(8, of)}")
        for of in groups
    ]
    assert [bool(plan.low[0].table_of) for plan in plans] == [True, False]


def test_a_slot_has_a_bit_for_each_and_no_more() -> None:
    texts = (FIRST.replace("> 99", f"> {at}") for at in range(MOST_MEMBERS + 3))
    queries = (f"DEFINE {{ query_name q{at}; }} {text}" for at, text in enumerate(texts))
    plan = planned(";".join(queries))
    assert len(node(plan, "q0_low").table_of) == MOST_MEMBERS
    assert node(plan, f"q{MOST_MEMBERS}_low").table_of == tuple(
        f"q{MOST_MEMBERS + at}_low" for at in range(3)
    )


def test_it_is_no_part_of_what_is_answered() -> None:
    plan = both(TOGETHER["another predicate"])
    apart = unshared(plan)
    assert [low.table_of for low in apart.low] == [()] * 2
    assert to_json(apart) == to_json(plan)

# SPDX-License-Identifier: Apache-2.0
"""Names of columns below the border: readers of spools find columns by them, each its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan.planned import checked, node, planned

from gigastream.plan import plan_queries

GROUPED = "SELECT tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb"
DECLARED = """PROTOCOL OWN (IPV4) {
    uint carried_1 own_carried; uint Carried_2 own_second; uint pane own_pane;
}
uint FUN [LFTA_ONLY, COST LOW] below(uint);
uint FUN [COST HIGH] above(uint);
"""


def names(plan_text: str, definitions: Path | None = None) -> list[str]:
    plan = plan_queries(checked(plan_text, definitions=definitions))
    return [column.name for column in node(plan, "query_low").schema.columns]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("len", ["len", "count0"]),
        ("len AS count1", ["count1", "count0"]),
        ("len AS count0", ["count0", "count0_2"]),
        ("len AS Count0", ["Count0", "count0_2"]),
        ("len AS count0_2, caplen AS count0", ["count0_2", "count0", "count0_3"]),
    ],
)
def test_a_group_variable_keeps_its_name(groups: str, expected: list[str]) -> None:
    assert names(f"{GROUPED}, {groups}") == ["tb", *expected]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("first0", ["first0_2", "first0_2_ts", "first0_2_if", "first0_2_pos"]),
        ("first0_if", ["first0_2", "first0_2_ts", "first0_2_if", "first0_2_pos"]),
        ("first0_n", ["first0", "first0_ts", "first0_if", "first0_pos"]),
    ],
)
def test_the_columns_of_an_aggregate_are_named_alike(group: str, expected: list[str]) -> None:
    text = f"SELECT tb, first(len) AS f FROM TCP GROUP BY time/60 AS tb, len AS {group}"
    assert names(text) == ["tb", group, *expected]


def test_explain_says_what_is_called_how() -> None:
    plan = planned(f"{GROUPED}, len AS count0")
    low, high = node(plan, "query_low"), node(plan, "query")
    assert dict(low.details(plan))["keeps"] == ("count0_2 = count of rows",)
    assert dict(high.details(plan))["completes"] == ("count(*) = sum of count0_2",)


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """Definitions whose fields are called as we call columns."""
    (tmp_path / "own.gsql").write_text(DECLARED)
    (tmp_path / "own.h").write_text("")
    return tmp_path / "own.gsql"


def test_what_is_carried_is_not_called_as_a_field(declared: Path) -> None:
    text = "SELECT carried_1, below(len), below(caplen), Carried_2 FROM OWN WHERE above(len) > 1"
    assert names(text, declared) == ["carried_1", "carried_1_2", "carried_2", "Carried_2_2", "len"]


def test_a_pane_is_not_called_as_a_group_variable(declared: Path) -> None:
    text = "SELECT count(*) AS n FROM OWN [RANGE 2 min, SLIDE 1 min, WA time] GROUP BY -pane"
    assert names(text, declared)[:2] == ["pane", "pane_2"]

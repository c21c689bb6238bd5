# SPDX-License-Identifier: Apache-2.0
"""The plan as data: serialisable, complete, stable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from plan.planned import planned
from plan.test_explain import FILES, plan_of

from gigastream.gsql.expressions import Expression
from gigastream.plan.to_json import KEYS, to_json

QUERY = "SELECT tb, srcIP, avg(len) AS a FROM TCP WHERE destPort = 80 GROUP BY time/60 AS tb, srcIP"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects within a value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from objects(item)


def test_options_are_told_as_they_are_given() -> None:
    """Also where they say what goes without saying: a reader sees that it was asked for."""
    given = "select_lfta no; real_time FALSE; lfta_aggregation 0; no_temporal_aggr off;"
    plan = planned(f"DEFINE {{ query_name q; visibility External; {given} }} {QUERY}")
    low = next(found for found in objects(to_json(plan)) if found.get("options"))
    switches = dict.fromkeys(
        ("select_lfta", "real_time", "lfta_aggregation", "no_temporal_aggr"), "false"
    )
    assert low["options"] == {"query_name": "q", "visibility": "external", **switches}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_plan_survives_json_and_is_the_same_each_time(path: Any) -> None:
    plan = plan_of(path)
    found = to_json(plan)
    assert json.loads(json.dumps(found)) == found
    assert to_json(plan_of(path)) == found
    assert len(found["nodes"]) == sum(not node.is_output for node in plan.nodes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_inputs_go_by_name_and_come_first(path: Any) -> None:
    found = to_json(plan_of(path))
    seen: set[str] = set()
    for node in found["nodes"]:
        assert set(node["inputs"]) <= seen
        assert node["name"] not in seen
        seen.add(node["name"])
    assert all(output["input"] in seen for output in found["outputs"])


def test_expressions_are_objects_with_their_types_and_no_places() -> None:
    kinds = {cls.__name__: cls for cls in Expression.__subclasses__()}
    found = [o for o in objects(to_json(planned(QUERY))) if o.get("kind") in kinds]
    assert {"FieldRef", "ColumnRef", "Operation", "Constant"} <= {o["kind"] for o in found}
    for item in found:
        assert {"type", "temporal", "nullable"} <= set(item)
        assert "span" not in item
        own = {KEYS.get(field.name, field.name) for field in fields(kinds[item["kind"]])}
        assert own - {"span", "is_chosen", "flexible", "cost"} == set(item) - {"kind"}


def test_every_column_says_type_order_and_how_punctuation_comes() -> None:
    node = to_json(planned(QUERY))["nodes"][0]
    assert [column["type"] for column in node["schema"]] == ["uint", "INET", "ullong", "ullong"]
    assert node["order"] == ["progressing", None, None, None]
    assert node["bounds"][0]["forward"] == "b -> min(floor(b/1000000000), 4294967295)/60"
    assert node["bounds"][0]["inverse"] == "v -> 1000000000*60*v"
    assert node["bounds"][1:] == [None, None, None]


def test_bytes_are_in_hexadecimal() -> None:
    text = "SELECT time FROM TCP WHERE srcIP = IPV6_VAL'2001:db8::1' OR interface = 'é'"
    values = {o["value"] for o in objects(to_json(planned(text))) if o.get("kind") == "Constant"}
    assert values == {"20010db8000000000000000000000001", "c3a9"}


def test_the_plan_is_the_same_however_the_text_is_laid_out() -> None:
    one, other = to_json(planned(QUERY)), to_json(planned(QUERY.replace(" AND ", "  and ")))
    assert one == other

# SPDX-License-Identifier: Apache-2.0
"""Windows that overlap are made of panes, but where groups keep values: of rows, then."""

from __future__ import annotations

import pytest
from plan.planned import planned

OVERLAPPING = "[RANGE 5 min, SLIDE 1 min, WA time]"
TUMBLING = "[RANGE 5 min, WA time]"
KEEPING = (
    "count(DISTINCT srcIP)",
    "avg(DISTINCT len) FILTER (WHERE len > 9)",
    "histogram(len)",
    "mode(srcIP)",
)


def titles(call: str, window: str) -> list[str]:
    nodes = planned(f"SELECT window_end, {call} AS n, count(*) AS m FROM IPV4 {window}").nodes
    return [node.title for node in nodes if "aggregation" in node.title]


@pytest.mark.parametrize("call", KEEPING)
def test_what_keeps_every_value_is_of_rows(call: str) -> None:
    assert titles(call, OVERLAPPING) == ["sliding aggregation of rows"]
    assert titles(call, TUMBLING) == ["aggregation"]


def test_what_is_summed_up_is_of_panes() -> None:
    assert "sliding aggregation" in titles("sum(len)", OVERLAPPING)

# SPDX-License-Identifier: Apache-2.0
"""FIRST and LAST of rows: by a temporal column, and refused where there is none (GSQL.md §6.2)."""

from __future__ import annotations

import pytest
from plan.planned import planned

from gigastream.gsql.diagnostics import GsqlError

ROWS = "; DEFINE { query_name a; } SELECT time, srcIP, len FROM IPV4"
UNORDERED = "; DEFINE { query_name a; } SELECT srcIP, len FROM IPV4"
AT_THE_END = "DEFINE { no_temporal_aggr; } SELECT"


def test_a_temporal_column_says_which_comes_first() -> None:
    planned(f"{AT_THE_END} srcIP, last(len) AS l, first(len) AS f FROM a GROUP BY srcIP{ROWS}")


@pytest.mark.parametrize(
    "text",
    [
        f"{AT_THE_END} srcIP, last(len) AS l FROM a GROUP BY srcIP{UNORDERED}",
        f"{AT_THE_END} first(a.srcIP) AS f FROM TCP a, TCP b WHERE a.time = b.time",
    ],
)
def test_without_one_nothing_does(text: str) -> None:
    with pytest.raises(GsqlError) as caught:
        planned(text)
    (error,) = caught.value.diagnostics
    assert error.message.endswith("of rows in no order")
    assert error.span.text in ("last(len)", "first(a.srcIP)")


def test_any_value_needs_no_order() -> None:
    planned(f"{AT_THE_END} any_value(len) AS v, count(*) AS n FROM a{UNORDERED}")

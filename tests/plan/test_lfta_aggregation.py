# SPDX-License-Identifier: Apache-2.0
"""DEFINE lfta_aggregation is done or refused, and never ignored."""

from __future__ import annotations

import pytest
from plan.planned import planned

from gigastream.gsql.diagnostics import GsqlError

OPTION = "DEFINE { query_name last; lfta_aggregation; }"
ROWS = "SELECT time, len FROM TCP"
BOTH = "FROM TCP a, UDP b WHERE a.time = b.time"
REFUSED = {
    "rows": f"{ROWS}; {OPTION} SELECT t, count(*) AS n FROM query GROUP BY time/60 AS t",
    "distinct rows": f"{ROWS}; {OPTION} SELECT DISTINCT time, len FROM query",
    "rows beside packets": (
        f"{ROWS}; {OPTION} SELECT t, count(*) AS n FROM query UNION UDP GROUP BY time/60 AS t"
    ),
    "joined rows": f"{OPTION} SELECT t, count(*) AS n {BOTH} GROUP BY a.time/60 AS t",
    "a string": f"{OPTION} SELECT t, interface, count(*) FROM TCP GROUP BY time/60 AS t, interface",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_not_aggregated_low_is_refused(text: str) -> None:
    with pytest.raises(GsqlError) as failure:
        planned(text)
    (found,) = failure.value.diagnostics
    assert found.code == "lfta-aggregation"
    assert found.message.startswith("last cannot be aggregated at the low level alone: ")
    assert found.span.text in text.rpartition(";")[2] or found.span.text.startswith("DEFINE")


def test_a_selection_and_an_option_that_is_off_are_left_alone() -> None:
    planned(f"{ROWS}; {OPTION} SELECT time FROM query")
    off = OPTION.replace("lfta_aggregation", "lfta_aggregation off")
    planned(f"{ROWS}; {off} SELECT t, count(*) AS n FROM query GROUP BY time/60 AS t")

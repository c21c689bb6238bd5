# SPDX-License-Identifier: Apache-2.0
"""More temporal columns than the engine follows are refused; as many as it follows are answered."""

from __future__ import annotations

import re

import pytest
from captures import DEMO_CAPTURE, ROOT

import gigastream
from gigastream.gsql.diagnostics import GsqlError
from gigastream.plan.limits import MAX_TEMPORAL


def _columns(count: int) -> str:
    return ", ".join(f"time/{n + 60} AS c{n}" for n in range(count))


QUERIES = {
    "selection": lambda n: f"SELECT {_columns(n)} FROM TCP",
    "aggregation": lambda n: f"SELECT count(*) AS packets FROM TCP GROUP BY {_columns(n)}",
    "order": lambda n: (
        f"SELECT {', '.join(f't + {i} AS c{i}' for i in range(n - 1))}, t, count(*) AS packets "
        "FROM TCP GROUP BY time/60 AS t ORDER BY packets LIMIT 9"
    ),
}


def test_the_limit_is_the_engines() -> None:
    text = (ROOT / "csrc" / "abi" / "gs_query_set.h").read_text()
    found = re.search(r"#define GS_TEMPORAL_MAX (\d+)", text)
    assert found is not None
    assert int(found[1]) == MAX_TEMPORAL


@pytest.mark.parametrize("kind", QUERIES)
def test_the_limit_is_reached(kind: str) -> None:
    batches = list(gigastream.run(QUERIES[kind](MAX_TEMPORAL), DEMO_CAPTURE))
    assert sum(batch.num_rows for batch in batches) > 0


@pytest.mark.parametrize("kind", ["selection", "aggregation"])
def test_one_more_is_refused(kind: str) -> None:
    with pytest.raises(GsqlError, match=f"more than {MAX_TEMPORAL} temporal columns") as refusal:
        list(gigastream.run(QUERIES[kind](MAX_TEMPORAL + 1), DEMO_CAPTURE))
    assert refusal.value.diagnostics[0].span.start > 0

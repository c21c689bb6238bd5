# SPDX-License-Identifier: Apache-2.0
"""More temporal columns than the engine follows are refused; as many as it follows are answered."""

from __future__ import annotations

import re

import pytest
from captures import DEMO_CAPTURE, ROOT
from plan.planned import planned

import gigastream
from gigastream.gsql.diagnostics import GsqlError
from gigastream.plan import limits
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
    text = (ROOT / "csrc" / "abi" / "gs_lfta_table.h").read_text()
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


def test_the_size_of_a_set_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"DEFINE {{ query_name q{n}; }} SELECT time, len + 1 AS x FROM PKT" for n in range(3)]
    monkeypatch.setattr(limits, "MAX_PARTS_OF_SET", 100)
    list(gigastream.run(texts[0], DEMO_CAPTURE))
    with pytest.raises(GsqlError, match="the queries up to this one") as refusal:
        list(gigastream.run(";\n".join(texts), DEMO_CAPTURE))
    assert refusal.value.diagnostics[0].span.line == 2


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("len = 1", 3),
        ("len IN [1, 2, 3, 4, 5, 6]", 2),
        ("len = 1 OR len = 2 OR len = 3 OR len = 4 OR len = 5 OR len = 6", 2),
        ("srcIP IN [IP_VAL'10.0.0.0/8', IP_VAL'11.0.0.0/8'] OR len = 1", 6),
        ("len = 1 OR len = 2", 7),
    ],
)
def test_a_list_of_constants_is_one_part(condition: str, parts: int) -> None:
    query = planned(f"SELECT time FROM IPV4 WHERE {condition}")
    assert sum(map(limits.parts_of, query.prefilter)) == parts

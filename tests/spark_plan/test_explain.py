# SPDX-License-Identifier: Apache-2.0
"""What explain says of where open windows are."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from cli.command import gigastream

GROUPS = "SELECT tb, count(*) AS packets FROM TCP GROUP BY time/60 AS tb"
ROWS = "SELECT time, srcIP FROM TCP"
BANDS = """SELECT a.time, a.len FROM TCP a, UDP b
    WHERE a.srcIP = b.srcIP AND a.time >= b.time - 2 AND a.time <= b.time"""

BOTH = f"""SELECT tb, packets FROM groups UNION rows;
    DEFINE {{ query_name groups; visibility internal; }} {GROUPS};
    DEFINE {{ query_name rows; visibility internal; }}
    SELECT time/60 AS tb, CAST(len AS ullong) AS packets FROM TCP"""


@pytest.mark.parametrize(
    ("query", "state"),
    [
        (GROUPS, "none: a micro-batch is the windows that a punctuation ends"),
        (ROWS, "none: rows leave at once"),
        (BANDS, "none: a micro-batch is the windows that a punctuation ends"),
        (BOTH, "in Spark's store: not all that is held is windows"),
    ],
    ids=["groups", "rows", "bands", "both"],
)
def test_where_open_windows_are_is_said(query: str, state: str) -> None:
    explained = gigastream("explain", "--on", "spark", "-e", query)
    assert explained.code == 0, explained.err
    (said, *_) = [line for line in explained.lines if line.startswith("    state ")]
    assert said.split(maxsplit=1)[1].startswith(state)

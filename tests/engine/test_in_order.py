# SPDX-License-Identifier: Apache-2.0
"""The in-order forms: the same rows as the others, and more of them held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from gigastream.sessions.high_session import HighSession
from gigastream.settings import Settings
from tests.engine.stepping import INFINITE, NOTHING, Out, Row, out_of, plan_of
from tests.engine.test_ordered import STREAMS, push

ROWS = """
DEFINE {{ query_name first; visibility internal; }}
SELECT time, time_ms, srcIP, len FROM east.IPV4;
DEFINE {{ query_name second; visibility internal; }}
SELECT time, time_ms, srcIP, len FROM west.IPV4;
DEFINE {{ query_name third; visibility internal; }}
SELECT time, time_ms, srcIP, len FROM north.IPV4;
DEFINE {{ query_name counted; {option} }}
SELECT tens, count(*) AS n, sum(len) AS bytes FROM first UNION second UNION third
GROUP BY time/10 AS tens;
DEFINE {{ query_name greatest; {option} }}
SELECT tens, srcIP, max(len) AS longest FROM first UNION second UNION third
GROUP BY time/10 AS tens, srcIP ORDER BY longest DESC LIMIT 1;
DEFINE {{ query_name kept; {option} }}
SELECT time, len FROM first UNION second WHERE len > 3
"""


def streams() -> list[Out]:
    """A minute of two streams; the third says nothing but at its end."""
    found = []
    for second in range(60):
        for port in ("east", "west"):
            rows: list[Row] = [(second, second * 1000, at % 3 + 1, at) for at in range(8)]
            bounds = (second, NOTHING, NOTHING, NOTHING)
            found.append(Out(port, tuple(rows), bounds, False, False, False, 0, None))
    ends = (INFINITE, INFINITE, NOTHING, NOTHING)
    return [*found, *(Out(port, (), ends, False, True, False, 0, None) for port in STREAMS)]


def run(option: str, batches: Sequence[Out]) -> tuple[dict[str, Counter[Row]], int]:
    """The rows of every query, and the most rows that were held."""
    plan = plan_of(ROWS.format(option=option), tuple(STREAMS))
    rows: dict[str, Counter[Row]] = {}
    most = 0
    with HighSession(plan, tuple(STREAMS), Settings()) as session:
        for batch in batches:
            push(session, batch)
            for event in session.batches():
                rows.setdefault(event.query, Counter()).update(out_of("", event.batch).rows)
            most = max(most, sum(operator.held for operator in session.statistics().operators))
    return rows, most


@pytest.mark.parametrize("option", ["in_order;", "in_order true;"])
def test_the_same_rows_and_more_of_them_held(option: str) -> None:
    """While one input is silent groups are held by one form, and every row by the other."""
    found, held = run("", streams())
    in_order, held_in_order = run(option, streams())
    assert found == in_order
    assert set(found) == {"counted", "greatest", "kept"}
    assert held_in_order > 20 * held


def test_in_order_false_is_as_without_it() -> None:
    assert run("in_order false;", streams()) == run("", streams())

# SPDX-License-Identifier: Apache-2.0
"""What it takes to write a query set as C grows with the set, and not faster."""

from __future__ import annotations

import cProfile
import pstats

from gigastream.codegen.query_set import generate
from tests.engine.stepping import plan_of

JOIN = """DEFINE {{ query_name j{at}; }} SELECT tb, count(*) AS n FROM TCP a, UDP b
WHERE a.time >= b.time - 1 AND a.time <= b.time + 3 AND a.len > {at} AND b.ttl < {at}
GROUP BY a.time/60 AS tb"""


def calls_for(count: int) -> int:
    """The calls that the generation of so many joins of LFTAs of their own takes."""
    plan = plan_of(";\n".join(JOIN.format(at=at) for at in range(count)))
    profile = cProfile.Profile()
    profile.runcall(generate, plan)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_twice_as_many_joins_take_twice_as_much() -> None:
    assert calls_for(32) < 2.2 * calls_for(16)

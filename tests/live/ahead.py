# SPDX-License-Identifier: Apache-2.0
"""A program: count the packets of a device by a clock that is seconds ahead of its timestamps.

    python -m tests.live.ahead DEVICE SECONDS_AHEAD

It says "captures" once the clock is believed, and runs until its stdin ends; then it says the
counters of its source as JSON.
"""

from __future__ import annotations

import json
import select
import sys
import time
from dataclasses import asdict

from gigastream.engine._native import ffi, lib
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.sessions.session import Session
from gigastream.sources.live import LiveSource

QUERY = "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb"
NEVER_NS = -(2**63)
AT_ONCE_NS = 1_000_000


def both_clocks() -> tuple[int, int]:
    """The monotonic and the wall clock at one time: what lies between two readings is a step."""
    while True:
        before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if after_ns - before_ns < AT_ONCE_NS:
            return after_ns, wall_ns


class SessionAhead(Session):
    """A session whose wall clock is ahead."""

    ahead_ns = 0

    def _run(self) -> bool:
        monotonic_ns, wall_ns = both_clocks()
        lib.gs_engine_set_clock(self._engine.native, monotonic_ns, wall_ns + self.ahead_ns)
        return super()._run()


def believes(session: Session) -> bool:
    """Whether a heartbeat on the silent link has read the clock."""
    found = ffi.new("struct gs_source_statistics *")
    lib.gs_engine_source_statistics(session._engine.native, 0, found)
    return bool(found.promise_ns > NEVER_NS)


def main(device: str, seconds: str) -> None:
    """Run."""
    texts = QueryTexts(inline_queries((QUERY,)), interfaces={device: {}})
    plan = plan_queries(check_texts(texts).queries)
    rows = 0
    with SessionAhead(plan, [LiveSource(device, device)]) as session:
        session.ahead_ns = int(float(seconds) * 1e9)
        is_told = False
        for turn in session.turns():
            if not is_told and believes(session):
                print("captures", flush=True)
                is_told = True
            rows += sum(event.batch.row_count for event in turn)
            if select.select([sys.stdin], [], [], 0)[0]:
                session.stop()
        print(json.dumps({**asdict(session.statistics().sources[0]), "rows": rows}))


if __name__ == "__main__":
    main(*sys.argv[1:])

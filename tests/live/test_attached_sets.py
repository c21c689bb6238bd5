# SPDX-License-Identifier: Apache-2.0
"""Query sets that come to a link, and go, while it is captured: on a mock ring and a mock clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from gigastream.engine._native import ffi, lib
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import check
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from tests.engine.stepping import out_of, plan_of
from tests.live.mock_link import SECOND_NS, START_NS, MockLink, frame, seconds

COUNTS = plan_of("SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb", ["link"])
FIRST_TWO = plan_of("SELECT time FROM PKT LIMIT 2", ["link"])
BUDGET = 1 << 20


class Capture:
    """An engine over a mock link, whose clocks stand where it is told."""

    def __init__(self, link: MockLink, engine: Engine) -> None:
        self.link, self.engine = link, engine
        self.sets: list[AttachedSet] = []
        engine.add_link(link.source())

    def attach(self, queries: AttachedSet) -> None:
        self.engine.attach(queries)
        self.sets.append(queries)

    def at(self, second: float, *frames: float) -> list[dict[int, int]]:
        """What each set puts out when it is that second and frames of these seconds have come."""
        self.link.receive(*(frame(START_NS + round(s * SECOND_NS)) for s in frames))
        self.link.retire()
        now_ns = round(second * SECOND_NS)
        lib.gs_engine_set_clock(self.engine.native, now_ns, START_NS + now_ns)
        rows: list[dict[int, int]] = [{} for _ in self.sets]
        is_new, status = True, lib.GS_OK
        while is_new or status == lib.GS_OK:
            error = ffi.new("struct gs_error *")
            status = check(int(lib.gs_engine_run(self.engine.native, BUDGET, 0, error)), error)
            taken = [list(queries.taken()) for queries in self.sets]
            is_new = any(taken)
            for found, events in zip(rows, taken, strict=True):
                found.update(seconds(rows_of(events)))
        return rows


def rows_of(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    return [row for event in events for row in out_of(event.query, event.batch).rows]


@pytest.fixture
def capture() -> Iterator[Capture]:
    with Engine() as engine:
        yield Capture(MockLink(), engine)


def test_a_set_that_comes_later_is_told_the_time_by_the_clock(capture: Capture) -> None:
    """Its windows end on a silent link, too: the first of them has the packets of its rest."""
    with AttachedSet(COUNTS) as early, AttachedSet(COUNTS) as later:
        capture.attach(early)
        capture.engine.start()
        assert capture.at(0.5, 0.1, 0.2, 0.3) == [{}]
        capture.attach(later)
        assert capture.at(1.5, 0.6, 1.1) == [{}, {}]
        found: list[dict[int, int]] = [{}, {}]
        for second in range(2, 7):
            for so_far, new in zip(found, capture.at(second), strict=True):
                so_far.update(new)
        assert found == [{0: 4, 1: 1}, {0: 1, 1: 1}]


def test_a_set_that_goes_has_its_answer_at_once(capture: Capture) -> None:
    with AttachedSet(COUNTS) as leaving, AttachedSet(COUNTS) as staying:
        capture.attach(leaving)
        capture.attach(staying)
        capture.engine.start()
        assert capture.at(0.5, 0.1, 0.2) == [{}, {}]
        capture.engine.detach(leaving)
        assert seconds(rows_of(list(leaving.drained()))) == {0: 2}
        capture.sets.remove(leaving)
        capture.at(0.9, 0.6)
        capture.engine.stop()
        assert capture.at(1) == [{0: 3}]


def test_an_answer_ends_a_set_and_not_the_capture(capture: Capture) -> None:
    with AttachedSet(FIRST_TWO) as first, AttachedSet(COUNTS) as counts:
        capture.engine.attach(first)
        capture.attach(counts)
        capture.engine.start()
        capture.link.receive(*(frame(START_NS + n) for n in range(5)))
        capture.link.retire()
        lib.gs_engine_set_clock(capture.engine.native, 0, START_NS)
        capture.engine.run(BUDGET, 0)
        assert len(rows_of(list(first.taken()))) == 2
        assert first.is_answered
        assert not counts.is_answered
        capture.at(0.5, 0.1, 0.2)
        assert list(first.taken()) == []
        capture.engine.stop()
        assert capture.at(1) == [{0: 7}]

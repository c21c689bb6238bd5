# SPDX-License-Identifier: Apache-2.0
"""A stream of a spool to which nothing is added for longer than its liveness has failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.sessions.low_session import LowSession
from gigastream.sessions.spool_session import SpoolSession
from gigastream.settings import Settings
from gigastream.sources.packets import PacketSource
from gigastream.spool import Entry, Spool, SpoolSettings
from gigastream.spool.plan import plan_of_spools
from tests.engine.traffic import EPOCH_NS, SECOND_NS, packet

TENS = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/10 AS tb"
TEXTS = QueryTexts(inline_queries((TENS,)), interfaces={"east": {}, "west": {}})
FIRST = EPOCH_NS // SECOND_NS // 10
LIVENESS_S = 5
SECONDS = 60
Answers = dict[int, tuple[int, tuple[str, ...]]]


class HeldBack:
    """A track whose lines appear as far in time as the test says."""

    def __init__(self, track: Any) -> None:
        self._track, self._waiting = track, list[Entry]()
        self.until_ns = 0

    def poll(self) -> list[Entry]:
        self._waiting += self._track.poll()
        due = [e for e in self._waiting if e.progress.base_ns <= self.until_ns]
        self._waiting = [entry for entry in self._waiting if entry not in due]
        return due

    def __getattr__(self, name: str) -> Any:
        return getattr(self._track, name)


class Reader:
    """A spool of a minute of east and west, and a clock that the test moves."""

    def __init__(self, folder: Path, on_failure: str) -> None:
        plan = plan_queries(check_texts(TEXTS).queries)
        packets = [packet(at) for at in range(SECONDS)]
        sources = [
            PacketSource(iter([(p.timestamp_ns, p.data) for p in packets]), name)
            for name in ("east", "west")
        ]
        low = LowSession(
            plan, TEXTS, sources, Settings(slack_ns=0), folder, SpoolSettings(segment_rows=1)
        )
        for _ in low.turns():
            pass
        low.close()
        spool, self.now_s = Spool(folder), 100.0
        settings = Settings(liveness_ns=LIVENESS_S * SECOND_NS, on_failure=on_failure)
        self.session = SpoolSession(
            [spool], plan_of_spools([spool]), [TEXTS.interfaces], settings, clock=lambda: self.now_s
        )
        self.tracks: dict[str, HeldBack] = {}
        for feed in self.session.watched:
            feed.track = self.tracks[feed.interface] = HeldBack(feed.track)
        self._turns: Iterator[Any] = self.session.turns()
        self.is_over = False

    def answers(self, **until_s: float) -> Answers:
        """What is answered when the tracks have come so far, until there is nothing more."""
        for name, seconds in until_s.items():
            self.tracks[name].until_ns = EPOCH_NS + round(seconds * SECOND_NS)
        found: Answers = {}
        quiet = 0
        while quiet < 12:  # more than there are lines that answer nothing
            self.now_s += 0.06
            try:
                events = list(next(self._turns))
            except StopIteration:
                self.is_over = True
                break
            quiet = 0 if events else quiet + 1
            for event in events:
                for line in event.batch.csv().decode().splitlines():
                    window, count = map(int, line.split(","))
                    found[window - FIRST] = count, event.batch.missing
        return found

    def west(self) -> tuple[int, bool]:
        (feed,) = (feed for feed in self.session.watched if feed.interface == "west")
        return feed.failures, feed.is_failed


@pytest.fixture
def reader(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Reader]:
    made = Reader(tmp_path, request.param)
    yield made
    made.session.close()


def policy(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("reader", [name], indirect=True)


@policy("go-on")
def test_the_others_go_on_and_name_it(reader: Reader) -> None:
    assert reader.answers(east=35, west=15) == {0: (20, ())}
    assert reader.west() == (0, False)
    reader.now_s += LIVENESS_S
    marked = reader.answers(east=45)
    assert reader.west() == (1, True)
    assert {window: names for window, (_, names) in marked.items()} == dict.fromkeys(
        marked, ("west",)
    )
    assert {2, 3} <= set(marked)
    reader.tracks["west"].until_ns = 1 << 63
    rest = reader.answers(east=1 << 33)
    assert reader.west() == (1, False)
    assert rest[max(rest)] == (20, ())
    assert reader.is_over


@policy("wait")
def test_it_is_waited_for(reader: Reader) -> None:
    assert reader.answers(east=35, west=15) == {0: (20, ())}
    reader.now_s += LIVENESS_S
    assert reader.answers(east=45) == {}
    assert reader.west() == (1, True)
    rest = reader.answers(east=1 << 33, west=1 << 33)
    assert rest == dict.fromkeys(range(1, 6), (20, ()))
    assert reader.west() == (1, False)


@policy("end")
def test_the_reading_ends(reader: Reader) -> None:
    assert reader.answers(east=35, west=15) == {0: (20, ())}
    reader.now_s += LIVENESS_S
    assert 1 in reader.answers(east=45)
    assert reader.is_over
    assert reader.west() == (1, True)


@policy("go-on")
def test_when_only_the_failed_is_left_the_reading_ends(reader: Reader) -> None:
    assert reader.answers(east=35, west=15) == {0: (20, ())}
    reader.now_s += LIVENESS_S
    rest = reader.answers(east=1 << 33)
    assert reader.is_over
    assert {names for _, names in rest.values()} == {("west",)}

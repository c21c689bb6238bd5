# SPDX-License-Identifier: Apache-2.0
"""The overload controller against a model of what it steers: a ring, and a reader with a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigastream.daemon.messages import OverloadSettings, RingStatistics
from gigastream.daemon.overload import (
    MOST_WAITS,
    Decision,
    Load,
    OverloadController,
    fullest_percent,
    told,
)

TICK_S = 0.1
RING = 400_000.0
"""Packets."""
LOOKED_AT, LEFT_OUT = 1e-6, 1e-7
"""Seconds of a core that a packet costs."""


@dataclass
class Link:
    """A ring that fills at a rate and is emptied by one core, as the controller lets it."""

    controller: OverloadController
    rate: Callable[[float], float]
    """Packets a second, by the time in s."""
    costs: Mapping[str, float] = field(default_factory=lambda: {"only": LOOKED_AT})
    """Seconds a packet, by set; in the order in which they were added."""
    priorities: dict[str, int] = field(default_factory=lambda: {"only": 0})
    now_s: float = 0.0
    waiting: float = 0.0
    dropped: float = 0.0
    decision: Decision = field(default_factory=Decision)
    changes: list[tuple[float, Decision]] = field(default_factory=list)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(round(seconds / TICK_S)):
            self._tick()

    def _tick(self) -> None:
        self.now_s += TICK_S
        looked_at = sum(c for name, c in self.costs.items() if name not in self.decision.resting)
        share = 2.0**-self.decision.shift
        cost = LEFT_OUT + share * looked_at
        after = self.waiting + self.rate(self.now_s) * TICK_S - TICK_S / cost
        self.dropped += max(0.0, after - RING)
        self.waiting = min(RING, max(0.0, after))
        load = Load(
            at_ns=round(self.now_s * 1e9),
            ring_percent=int(100 * self.waiting / RING),
            dropped=int(self.dropped),
        )
        before, self.decision = self.decision, self.controller.look(load, self.priorities)
        if before != self.decision:
            self.changes.append((self.now_s, self.decision))


def steady(packets: float) -> Callable[[float], float]:
    return lambda _: packets


def sampling(rate: Callable[[float], float], most: int = 10) -> Link:
    settings = OverloadSettings(policy="sample", most=most)
    return Link(OverloadController(settings), rate)


def shedding(rate: Callable[[float], float], priorities: Mapping[str, int]) -> Link:
    controller = OverloadController(OverloadSettings(policy="shed"))
    return Link(controller, rate, dict.fromkeys(priorities, 1e-6), dict(priorities))


# ---- nothing ----


@pytest.mark.parametrize("policy", ["drop", "sample", "shed"])
def test_who_can_follow_gives_nothing_up(policy: str) -> None:
    link = sampling(steady(0.8e6))
    link.controller.settings = OverloadSettings(policy=policy)  # type: ignore[arg-type]
    link.run(60)
    assert link.changes == []


def test_dropping_is_what_the_ring_does() -> None:
    link = Link(OverloadController(OverloadSettings()), steady(3e6))
    link.run(60)
    assert link.dropped > 0
    assert link.changes == []


# ---- sampling ----


@pytest.mark.parametrize(("packets", "shift"), [(1.5e6, 1), (2.5e6, 2), (4e6, 3)])
def test_the_rate_becomes_what_is_enough(packets: float, shift: int) -> None:
    """It is tried seldom whether a lesser one would do, and little is dropped for that."""
    link = sampling(steady(packets))
    link.run(30)
    dropped, changes = link.dropped, len(link.changes)
    link.run(600)
    assert link.dropped - dropped < 600 * packets / 10_000
    settled = [decision.shift for _, decision in link.changes[changes:]]
    assert set(settled) <= {shift - 1, shift, shift + 1}
    assert len(settled) < 20
    assert link.decision.shift in (shift, shift + 1)


def test_it_comes_back_to_all_by_itself() -> None:
    link = sampling(lambda at: 6e6 if at < 10 else 0.5e6)
    link.run(10)
    assert link.decision.shift >= 3
    link.run(200)
    assert link.decision == Decision()
    shifts = [decision.shift for at, decision in link.changes if at > 10.5]
    assert shifts == sorted(shifts, reverse=True), "one at a time"
    assert all(abs(a - b) == 1 for a, b in pairwise(shifts))


def test_a_ring_that_is_nearly_full_is_given_more() -> None:
    controller = OverloadController(OverloadSettings(policy="sample"))
    assert controller.look(Load(at_ns=0, ring_percent=70), {}).shift == 1
    assert controller.look(Load(at_ns=10**9, ring_percent=95), {}).shift == 3
    assert controller.look(Load(at_ns=2 * 10**9, ring_percent=95, dropped=7), {}).shift == 5


def test_a_step_is_given_its_time() -> None:
    controller = OverloadController(OverloadSettings(policy="sample"))
    full = [Load(at_ns=at * 10**6, ring_percent=80) for at in range(0, 240, 10)]
    assert {controller.look(load, {}).shift for load in full} == {1}
    emptying = Load(at_ns=300 * 10**6, ring_percent=70)
    assert controller.look(emptying, {}).shift == 1


def test_a_queue_of_an_output_counts_as_a_ring_does() -> None:
    controller = OverloadController(OverloadSettings(policy="sample"))
    assert controller.look(Load(at_ns=0, ring_percent=0, output_percent=70), {}).shift == 1


def test_there_is_a_most() -> None:
    link = sampling(steady(100e6), most=4)
    link.run(60)
    assert link.decision.shift == 4


# ---- shedding ----


def test_the_least_rests_first_and_the_last_one_never() -> None:
    link = shedding(steady(1e9), {"middle": 5, "least": -1, "most": 9, "middle too": 5})
    link.run(60)
    went = [decision.resting for _, decision in link.changes[:3]]
    assert went == [{"least"}, {"least", "middle too"}, {"least", "middle too", "middle"}]
    assert link.decision.resting == went[-1]


def test_only_as_many_rest_as_must() -> None:
    link = shedding(steady(0.4e6), {"a": 3, "b": 2, "c": 1})
    link.run(60)
    assert link.decision.resting == {"c"}


def test_they_come_back_one_at_a_time_the_greatest_first() -> None:
    link = shedding(lambda at: 0.9e6 if at < 20 else 0.1e6, {"a": 3, "b": 2, "c": 1})
    link.run(20)
    assert link.decision.resting == {"b", "c"}
    link.run(400)
    back = [(at, decision.resting) for at, decision in link.changes if at > 20]
    assert [resting for _, resting in back] == [{"c"}, set()]
    assert back[1][0] - back[0][0] >= 5


def test_who_brings_overload_back_waits_longer_and_longer() -> None:
    link = shedding(steady(0.4e6), {"a": 3, "b": 2, "c": 1})
    link.run(7200)
    went = [at for at, decision in link.changes if "c" in decision.resting]
    gaps = [b - a for a, b in pairwise(went)]
    assert all(later > 1.2 * sooner for sooner, later in pairwise(gaps[:5]))
    assert max(gaps) < 5 * MOST_WAITS + 60
    assert len(went) < 45
    assert link.dropped == 0


def test_sets_come_and_go_meanwhile() -> None:
    link = shedding(steady(1e9), {"a": 3, "b": 2})
    link.run(5)
    assert link.decision.resting == {"b"}
    del link.priorities["b"]
    link.priorities["c"] = 1
    link.run(0.1)
    assert "b" not in link.decision.resting
    link.run(5)
    assert link.decision.resting == {"c"}


# ---- whatever comes ----


@given(
    st.sampled_from(["drop", "sample", "shed"]),
    st.lists(st.tuples(st.integers(0, 8000), st.integers(0, 100), st.integers(0, 2)), max_size=80),
    st.dictionaries(st.sampled_from("abcd"), st.integers(-1, 1)),
)
def test_every_decision_is_one(
    policy: str, looks: list[tuple[int, int, int]], priorities: dict[str, int]
) -> None:
    settings = OverloadSettings(policy=policy, most=3)  # type: ignore[arg-type]
    controller, at_ns, dropped, before = OverloadController(settings), 0, 0, Decision()
    for milliseconds, percent, more in looks:
        at_ns, dropped = at_ns + milliseconds * 10**6, dropped + more
        load = Load(at_ns=at_ns, ring_percent=percent, dropped=dropped)
        after = controller.look(load, priorities)
        assert 0 <= after.shift <= 3
        assert after.shift - before.shift in (-1, 0, 1, 2)
        assert len(after.resting ^ before.resting) <= 1
        assert after.resting <= priorities.keys()
        assert not priorities or after.resting != priorities.keys()
        assert policy == "sample" or after.shift == 0
        assert policy == "shed" or not after.resting
        before = after


def test_what_a_person_is_told() -> None:
    calm, busy = Decision(), Decision(2, frozenset({"b", "a"}))
    assert told(calm, calm) == ()
    assert told(calm, busy) == (
        "overload: 1 in 4 flows is looked at",
        "overload: set a rests",
        "overload: set b rests",
    )
    assert told(busy, Decision(1, frozenset({"a"}))) == (
        "calm: 1 in 2 flows is looked at",
        "calm: set b is back",
    )
    assert told(busy, calm)[0] == "calm: every flow is looked at"


def test_the_fullest_ring_is_what_counts() -> None:
    rings = [RingStatistics(label=str(used), blocks=64, used=used) for used in (3, 48, 0)]
    assert fullest_percent(rings) == 75
    assert fullest_percent([]) == 0

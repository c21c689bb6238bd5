# SPDX-License-Identifier: Apache-2.0
"""The time of datagrams, where the wall clock jumps and steps back."""

from __future__ import annotations

from gigastream.records.flow_clock import ArrivalClock

START_S = 1_700_000_000
S = 10**9


class Clocks:
    """A wall clock that is ahead of time by so much."""

    def __init__(self) -> None:
        self.passed_ns = 0
        self.ahead_ns = 0
        self.clock = ArrivalClock(
            lambda: START_S * S + self.passed_ns + self.ahead_ns, lambda: self.passed_ns
        )

    def after(self, seconds: float) -> float:
        """Let it pass; return what the clock says of it."""
        self.passed_ns += int(seconds * S)
        return (self.clock.now() - START_S * S) / S


def test_time_passes() -> None:
    clocks = Clocks()
    assert [clocks.after(1) for _ in range(4)] == [1, 2, 3, 4]


def test_a_glitch_ahead_is_not_believed() -> None:
    clocks = Clocks()
    clocks.after(1)
    clocks.ahead_ns = 3600 * S
    assert [clocks.after(0.5), clocks.after(0.5)] == [1.5, 2]
    clocks.ahead_ns = 0
    assert [clocks.after(1), clocks.after(5)] == [3, 8]


def test_a_clock_that_stays_ahead_is() -> None:
    clocks = Clocks()
    clocks.after(1)
    clocks.ahead_ns = 3600 * S
    assert clocks.after(1) == 2
    assert clocks.after(1) == 3
    assert clocks.after(1) == 3604


def test_behind_a_step_back_time_stands() -> None:
    clocks = Clocks()
    clocks.after(10)
    clocks.ahead_ns = -5 * S
    assert [clocks.after(1), clocks.after(3), clocks.after(2)] == [10, 10, 11]


def test_a_long_silence_is_passed_over() -> None:
    clocks = Clocks()
    clocks.after(1)
    assert clocks.after(3600) == 3601
    clocks.ahead_ns = 60 * S
    clocks.after(3600)
    assert clocks.after(3600) == 3600 * 3 + 61

# SPDX-License-Identifier: Apache-2.0
"""What is told while a link is captured: a line at a terminal, and links that go and come back."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from gigastream.cli import links
from gigastream.engine.statistics import SourceStatistics, Statistics

LINK = SourceStatistics("eth0", "eth0", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, None, link="up")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that goes on by a second whenever it is looked at for a tick."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


def told(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *states: SourceStatistics
) -> list[str]:
    """What each tick writes, a second after the one before."""
    clock, current = Clock(), [LINK]
    monkeypatch.setattr(links, "time", clock)
    monkeypatch.setattr(sys, "stderr", stream)
    status = links.LinkStatus(lambda: Statistics(tuple(current), (), ()), wanted=True)
    found = []
    for state in states:
        current[0] = state
        before = stream.tell()
        status.tick()
        status.tick()
        found.append(stream.getvalue()[before:])
        clock.now += 1
    return found


def test_the_line_says_how_many_and_how_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    first = replace(LINK, read=1000)
    second = replace(LINK, read=6000, kernel_dropped=7, skew=2, late=1, lag_ns=1_200_000_000)
    lines = told(monkeypatch, Terminal(), first, second)
    assert lines == [
        "\r\x1b[K1,000 packets, 0/s, 0 dropped by the kernel, 0.0 s behind",
        "\r\x1b[K6,000 packets, 5,000/s, 7 dropped by the kernel, 3 late, 1.2 s behind",
    ]


def test_without_a_terminal_only_changes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    states = [replace(LINK, link=state) for state in ("up", "down", "down", "gone", "up")]
    assert told(monkeypatch, io.StringIO(), *states) == [
        "",
        "gigastream: eth0 is down; packets are awaited\n",
        "",
        "gigastream: eth0 is gone; it is awaited\n",
        "gigastream: eth0 is up\n",
    ]

# SPDX-License-Identifier: Apache-2.0
"""What is told while a link is captured: a line at a terminal, and links that go and come back."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from gigastream.cli import links
from gigastream.cli.hints import tag_hint
from gigastream.cli.summary import as_json, as_text
from gigastream.engine.statistics import SourceStatistics, Statistics
from gigastream.outputs.delivery import Delivered

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
        clock.now += 1
        current[0] = state
        before = stream.tell()
        status.tick()
        status.tick()
        found.append(stream.getvalue()[before:])
    return found


def test_the_line_says_how_many_and_how_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    first = replace(LINK, read=1000)
    second = replace(LINK, read=6000, kernel_dropped=7, skew=2, late=1, lag_ns=1_200_000_000)
    lines = told(monkeypatch, Terminal(), first, second)
    assert lines == [
        "\r\x1b[K1,000 packets, 1,000/s, 0 dropped by the kernel, 0.0 s behind",
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


def test_a_step_of_the_clock_is_told_once_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = replace(LINK, clock_steps=1, clock_step_ns=3_600_000_000_000)
    back = replace(LINK, clock_steps=2, clock_step_ns=-3_600_000_000_000)
    lines = told(monkeypatch, io.StringIO(), LINK, ahead, ahead, back, back)
    assert lines == [
        "",
        "gigastream: eth0: this host's clock stepped forward by 3,600.000 s; "
        "packets ahead of what is believed are carried\n",
        "",
        "gigastream: eth0: this host's clock stepped back by 3,600.000 s; "
        "packets before what was answered are carried\n",
        "",
    ]


def test_the_account_has_what_was_carried() -> None:
    link = replace(LINK, read=9, decoded=9, kernel_received=9, carried=4, clock_steps=1)
    text = as_text(Statistics((link,), (), ()), Delivered(1), 2.0)
    assert "eth0 (eth0): received 9 = read 9 = decoded 9; 4 carried\n" in text
    assert "the timestamps of packets that were carried are not their own" in text
    assert '"carried": 4, "clock_steps": 1' in as_json(
        Statistics((link,), (), ()), Delivered(1), 2.0
    )


def test_a_filter_that_meets_tags_and_joined_packets_are_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links, "time", (clock := Clock()))
    monkeypatch.setattr(sys, "stderr", (stream := io.StringIO()))
    rings = [replace(LINK, label=f"eth0/{n}", filtered_tagged=3, oversized=2) for n in (0, 1)]
    status = links.LinkStatus(lambda: Statistics(tuple(rings), (), ()), True, "tcp port 80")
    for _ in range(3):
        clock.now += 1
        status.tick()
    tags, joined = stream.getvalue().splitlines()
    assert "frames with a VLAN tag do not pass the filter 'tcp port 80'" in tags
    assert "'(tcp port 80) or (vlan and (tcp port 80))'" in tags
    assert "packets are longer than its MTU allows" in joined
    assert "ethtool -K eth0 gro off" in joined


def test_a_filter_that_speaks_of_tags_needs_no_hint() -> None:
    assert tag_hint(replace(LINK, filtered_tagged=3), "vlan 7 and tcp") is None
    assert tag_hint(replace(LINK, filtered=3), "tcp") is None

# SPDX-License-Identifier: Apache-2.0
"""Threads that divide several capture files give the answer and the account of one."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from gigastream.sessions.divided_session import why_undivided
from gigastream.sessions.replay import open_divided
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.engine import plan_of
from tests.answers.paths import side_by_side
from tests.engine.divided_queries import TEXTS
from tests.engine.odd_packets import cut_packets, jumping_packets, straggling_packets
from tests.engine.stepping import memory_file
from tests.engine.traffic import streams
from tests.engine.whole_runs import told
from tests.strategies.files import Packet, pcap, pcapng

SHAPES = ((2, 300), (5, 9_000))
"""Of sessions: threads, and bytes of an extent; less than some records, and many."""
BASE = Settings(slots=64, disorder_bytes=4096)
Cut = Callable[[list[Packet]], list[list[Packet]]]


def _rotated(packets: list[Packet]) -> list[list[Packet]]:
    """As a capture that begins a new file now and then; the newest is named first."""
    size = len(packets) // 5 + 1
    return [packets[at : at + size] for at in range(0, len(packets), size)][::-1]


def _of_two_taps(packets: list[Packet]) -> list[list[Packet]]:
    return [packets[0::2], packets[1::2]]


def _sparse(packets: list[Packet]) -> list[list[Packet]]:
    """One has few packets beside all others; one has none, one a single one."""
    few = packets[3::40]
    return [[], few, [p for at, p in enumerate(packets) if at % 40 != 3], packets[:1]]


def _overlapping(packets: list[Packet]) -> list[list[Packet]]:
    third = len(packets) // 3
    mixed = packets[third : 2 * third]
    return [packets[:third] + mixed[0::2], mixed[1::2] + packets[2 * third :]]


def _twice(packets: list[Packet]) -> list[list[Packet]]:
    return [packets, packets]


CUTS: Sequence[Cut] = (_rotated, _of_two_taps, _sparse, _overlapping, _twice)


def _written(folder: Path, parts: Sequence[list[Packet]]) -> list[FileSource]:
    """Of both formats."""
    sources = []
    for number, packets in enumerate(parts):
        path = folder / f"{number}.pcap"
        path.write_bytes((pcapng if number % 3 == 2 else pcap)(packets))
        sources.append(FileSource("default", str(path)))
    return sources


def _assert_same(plan: Plan, sources: Sequence[FileSource], own: Settings = BASE) -> None:
    alone = told(plan, Session(plan, sources, own))
    for jobs, extent_bytes in SHAPES:
        many = replace(own, jobs=jobs)
        assert why_undivided(plan, sources, many) is None
        session = open_divided(plan, sources, many, extent_bytes=extent_bytes)
        assert told(plan, side_by_side(session)) == alone


@pytest.mark.parametrize("text", sorted(TEXTS))
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__.strip("_"))
@pytest.mark.parametrize("make", [cut_packets, jumping_packets, straggling_packets])
def test_made_packets(
    text: str, cut: Cut, make: Callable[[], list[Packet]], tmp_path: Path
) -> None:
    _assert_same(plan_of(TEXTS[text]), _written(tmp_path, cut(make())))

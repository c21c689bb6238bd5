# SPDX-License-Identifier: Apache-2.0
"""In calm nobody but the engine looks at the rings; an alarm of its own is what ends a turn."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import pytest

from gigastream.daemon.input_messages import LinkSpec
from gigastream.daemon.messages import CaptureStart, OverloadSettings
from gigastream.daemon.relief import LOOK_S, Relief
from gigastream.engine.engine import Engine
from gigastream.settings import Settings
from gigastream.sources.live import LiveSettings
from tests.live.mock_link import START_NS, MockLink, frame

FRAMES = 300
"""Three of the four blocks."""
FOR_EVER_MS = 1_000_000_000


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Nothing of its ring is read as yet."""
    link, (reading, writing) = MockLink(block_bytes=1 << 14, block_count=4), os.pipe()
    assert link.receive(*(frame(START_NS + number) for number in range(FRAMES))) == FRAMES
    link.retire()
    with Engine(Settings(burst=1), is_resident=True) as made:
        made.add_link(link.source())
        made.start()
        made.wake_by(reading)
        yield made
    os.close(reading)
    os.close(writing)


def start_with(policy: str) -> CaptureStart:
    link = LinkSpec(interface="link", device="link", settings=LiveSettings(), sockets=(0,))
    return CaptureStart(
        incarnation=0,
        links=(link,),
        settings=Settings(),
        overload=OverloadSettings(policy=policy),
        cache="",
        user="nobody",
    )


def read_of(engine: Engine) -> int:
    return engine.statistics()[0].read


@pytest.mark.parametrize("policy", ["sample", "shed"])
def test_a_full_ring_ends_a_turn(engine: Engine, policy: str) -> None:
    relief = Relief(start_with(policy), engine)
    assert relief.looks_after_s == math.inf
    assert engine.run(FRAMES, FOR_EVER_MS)
    assert read_of(engine) == 1


def test_until_all_flows_are_looked_at_again_it_is_looked_for_calm(engine: Engine) -> None:
    relief = Relief(start_with("sample"), engine)
    relief.look(1.0, {})
    assert relief.shift > 0
    assert relief.looks_after_s == LOOK_S


def test_who_gives_nothing_up_is_not_woken(engine: Engine) -> None:
    relief = Relief(start_with("drop"), engine)
    assert engine.run(FRAMES, FOR_EVER_MS)
    assert read_of(engine) == FRAMES
    assert not relief.is_due(1e9)

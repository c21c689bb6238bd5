# SPDX-License-Identifier: Apache-2.0
"""Whoever runs an engine can be asked things while its sources say nothing."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.engine.engine import Engine
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.test_pipes import pipes
from tests.live.mock_link import START_NS, MockLink, frame

FOR_EVER_MS = 1_000_000_000
"""Only the waker ends a wait as long as this."""


@pytest.fixture
def engine() -> Iterator[Engine]:
    """It reads a pipe that says nothing behind its header."""
    with Engine(is_resident=True) as made, pipes(1) as (silent,):
        made.add_files([silent.source()])
        made.start()
        yield made
        silent.end()


def test_what_can_be_read_ends_a_wait(engine: Engine) -> None:
    """Again and again until it is read; and it is no end of the input."""
    reading, writing = os.pipe()
    engine.wake_by(reading)
    os.write(writing, b"!")
    assert engine.run(1, FOR_EVER_MS)
    assert engine.run(1, FOR_EVER_MS)
    os.read(reading, 1)
    assert engine.run(1, 1)  # a wait that ends by itself
    os.close(writing)  # an end is something to be read, too
    assert engine.run(1, FOR_EVER_MS)
    os.close(reading)


def test_promises_are_those_of_the_counters(engine: Engine) -> None:
    engine.run(1, 1)
    assert engine.promises() == tuple(each.promise_ns for each in engine.statistics())


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Engine]:
    """Its file is never silent: 64 million packets of no bytes, all at 1970, which take no disk."""
    path = tmp_path / "empty.pcap"
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    os.truncate(path, 1 << 30)
    with Engine(is_resident=True) as made:
        made.add_files([FileSource("left", path)])
        made.start()
        yield made


def test_what_can_be_read_ends_a_turn_of_a_source_that_never_waits(busy: Engine) -> None:
    reading, writing = os.pipe()
    busy.wake_by(reading)
    os.write(writing, b"!")
    assert busy.run(1 << 62, FOR_EVER_MS)
    (first,) = busy.statistics()
    assert busy.run(1 << 62, FOR_EVER_MS)
    (second,) = busy.statistics()
    assert 0 < first.read < second.read  # it is asked, again and again, and goes on
    os.close(reading)
    os.close(writing)


def test_a_turn_of_a_source_that_never_waits_ends_when_its_time_is_over(busy: Engine) -> None:
    reading, writing = os.pipe()
    busy.wake_by(reading)
    assert busy.run(1 << 62, 1)
    os.close(reading)
    os.close(writing)


def read_of(engine: Engine) -> int:
    (source,) = engine.statistics()
    return source.read


@pytest.mark.parametrize(("percent", "first"), [(0, 300), (50, 1), (99, 300)])
def test_a_ring_that_is_as_full_as_it_may_be_ends_a_turn(percent: int, first: int) -> None:
    """Three of its four blocks are; after that it is looked at again no sooner than in 50 ms."""
    link, (reading, writing) = MockLink(block_bytes=1 << 14, block_count=4), os.pipe()
    sent = link.receive(*(frame(START_NS + number) for number in range(300)))
    link.retire()
    with Engine(Settings(burst=1), is_resident=True) as engine:
        engine.add_link(link.source())
        engine.start()
        engine.wake_by(reading)
        engine.alarm(percent)
        assert sent == 300
        assert (engine.statistics()[0].ring_used, engine.statistics()[0].ring_blocks) == (3, 4)
        assert engine.run(300, FOR_EVER_MS)
        assert read_of(engine) == first
    os.close(reading)
    os.close(writing)

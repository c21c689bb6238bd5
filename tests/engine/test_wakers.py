# SPDX-License-Identifier: Apache-2.0
"""Whoever runs an engine can be asked things while its sources say nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gigastream.engine.engine import Engine
from tests.engine.test_pipes import pipes

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

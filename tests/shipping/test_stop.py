# SPDX-License-Identifier: Apache-2.0
"""A signal that comes anywhere in a wait ends it: its handler runs in the thread that waits."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

import pytest

from gigastream.shipping.stop import Stop
from tests.waiting import PATIENCE_S

WAITED_SECONDS = 0.02


class Interrupted:
    """Waits for a stop that is set before the n-th step of the waiting thread, as by a handler."""

    def __init__(self, stop: Stop, step: int) -> None:
        self._stop = stop
        self._left = step
        self.was_set = False

    def wait(self) -> None:
        sys.settrace(self._traced)
        try:
            self._stop.wait(WAITED_SECONDS)
        finally:
            sys.settrace(None)

    def _traced(self, frame: FrameType, _event: str, _argument: object) -> Any:
        frame.f_trace_opcodes = True
        self._left -= 1
        if self._left == 0:
            sys.settrace(None)
            self._stop.set()
            self.was_set = True
        return self._traced


def test_a_stop_comes_at_any_step_of_a_wait() -> None:
    for step in range(1, 10_000):
        interrupted = Interrupted(Stop(), step)
        waiting = threading.Thread(target=interrupted.wait, daemon=True)
        waiting.start()
        waiting.join(PATIENCE_S)
        assert not waiting.is_alive(), f"set at step {step}, it waits for ever"
        if not interrupted.was_set:
            assert step > 5, "no step of it was seen"
            return
    pytest.fail("it has no end")


def test_it_stays_set() -> None:
    stop = Stop()
    assert not stop.wait(0)
    stop.set()
    stop.set()
    assert stop.wait(PATIENCE_S)
    assert stop.wait(PATIENCE_S)
    assert stop.is_set()


def test_another_thread_ends_a_wait() -> None:
    stop = Stop()
    other = threading.Timer(0.05, stop.set)
    other.start()
    assert stop.wait(PATIENCE_S)
    other.join()

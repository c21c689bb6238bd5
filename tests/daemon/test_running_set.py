# SPDX-License-Identifier: Apache-2.0
"""Counters of a set while it takes over from another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gigastream.daemon.running_set import RunningSet


def test_rows_that_are_left_out_never_become_fewer() -> None:
    """What the new one leaves out at the edge, the old one has had whole."""
    running: Any = RunningSet.__new__(RunningSet)
    running._attached = SimpleNamespace(cut_rows={"q": 0})
    old = SimpleNamespace(cut_rows=50, _edges={"q": None}, _end_input=int, close=int)
    running._cut_before, running._old = 0, old
    seen = [running.cut_rows]
    running._attached.cut_rows["q"] = 7
    seen.append(running.cut_rows)
    running._let_old_go(old)
    seen.append(running.cut_rows)
    running._attached.cut_rows["q"] = 9
    seen.append(running.cut_rows)
    assert seen == [50, 50, 50, 52]

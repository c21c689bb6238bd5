# SPDX-License-Identifier: Apache-2.0
"""Does what the controller of overload decides: samples flows, lets sets rest and come back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress

from gigastream.daemon.messages import CaptureStart
from gigastream.daemon.overload import Decision, Load, OverloadController, fullest_percent
from gigastream.daemon.reports import rings_of
from gigastream.daemon.running_set import RunningSet
from gigastream.engine.batch import EngineError
from gigastream.engine.engine import Engine

LOOK_S = 0.05


class Relief:
    """Of a capture process of links; of files alone there is no overload."""

    def __init__(self, start: CaptureStart, engine: Engine) -> None:
        """Nothing is given up as yet."""
        self._start, self._engine = start, engine
        self._controller = OverloadController(start.overload)
        self._decided = Decision()
        self._is_needed = bool(start.links) and start.overload.policy != "drop"
        self._looked_at = 0.0
        if self._is_needed:
            engine.alarm(max(1, start.overload.low_percent))

    @property
    def shift(self) -> int:
        """1 in 2^shift flows is looked at."""
        return self._decided.shift

    @property
    def looks_after_s(self) -> float:
        """From one look to the next; infinite in calm: then the engine's alarm ends a turn."""
        return math.inf if self._decided == Decision() else LOOK_S

    def is_due(self, now: float) -> bool:
        """Whether to look; `now` is of time.monotonic()."""
        return self._is_needed and now >= self._looked_at + LOOK_S

    def look(self, now: float, sets: Mapping[str, RunningSet]) -> None:
        """Look at the rings, and do what is to be done."""
        self._looked_at = now
        sources = self._engine.statistics()
        load = Load(
            at_ns=round(now * 1e9),
            ring_percent=fullest_percent(rings_of(self._start, sources)),
            dropped=sum(source.kernel_dropped for source in sources),
        )
        priorities = {name: running.order.priority for name, running in sets.items()}
        decision = self._controller.look(load, priorities)
        if decision.shift != self._decided.shift:
            self._engine.sample(decision.shift)
        self._decided = decision
        self._let_rest(sets)

    def _let_rest(self, sets: Mapping[str, RunningSet]) -> None:
        """A set that there is no memory for goes on resting, and is tried again."""
        for name, running in sets.items():
            if name in self._decided.resting and not running.is_shed:
                running.rest()
            elif running.is_shed and name not in self._decided.resting:
                with suppress(EngineError):
                    running.wake()

# SPDX-License-Identifier: Apache-2.0
"""The high level alone: batches that an LFTA put out, here or elsewhere, become a query's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.engine import memory
from gigastream.engine._native import ffi
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import NativeBatch, lend_to_c
from gigastream.engine.events import Event
from gigastream.engine.node_places import ALL_HERE, NodePlaces
from gigastream.engine.statistics import Statistics
from gigastream.plan import Plan
from gigastream.punctuation import JointBound
from gigastream.sessions.shape import Closing
from gigastream.settings import Settings

if TYPE_CHECKING:
    import pyarrow

END = (1 << 63) - 1


class HighSession(Closing):
    """A plan's unions and operators, fed by push(). EngineError where something cannot be."""

    def __init__(
        self,
        plan: Plan,
        interfaces: Sequence[str],
        settings: Settings | None = None,
        *,
        taps: Sequence[str] = (),
        include: Sequence[Path] = (),
        is_low_elsewhere: bool = False,
        places: NodePlaces = ALL_HERE,
        is_compiled: Callable[[], None] = lambda: None,
    ) -> None:
        """Open a plan whose low nodes read these interfaces, here or, `is_low_elsewhere`, not.

        `places`: what is not run by it; what is pushed instead is of the first interface.
        `is_compiled` is called when no program is run any more, and no file in Python yet.

        `taps` names nodes whose streams come out as well; with the setting low_level_only nothing
        else does: those of low nodes are the unions of their interfaces.
        """
        self._memory_bytes = settings.memory_bytes if settings is not None else None
        self._columns = {n.name: len(n.schema.columns) for n in plan.nodes if not n.is_output}
        with ExitStack() as opened:
            self._queries = opened.enter_context(
                AttachedSet(
                    plan,
                    settings,
                    include,
                    interfaces=len(interfaces),
                    taps=taps,
                    high_level_only=True,
                    is_low_elsewhere=is_low_elsewhere,
                    places=places,
                )
            )
            is_compiled()
            self._queries.stand_alone(interfaces)
            self._opened = opened.pop_all()
        self._ports: dict[tuple[str, str], list[int]] = {}
        for number, port in enumerate(self.ports):
            self._ports.setdefault(port, []).append(number)

    @property
    def ports(self) -> tuple[tuple[str, str], ...]:
        """Every (stream, interface) that may be pushed; the answer ends when all have ended.

        Where an interface was named more than once, one for each time.
        """
        return self._queries.ports

    def push(
        self,
        stream: str,
        interface: str,
        batch: pyarrow.RecordBatch | None,
        bounds: Sequence[int],
        *,
        joint: JointBound | None = None,
        is_heartbeat: bool = False,
        is_end: bool = False,
        is_missing: bool = False,
        which: int = 0,
    ) -> None:
        """Give a batch of a low node's stream on an interface: rows, then what they promise.

        `bounds` has one value for each column, below which no later row is (-2^63: nothing is
        promised; of a decreasing column the negative); `joint` is of two temporal ones.
        `is_missing`: the stream has failed, and this is promised in its place. `which` of the
        ports, where the interface was named more than once. EngineError where the rows are not of
        the stream's types, or the stream has ended. KeyError, IndexError where there is no such
        port; ValueError where bounds are missing.
        """
        if len(bounds) != self._columns[stream]:
            raise ValueError(f"{len(bounds)} bounds for {self._columns[stream]} columns")
        push = ffi.new("struct gs_push *")
        keep = [ffi.new("int64_t[]", list(bounds))]
        push.port, push.bounds = self._ports[stream, interface][which], keep[0]
        push.is_heartbeat, push.is_end, push.is_missing = is_heartbeat, is_end, is_missing
        if joint is not None:
            (a, b), (least_a, least_b) = joint  # C would take what is missing for 0
            push.joint = (True, (a, b), (least_a, least_b))
        if batch is not None:
            push.array, push.schema = keep[1:] = lend_to_c(batch)
        self._queries.push(push)

    def hand_over(self, port: int, batch: NativeBatch) -> None:
        """Give a batch that another engine of the same plan put out, as it is; nothing is copied.

        `port` is an index of `ports`. Nobody else may have a reference to the batch. EngineError
        where it is of another stream, or the stream has ended.
        """
        self._queries.hand_over(port, batch)

    def end(self, stream: str, interface: str, which: int = 0) -> None:
        """Say that nothing more comes of a port."""
        bounds = [END] * self._columns[stream]
        self.push(stream, interface, None, bounds, is_end=True, which=which)

    def batches(self) -> Iterator[Event]:
        """Batches that are due by what was pushed; more may be due after the next push."""
        return self._queries.drained()

    def wanted(self) -> dict[int, int]:
        """The packet time (ns) that operators which hold rows wait for, by port."""
        return self._queries.wanted()

    @property
    def is_answered(self) -> bool:
        """Whether every query has had its last row: what else is pushed changes none."""
        return self._queries.is_answered

    def statistics(self) -> Statistics:
        """The counters of the operators so far."""
        used = memory.statistics(self._memory_bytes)
        return Statistics((), (), self._queries.operators(), used)

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        self._opened.close()

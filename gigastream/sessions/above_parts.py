# SPDX-License-Identifier: Apache-2.0
"""What needs the groups of all threads: it runs once, over what they put out of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gigastream.engine.batch import NativeBatch
from gigastream.engine.events import Event
from gigastream.engine.node_places import NodePlaces
from gigastream.engine.opening import DEFAULT_BATCH_ROWS
from gigastream.engine.part_order import PartOrder
from gigastream.plan import Plan
from gigastream.plan.nodes import Node
from gigastream.plan.parts import PlanParts, columns_in_order
from gigastream.sessions.high_session import HighSession
from gigastream.settings import Settings

NOTHING = -(1 << 63)


def order_of(node: Node, settings: Settings) -> PartOrder:
    """What puts its rows of all parts in the order of its windows. EngineError."""
    rows = settings.batch_rows or DEFAULT_BATCH_ROWS
    return PartOrder(settings.jobs, columns_in_order(node), rows, settings.memory_bytes)


class AboveParts:
    """The nodes above the cut. EngineError."""

    def __init__(
        self,
        plan: Plan,
        parts: PlanParts,
        interface: str,
        settings: Settings,
        include: Sequence[Path],
    ) -> None:
        """Over one interface, which the setting `jobs` says how many divide."""
        made = [at for at in parts.crossing if not plan.nodes[at].is_low]
        elsewhere = [at for at in parts.below if at not in parts.crossing]
        places = NodePlaces(elsewhere, made)
        interfaces = [interface] * settings.jobs
        self.session = HighSession(plan, interfaces, settings, include=include, places=places)
        self._streams = {
            node.name: _Crossing(node, self.session, interface, settings)
            for node in (plan.nodes[at] for at in made)
        }
        self._ports: dict[str, list[int]] = {}
        for port, (name, _) in enumerate(self.session.ports):
            self._ports.setdefault(name, []).append(port)

    def take(self, part: int, event: Event) -> None:
        """A batch of a stream that crosses the cut: rows of the low level in any order."""
        stream = self._streams.get(event.query)
        if stream is not None:
            stream.take(part, event.batch)
        else:
            self.session.hand_over(self._ports[event.query][part], event.batch)


class _Crossing:
    """Of a node below the cut: its windows in order, and how far it has come."""

    def __init__(self, node: Node, above: HighSession, interface: str, settings: Settings) -> None:
        self._place = node.name, interface
        self._port = above.ports.index(self._place)
        self._above = above
        self._order = order_of(node, settings)
        self._columns = columns_in_order(node)
        self._bounds = [NOTHING] * len(node.schema.columns)
        self._has_ended = False

    def take(self, part: int, batch: NativeBatch) -> None:
        for rows in self._order.add(part, batch):
            self._above.hand_over(self._port, rows)
        values, has_ended = self._order.bounds()
        if has_ended and not self._has_ended:
            self._above.end(*self._place)
        elif not has_ended:
            self._promise(values)
        self._has_ended = has_ended

    def _promise(self, values: Sequence[int]) -> None:
        """Behind the rows: no bound may be given before they are out."""
        bounds = list(self._bounds)
        for column, value in zip(self._columns, values, strict=True):
            bounds[column] = value
        if bounds != self._bounds:
            self._bounds = bounds
            self._above.push(*self._place, None, bounds)

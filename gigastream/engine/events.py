# SPDX-License-Identifier: Apache-2.0
"""What a query set puts out, by the names of the plan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import NativeBatch
from gigastream.engine.trace import Trace
from gigastream.late_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class Event:
    """A batch of a query's rows, or of a tapped node's stream."""

    query: str
    """The name of the node that made the batch: for an output, the query's."""
    batch: NativeBatch
    interface: str | None = None
    """Of an LFTA's own batch, before the union of its interfaces; else None."""
    origins: Sequence[Origin] = field(default=(), repr=False, compare=False)
    """Whose batches its query set puts out."""

    @property
    def trace(self) -> Trace | None:
        """Of a heartbeat, its way."""
        return self.batch.trace(self.origins) if self.batch.is_heartbeat else None


Origin = tuple[str, str | None]
"""Whose batches a query set puts out under a number: (node, interface or None)."""


def ports(attached: Any) -> list[tuple[str, str]]:
    """The (low node, interface) of each port of a query set at work."""
    found = []
    for port in range(lib.gs_attached_port_count(attached)):
        node = lib.gs_attached_node_name(attached, lib.gs_attached_port_node(attached, port))
        interface = lib.gs_attached_port_interface(attached, port)
        found.append((os.fsdecode(ffi.string(node)), os.fsdecode(ffi.string(interface))))
    return found


def origins(attached: Any) -> list[Origin]:
    """By the number that a query set gives with a batch: nodes, then ports."""
    count = lib.gs_attached_node_count(attached)
    nodes = (os.fsdecode(ffi.string(lib.gs_attached_node_name(attached, n))) for n in range(count))
    return [*((name, None) for name in nodes), *ports(attached)]


def interfaces(attached: Any) -> list[str]:
    """The interfaces of a query set at work, by their ordinals."""
    count = lib.gs_attached_interface_count(attached)
    names = (lib.gs_attached_interface_name(attached, at) for at in range(count))
    return [os.fsdecode(ffi.string(name)) for name in names]


def take(attached: Any, known: Sequence[Origin], names: Sequence[str]) -> Event | None:
    """The oldest batch of a query set that waits, if one does; `names` are its interfaces."""
    number = ffi.new("uint32_t *")
    batch = lib.gs_attached_take(attached, number)
    if batch == ffi.NULL:
        return None
    name, interface = known[number[0]]
    return Event(name, NativeBatch(batch, names), interface, known)

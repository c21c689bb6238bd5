# SPDX-License-Identifier: Apache-2.0
"""What an engine puts out, by the names of the plan."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import NativeBatch


@dataclass(frozen=True, slots=True)
class Event:
    """A batch of a query's rows, or of a tapped node's stream."""

    query: str
    """The name of the node that made the batch: for an output, the query's."""
    batch: NativeBatch
    interface: str | None = None
    """Of an LFTA's own batch, before the union of its interfaces; else None."""


Origin = tuple[str, str | None]
"""Whose batches an engine puts out under a number: (node, interface or None)."""


def ports(engine: Any) -> list[tuple[str, str]]:
    """The (low node, interface) of each port of a started engine."""
    found = []
    for port in range(lib.gs_engine_port_count(engine)):
        node = lib.gs_engine_node_name(engine, lib.gs_engine_port_node(engine, port))
        interface = lib.gs_engine_port_interface(engine, port)
        found.append((os.fsdecode(ffi.string(node)), os.fsdecode(ffi.string(interface))))
    return found


def origins(engine: Any) -> list[Origin]:
    """By the number that a started engine gives with a batch: nodes, then ports."""
    count = lib.gs_engine_node_count(engine)
    nodes = (os.fsdecode(ffi.string(lib.gs_engine_node_name(engine, n))) for n in range(count))
    return [*((name, None) for name in nodes), *ports(engine)]


def taken(engine: Any, known: Sequence[Origin]) -> Iterator[Event]:
    """The batches that wait in an engine, oldest first."""
    number = ffi.new("uint32_t *")
    while (batch := lib.gs_engine_take(engine, number)) != ffi.NULL:
        name, interface = known[number[0]]
        yield Event(name, NativeBatch(batch), interface)

# SPDX-License-Identifier: Apache-2.0
"""What a heartbeat met on its way (Johnson et al., VLDB 2005, sections 3 and 6), by names."""

from __future__ import annotations

from gigastream.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One operator that a heartbeat has passed."""

    node: str
    interface: str | None
    """Of an LFTA; None: the node is above the border, or the union of an LFTA's interfaces."""
    received_ns: int
    """When it came there, by the monotonic clock."""
    queue: int
    """Rows that waited there to go on."""
    rows_in: int
    """Since the run began: packets, of an LFTA."""
    rows_out: int
    held: int
    """Rows or groups that stay there."""
    cost_ns: int
    """From when it came until it went on, without what consumers took."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The way of a heartbeat, from the LFTA that sent it; of a longer one the first 16 steps."""

    number: int
    """Of the LFTA's heartbeats, from 1."""
    steps: tuple[TraceStep, ...]

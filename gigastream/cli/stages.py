# SPDX-License-Identifier: Apache-2.0
"""--stats stages: what a query costs, in nanoseconds a packet, stage by stage.

The stages of the engine are measured there, at the marks of csrc/base/stages.h; the output is here,
where rows are formatted and written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gigastream.engine.statistics import StageCosts
    from gigastream.outputs import Batch
    from gigastream.outputs.delivery import RowTarget

_NAMES = {
    "open": "read bytes",
    "read": "find records",
    "decode": "decode",
    "unpack": "unpack, prefilter",
    "lfta": "LFTAs",
    "flush": "flush",
    "high": "high level",
}


class TimedOutput:
    """An output, and the time that it has taken to write rows."""

    def __init__(self, rows: RowTarget) -> None:
        """Write where `rows` writes."""
        self._rows = rows
        self.ns = 0
        """Of the thread's processor, so that a reader who is slow costs nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def write(self, query_name: str, batch: Batch) -> None:
        """Write a batch."""
        began = time.thread_time_ns()
        self._rows.write(query_name, batch)
        self.ns += time.thread_time_ns() - began


def stage_table(costs: StageCosts, output_ns: int) -> str:
    """Return a line for each stage, with its nanoseconds a packet and its share; then the sum."""
    parts = [(title, getattr(costs, f"{name}_ns")) for name, title in _NAMES.items()]
    parts.append(("output", output_ns))
    total = sum(ns for _, ns in parts)
    return "\n".join(_lines([*parts, ("all", total)], total, max(costs.packets, 1)))


def _lines(parts: list[tuple[str, int]], total: int, packets: int) -> Iterator[str]:
    width = max(len(title) for title, _ in parts)
    yield f"{'stage':<{width}}  ns/packet  share"
    for title, ns in parts:
        yield f"{title:<{width}}  {ns / packets:9,.1f}  {100 * ns / max(total, 1):4.0f}%"

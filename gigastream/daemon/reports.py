# SPDX-License-Identifier: Apache-2.0
"""What a capture process says of itself, once a second."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from gigastream.daemon.messages import CaptureReport, CaptureStart, RingStatistics
from gigastream.daemon.running_set import RunningSet
from gigastream.engine import memory
from gigastream.engine.statistics import END, NONE, SourceStatistics

_KIB = 1024


def report_of(
    start: CaptureStart,
    sources: tuple[SourceStatistics, ...],
    sets: Iterable[RunningSet],
    sampling_shift: int,
) -> CaptureReport:
    """All counters so far."""
    return CaptureReport(
        incarnation=start.incarnation,
        at_ns=time.time_ns(),
        sources=sources,
        sets=tuple(running.statistics() for running in sets),
        rings=rings_of(start, sources),
        memory=memory.statistics(start.settings.memory_bytes),
        cpu_ns=time.process_time_ns(),
        rss_anon_bytes=_rss_anon_bytes(),
        descriptors=_descriptors(),
        sampling_shift=sampling_shift,
        promises=promises_of(start, ((each.interface, each.promise_ns) for each in sources)),
    )


def promises_of(start: CaptureStart, sources: Iterable[tuple[str, int]]) -> dict[str, int]:
    """By interface, packet time (ns) below which rows may have gone out.

    Of several sources the least: the streams of an interface have gone no further. What a source
    that has ended promises is no time, and says nothing of the next incarnation.
    """
    found: dict[str, int] = {}
    for interface, promise_ns in sources:
        if promise_ns not in (NONE, END):
            found[interface] = min(found.get(interface, promise_ns), promise_ns)
        elif promise_ns == NONE:
            found[interface] = NONE
    known = {name: at for name, at in found.items() if at != NONE}
    return {**start.promises, **known}


def rings_of(
    start: CaptureStart, sources: Sequence[SourceStatistics]
) -> tuple[RingStatistics, ...]:
    """The links' sources are the first, in their order."""
    count = sum(len(link.sockets) for link in start.links)
    return tuple(
        RingStatistics(
            label=source.label,
            blocks=source.ring_blocks,
            used=source.ring_used,
        )
        for source in sources[:count]
    )


def _rss_anon_bytes() -> int:
    """Memory that no file is behind; 0 where the kernel does not say it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("RssAnon:")]
    return int(found[0]) * _KIB if found else 0


def _descriptors() -> int:
    try:
        return len(os.listdir("/proc/self/fd")) - 1
    except OSError:
        return 0

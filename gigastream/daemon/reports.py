# SPDX-License-Identifier: Apache-2.0
"""What a capture process says of itself, once a second."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import cache

from gigastream.daemon.messages import CaptureReport, CaptureStart, RingStatistics
from gigastream.daemon.running_set import RunningSet
from gigastream.engine import memory
from gigastream.engine.statistics import END, NONE, SourceStatistics
from gigastream.gsql.stream_names import is_of_stream

_LINE_BYTES = 256
_DESCRIPTORS = "/proc/self/fd"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


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
        rss_anon_bytes=rss_anon_bytes(),
        descriptors=open_descriptors(),
        sampling_shift=sampling_shift,
        promises={
            **promises_of(start, ((each.interface, each.promise_ns) for each in sources)),
            **ended_streams(sources),
        },
    )


def ended_streams(sources: Iterable[SourceStatistics]) -> dict[str, int]:
    """END for each STREAM that has ended: beside links the next incarnation reads it no more."""
    ends: dict[str, bool] = {}
    for each in sources:
        if is_of_stream(each.interface):
            ends[each.interface] = ends.get(each.interface, True) and each.is_ended
    return {name: END for name, is_over in ends.items() if is_over}


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


def rss_anon_bytes() -> int:
    """Memory that no file is behind; 0 where the kernel does not say it.

    /proc/self/status says it by name, and takes ten times as long.
    """
    try:
        _, resident, shared, *_ = os.pread(_statm_of(os.getpid()), _LINE_BYTES, 0).split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


@cache
def _statm_of(_process: int) -> int:
    """A descriptor that stays open; a process that is forked has another."""
    return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)


def open_descriptors() -> int:
    """The folder's size is their number (Linux 6.2); older kernels say 0, so that one looks."""
    try:
        return os.stat(_DESCRIPTORS).st_size or len(os.listdir(_DESCRIPTORS)) - 1
    except OSError:
        return 0

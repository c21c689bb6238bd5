# SPDX-License-Identifier: Apache-2.0
"""Running contenders: in turn, on one core, medians of several runs.

The machine is never quiet, so only what ran beside each other is compared: every round runs each
contender once, and the first round, which warms the page cache and compiles, is not counted.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build import HERE, LOOPS, BuildError, executable
from workloads import Capture

LOOP_LIBRARIES = {"libpcap": ("pcap",)}
DEFAULT_SLOTS_LOG2 = 18

WALL, PROCESSOR = "seconds", "processor_seconds"
"""The clocks; the second leaves out what else the machine does, and counts all threads."""

_OF_LOOPS = {WALL: "ns_per_packet", PROCESSOR: "processor_ns_per_packet"}

Contender = Callable[[], float]
"""One run; gives nanoseconds per packet and raises RunError."""

Samples = Mapping[str, Sequence[float]]
"""What the counted runs of each contender gave."""


class RunError(Exception):
    """A contender failed or exceeded its time; the text says how."""


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per packet of each counted run of one contender."""

    samples_ns: tuple[float, ...]

    @property
    def median_ns(self) -> float:
        """The median of the runs."""
        return statistics.median(self.samples_ns)

    @property
    def million_packets_per_second(self) -> float:
        """The median as a rate."""
        return 1000 / self.median_ns


@dataclass
class Turns:
    """What a round of contenders gave; a contender that failed is in `failures` alone."""

    timings: dict[str, Timing] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def in_turn(
    contenders: Mapping[str, Contender], runs: int, enough: Callable[[Samples], bool] | None = None
) -> Turns:
    """Run all contenders once unmeasured, then `runs` times in turn, or until that is enough.

    Every other round goes backwards, so that none is always behind the same one.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    failures: dict[str, str] = {}
    for round_number in range(runs + 1):
        order = [name for name in contenders if name not in failures]
        for name in reversed(order) if round_number % 2 else order:
            try:
                sample = contenders[name]()
            except (RunError, BuildError) as error:
                failures[name] = str(error)
                del samples[name]
                continue
            samples[name] += [sample] if round_number else []
        if not samples or (enough and enough(samples)):
            break
    return Turns({name: Timing(tuple(values)) for name, values in samples.items()}, failures)


def widest_spread(samples: Samples) -> float:
    """By which share the slowest run of a contender is above its quickest, of the worst one."""
    return max((max(values) / min(values) - 1 for values in samples.values()), default=0.0)


def pin(core: int | None) -> int:
    """Keep this process and its children on one core, by default the last that is allowed."""
    chosen = max(os.sched_getaffinity(0)) if core is None else core
    os.sched_setaffinity(0, {chosen})
    return chosen


def run_loop(name: str, capture: Capture, slots_log2: int, *flags: str) -> dict[str, Any]:
    """One run of a hand-written loop; what it printed."""
    program = executable(LOOPS / f"{name}.c", *LOOP_LIBRARIES.get(name, ()))
    command = [str(program), str(capture.path), str(slots_log2), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(done.stderr.strip() or f"{name} ended with {done.returncode}")
    return dict(json.loads(done.stdout))


@dataclass(frozen=True)
class LoopRun:
    """A loop as a contender, by a clock of its own."""

    name: str
    capture: Capture
    slots_log2: int
    flags: tuple[str, ...]
    clock: str = WALL

    def __call__(self) -> float:
        """Run once; nanoseconds per packet. RunError, BuildError."""
        answer = run_loop(self.name, self.capture, self.slots_log2, *self.flags)
        return float(answer[_OF_LOOPS[self.clock]])


def loop(name: str, capture: Capture, slots_log2: int = DEFAULT_SLOTS_LOG2, *flags: str) -> LoopRun:
    """A loop as a contender."""
    return LoopRun(name, capture, slots_log2, flags)


def loops(
    capture: Capture, *names: str, slots_log2: int = DEFAULT_SLOTS_LOG2
) -> dict[str, Contender]:
    """Loops as contenders, each over the mapped file and over one that is read through a buffer.

    Which is faster depends on the size of the packets and on the machine, so both have to run.
    """
    both = (("", ()), (", read", ("--read",)))
    return {
        name + suffix: loop(name, capture, slots_log2, *flags)
        for name in names
        for suffix, flags in both
    }


def run_ours(
    function: str,
    capture: Capture,
    query: str,
    *,
    place: Mapping[str, str] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """One run of a function of ours.py in its own process; what it returned.

    `place` is set in its environment: PYTHONPATH, say, for the engine of another tree.
    """
    process = _start_ours(place or {})
    return _finish_ours(process, function, capture, query, settings)


def _start_ours(place: Mapping[str, str]) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, str(HERE / "ours.py")], subprocess.PIPE
    environment = {**os.environ, **place}
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    )


def _finish_ours(
    process: subprocess.Popen[str],
    function: str,
    capture: Capture,
    query: str,
    settings: dict[str, Any],
) -> dict[str, Any]:
    request = {"function": function, "path": str(capture.path), "query": query}
    output, messages = process.communicate(json.dumps({**request, "settings": settings}))
    if process.returncode != 0:
        raise RunError((messages.strip().splitlines() or ["no message"])[-1])
    return dict(json.loads(output))


@dataclass(frozen=True)
class OurRun:
    """The engine as a contender, by a clock of ours.py; what is installed, or in another place."""

    function: str
    capture: Capture
    query: str
    clock: str
    settings: Mapping[str, Any]
    place: Mapping[str, str] = field(default_factory=dict)

    def __call__(self) -> float:
        """Run once; nanoseconds per packet. RunError."""
        asked = (self.function, self.capture, self.query)
        answer = run_ours(*asked, place=self.place, **self.settings)
        return 1e9 * float(answer[self.clock]) / self.capture.packets


def ours(
    function: str, capture: Capture, query: str, *, clock: str = WALL, **settings: Any
) -> OurRun:
    """The engine as a contender, by a clock of ours.py."""
    return OurRun(function, capture, query, clock, settings)


@dataclass(frozen=True)
class CommandRun:
    """Another tool as a contender: the time of its whole process."""

    words: tuple[str, ...]
    capture: Capture
    time_limit_seconds: float
    clock: str = WALL

    def __call__(self) -> float:
        """Run once; nanoseconds per packet. RunError."""
        start = self._now()
        _run_command(list(self.words), self.time_limit_seconds)
        return 1e9 * (self._now() - start) / self.capture.packets

    def _now(self) -> float:
        if self.clock == WALL:
            return time.perf_counter()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def command(words: list[str], capture: Capture, time_limit_seconds: float) -> CommandRun:
    """Another tool as a contender."""
    return CommandRun(tuple(words), capture, time_limit_seconds)


def _run_command(words: list[str], time_limit_seconds: float) -> None:
    try:
        done = subprocess.run(words, capture_output=True, timeout=time_limit_seconds, check=False)
    except subprocess.TimeoutExpired:
        raise RunError(f"not done in {time_limit_seconds:g} s") from None
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RunError(last[0] if last else f"{words[0]} ended with {done.returncode}")


def peak_anonymous_bytes(capture: Capture, query: str) -> int:
    """The greatest RssAnon (memory of its own: no mapped files) of a run over both levels."""
    process = _start_ours({})
    peaks: list[int] = []
    watcher = threading.Thread(target=_watch, args=(process, peaks))
    watcher.start()
    try:
        _finish_ours(process, "whole_path", capture, query, {})
    finally:
        watcher.join()
    return max(peaks, default=0)


def _watch(process: subprocess.Popen[str], peaks: list[int]) -> None:
    while process.poll() is None:
        peaks.append(anonymous_bytes(process.pid))
        time.sleep(0.005)


def anonymous_bytes(process_id: int) -> int:
    """RssAnon: memory of its own, no mapped files; 0 where there is no such process."""
    try:
        status = Path(f"/proc/{process_id}/status").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(lines[0][1]) * 1024 if lines else 0

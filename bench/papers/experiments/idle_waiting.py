# SPDX-License-Identifier: Apache-2.0
"""On-demand paper, Figures 7 and 8: latency, queue and idle-waiting of a union of two streams.

Poisson streams of 50 and 0.05 tuples a second pass a selection (95 %) and are united in order: with
no timestamps but the tuples' own (A), with heartbeats of 1 to 1000 a second (B), on demand (C), and
with latent timestamps (D). Streams are rings of the engine with internal timestamps, and its clock
is set to each arrival and each heartbeat, so that an hour takes a minute. Latency is how far that
clock went on until the row was out, and the time that this thread then took for it.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np
from experiment import Experiment, Row, Verdict, ratio, value
from low_level import plan_of
from packets import SECOND_NS, one_frame
from virtual_links import START_NS, Ring, VirtualSession

from gigastream.engine.events import Event
from gigastream.settings import Settings
from gigastream.timestamps import IN_ORDER, PROPERTY, Timestamps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SELECTED = """
DEFINE {{ query_name {name}_95; visibility internal; }}
SELECT timestamp, srcPort FROM {name}.TCP WHERE destPort = 443;
"""
_NAMED = "DEFINE { query_name united; } "
_UNITED: dict[Timestamps, str] = {
    "internal": "MERGE a.timestamp : b.timestamp FROM fast_95 a, slow_95 b",
    "latent": "SELECT timestamp, srcPort FROM fast_95 UNION slow_95",
}
RATES = {"fast": 50.0, "slow": 0.05}
SELECTED_SHARE, SECONDS = 0.95, 600
PERIODIC_PER_S = (1, 3, 10, 30, 100, 300, 1000)
FRAMES = {is_selected: one_frame(443 if is_selected else 80) for is_selected in (True, False)}
A, B, C, D = "A none", "B periodic", "C on demand", "D latent"
NEAR_LATENT_MS, LESS_MEMORY = 0.2, 100.0
IDLE_PERCENT = {A: (95.0, 100.0), B: (0.0, 25.0), C: (0.0, 0.1)}
"""As there: 99 %, 15 % at 100 a second and more, under 0.1 %."""


@dataclass(frozen=True, order=True)
class Moment:
    """Something happens: a packet comes, or (None) the timer's turn has come."""

    at_ns: int
    link: str = ""
    is_selected: bool = False


@dataclass
class Seen:
    """What a run was like."""

    latencies_ms: list[float] = field(default_factory=list)
    queued: int = 0
    peak: int = 0
    waited_ns: int = 0


def measure(scale: float) -> list[Row]:
    """A row for each way, and for each rate of heartbeats."""
    seconds = max(SECONDS * scale, 10.0)
    ways = [(A, 0), *((B, per_s) for per_s in PERIODIC_PER_S), (C, 0), (D, 0)]
    return [_row(way, per_s, seconds) for way, per_s in ways]


def _row(way: str, per_s: int, seconds: float) -> Row:
    timestamps: Timestamps = "latent" if way == D else "internal"
    mode = {A: "none", B: "periodic", C: "on-demand", D: "none"}[way]
    settings = Settings(
        time=mode, heartbeat_ns=SECOND_NS // per_s if per_s else SECOND_NS, deliver_every_burst=True
    )
    rings = {name: Ring() for name in RATES}
    known = {name: {PROPERTY: str(timestamps), IN_ORDER: "true"} for name in RATES}
    selected = "".join(_SELECTED.format(name=name) for name in RATES)
    plan = plan_of(selected + _NAMED + _UNITED[timestamps], known)
    with VirtualSession(plan, rings, timestamps, settings) as session:
        seen = _run(session, rings, _moments(seconds, per_s))
    return {
        "way": way,
        "heartbeats_per_s": per_s,
        "rows": len(seen.latencies_ms),
        "latency_ms": round(mean(seen.latencies_ms or [0.0]), 5),
        "peak_rows": seen.peak,
        "idle_percent": round(100 * seen.waited_ns / (seconds * SECOND_NS), 4),
    }


def _moments(seconds: float, per_s: int) -> Iterator[Moment]:
    streams = [_arrivals(name, rate, seconds) for name, rate in RATES.items()]
    if per_s:
        period_ns = SECOND_NS // per_s
        streams.append(Moment(at) for at in range(period_ns, int(seconds * SECOND_NS), period_ns))
    return heapq.merge(*streams)


def _arrivals(name: str, rate: float, seconds: float) -> Iterator[Moment]:
    """The same ones in every way: they are of the stream's own seed."""
    random, at_s = np.random.default_rng(len(name) * round(1 / rate + 7)), 0.0
    while (at_s := at_s + random.exponential(1 / rate)) < seconds:
        yield Moment(round(at_s * SECOND_NS), name, bool(random.random() < SELECTED_SHARE))


def _run(session: VirtualSession, rings: dict[str, Ring], moments: Iterator[Moment]) -> Seen:
    """The union waits idly from when it holds a row that it cannot pass until it has none."""
    seen, before_ns = Seen(), 0
    for moment in moments:
        seen.waited_ns += (moment.at_ns - before_ns) * (seen.queued > 0)
        before_ns = moment.at_ns
        if moment.link:
            rings[moment.link].receive(START_NS + moment.at_ns, FRAMES[moment.is_selected])
            seen.queued += moment.is_selected
        seen.peak = max(seen.peak, seen.queued)
        begun_ns = time.thread_time_ns()
        events = list(session.until_idle(moment.at_ns))
        spent_ns = time.thread_time_ns() - begun_ns
        for came_ns in _came(events):
            seen.latencies_ms.append((moment.at_ns - came_ns + spent_ns) / 1e6)
            seen.queued -= 1
    return seen


def _came(events: Sequence[Event]) -> Iterator[int]:
    for event in events:
        if event.batch.row_count:
            stamps = event.batch.to_arrow().column(0).cast("int64").to_pylist()
            yield from (stamp - START_NS for stamp in stamps)


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Latency, memory and idle-waiting of each way, as the paper names them."""
    latency = {way: value(rows, "latency_ms", way=way) for way in (A, C, D)}
    peak = {way: value(rows, "peak_rows", way=way) for way in (A, C)}
    apart = latency[C] - latency[D]
    less = ratio(peak[A], peak[C])
    return [
        Verdict(
            f"on demand within {NEAR_LATENT_MS} ms of latent",
            f"{apart:.3f} ms ({latency[C]:.3f} and {latency[D]:.3f}; none {latency[A]:.0f} ms)",
            apart <= NEAR_LATENT_MS,
        ),
        Verdict(
            "on demand holds two orders of magnitude less than none",
            f"{peak[C]:.0f} rows at most, none {peak[A]:.0f}",
            less >= LESS_MEMORY,
        ),
        _idle(rows),
        _shape(rows),
    ]


def _idle(rows: Sequence[Row]) -> Verdict:
    found = {
        A: value(rows, "idle_percent", way=A),
        B: value(rows, "idle_percent", way=B, heartbeats_per_s=100),
        C: value(rows, "idle_percent", way=C),
    }
    told = ", ".join(f"{way} {percent:.2f} %" for way, percent in found.items())
    holds = all(IDLE_PERCENT[way][0] <= found[way] <= IDLE_PERCENT[way][1] for way in found)
    return Verdict("idle-waiting some 99 %, some 15 % (100/s), under 0.1 %", told, holds)


def _shape(rows: Sequence[Row]) -> Verdict:
    peaks = [value(rows, "peak_rows", way=B, heartbeats_per_s=each) for each in PERIODIC_PER_S]
    told = ", ".join(f"{peak:.0f}" for peak in peaks)
    least = min(peaks)
    return Verdict("periodic's memory is U-shaped", told, peaks[0] > least < peaks[-1])


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Latency (7) and peak queue (8) by the rate of heartbeats; the others are level lines."""
    figure.set_size_inches(9, 3.4)
    names = {"latency_ms": "average latency (ms)", "peak_rows": "peak queue (rows)"}
    for axes, (column, name) in zip(figure.subplots(1, 2), names.items(), strict=True):
        periodic = [row for row in rows if row["way"] == B]
        rates = [float(row["heartbeats_per_s"]) for row in periodic]
        axes.plot(rates, [float(row[column]) for row in periodic], marker="o", label=B)
        for way, style in ((A, "--"), (C, "-."), (D, ":")):
            axes.plot(rates, [value(rows, column, way=way)] * len(rates), style, label=way)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("heartbeats a second")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


EXPERIMENT = Experiment(
    "idle_waiting", "Bai et al., ICDE 2007, section 6, Figures 7 and 8", measure, verdicts, draw
)

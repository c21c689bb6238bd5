# SPDX-License-Identifier: Apache-2.0
"""Heartbeat paper, section 7.1, Figures 3 and 4: memory of a merge of which one input is silent.

Packets by flow and ten seconds on three interfaces: main1 and main2 of 100,000 packets a second,
and control, on which nothing comes but heartbeats. They come just before multiples of the interval,
so that an interval of ten seconds misses the end of every window, as one of no special phase would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from experiment import Experiment, Row, Verdict, memory_by, ratio
from links import Departure, Link, Passed, arrive, departures, made
from low_level import plan_of
from packets import Traffic, clock

from gigastream.plan import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from recorded import Recorded

QUERY = """
DEFINE {{ aggregate_slots {slots}; {options} }}
SELECT tb, srcIP, destIP, srcPort, destPort, protocol, count(*) AS packets
FROM TCP WHERE ipversion = 4
GROUP BY time/10 AS tb, srcIP, destIP, srcPort, destPort, protocol
"""
FORMS = {"merge": "in_order; flush slow_inorder;", "union": ""}
"""The paper's merge, and what takes its place out of order."""
MAIN, SILENT = ("main1", "main2"), "control"
RATE, FLOWS, SECONDS = 100_000, 30_000, 70
INTERVALS_S = (1, 5, 10, 15, 20, 25, 30)
NONE = 0
"""In the place of an interval: no heartbeats."""
LINEAR, GROWS = 0.95, 1.8


def measure(scale: float, recorded: Recorded | None = None) -> list[Row]:
    """A row for each form and interval."""
    flows = max(1, round(FLOWS * scale))
    traffic = {
        name: Traffic(RATE * scale, SECONDS, flows, seed=seed, recorded=recorded)
        for seed, name in enumerate(MAIN, 1)
    }
    rows: list[Row] = []
    with made(traffic) as links:
        for form, options in FORMS.items():
            plan = plan_of(QUERY.format(slots=flows, options=options), (*MAIN, SILENT))
            departed = departures(plan, links)
            rows += [_row(form, each, _passed(plan, departed, each)) for each in INTERVALS_S]
            rows.append(_row(form, NONE, _passed(plan, departed, NONE)))
    return rows


def _passed(plan: Plan, departed: Mapping[str, Sequence[Departure]], interval_s: int) -> Passed:
    with clock(beats(interval_s, SECONDS)) as silence:
        return arrive(plan, {**departed, **departures(plan, [Link(SILENT, silence)])})


def beats(interval_s: int, seconds: int) -> list[float]:
    """Return when a silent link is heard of: just before each interval's end, and at the end."""
    every = range(interval_s, seconds, interval_s) if interval_s else ()
    return [*(time_s - 0.1 for time_s in every), seconds]


def _row(form: str, interval_s: int, passed: Passed) -> Row:
    """`half_mb` and `end_mb`: what is held in the middle of the run, and before its end."""
    running = [sample.bytes_held / 1e6 for sample in passed.samples if sample.at_s <= SECONDS]
    return {
        "form": form,
        "interval_s": interval_s,
        "memory_mb": round(passed.peak_mb, 3),
        "rows_held": passed.peak_rows,
        "half_mb": round(running[len(running) // 2], 3),
        "end_mb": round(running[-2], 3),
        "greatest_burst": passed.greatest_burst,
        "refused": passed.refused,
    }


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Linear growth, and no end of it."""
    merge = [row for row in rows if row["form"] == "merge"]
    fit = linearity([row for row in merge if row["interval_s"] != NONE])
    (none,) = (row for row in merge if row["interval_s"] == NONE)
    grown = ratio(float(none["end_mb"]), float(none["half_mb"]))
    return [
        Verdict(
            "memory grows linearly with the interval", f"rows held: r = {fit:.3f}", fit >= LINEAR
        ),
        Verdict(
            "without heartbeats memory grows without end",
            f"at the end {grown:.2f} times what it was in the middle of the run",
            grown >= GROWS,
        ),
    ]


def linearity(rows: Sequence[Row]) -> float:
    """Return the correlation of rows held and interval: bytes grow by doubling."""
    intervals = [float(row["interval_s"]) for row in rows]
    held = [float(row["rows_held"]) for row in rows]
    return float(np.corrcoef(intervals, held)[0, 1]) if len(set(held)) > 1 else 0.0


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Memory by interval."""
    shown = [row for row in rows if row["interval_s"] != NONE]
    memory_by(figure, shown, "interval_s", "heartbeat interval (s)", order=tuple(FORMS))


EXPERIMENT = Experiment(
    "silent_merge",
    "Johnson et al., VLDB 2005, section 7.1, Figures 3 and 4",
    measure,
    verdicts,
    draw,
    measure,
)

# SPDX-License-Identifier: Apache-2.0
"""Section 7, Figure 8: joint against individual punctuation of a band join, by the count above it.

SYNs of S0 meet the SYN-ACKs of S1 that come within a band, and are counted by both times (Q3). With
joint punctuation a group leaves once both inputs have passed it. The individual form groups by the
same values, but one of the times is hidden from the planner (non_temporal), so that a group leaves
by the other's bound alone. Measured is how long after the later of its two times a group came out,
in the packets' time, with a heartbeat each second. A group whose hidden time is the earlier one
waits for the whole band, one whose hidden time is later for less: on average three quarters of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiment import Experiment, Row, Verdict, lines, points, value
from links import Link, arrive, departures, made
from low_level import plan_of
from packets import START_S, SYN, SYN_ACK, Traffic

from gigastream.engine.batch import NativeBatch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERY = """
SELECT t0, t1, count(*) AS connections FROM S0.TCP S0, S1.TCP S1
WHERE S0.destIP = S1.srcIP AND S0.destPort = S1.srcPort AND S0.srcIP = S1.destIP
AND S0.syn AND S1.syn AND S1.ack
AND S1.time >= S0.time - {band} AND S1.time <= S0.time + {band}
GROUP BY {t0} AS t0, {t1} AS t1
"""
TIMES = ("S0.time", "S1.time")
FORMS = {
    "joint": TIMES,
    "individual, S0": (TIMES[0], f"non_temporal({TIMES[1]})"),
    "individual, S1": (f"non_temporal({TIMES[0]})", TIMES[1]),
}
RATE, SECONDS, FLOWS = 500, 120, 5_000
BANDS_S = (2, 5, 10, 20, 30)
TOLERANCE_S = 2.0
"""Of steps and heartbeats of a second."""


def measure(scale: float) -> list[Row]:
    """A row for each form and band."""
    rate, flows = max(5.0, RATE * scale), max(3, round(FLOWS * scale))
    traffic = {
        "S0": Traffic(rate, SECONDS, flows, seed=1, flags=SYN),
        "S1": Traffic(rate, SECONDS, flows, seed=2, flags=SYN_ACK, are_replies=True),
    }
    with made(traffic) as links:
        return [_row(form, band_s, links) for form in FORMS for band_s in points(BANDS_S, scale)]


def _row(form: str, band_s: int, links: Sequence[Link]) -> Row:
    t0, t1 = FORMS[form]
    plan = plan_of(QUERY.format(band=band_s, t0=t0, t1=t1), ("S0", "S1"))
    delays_s: list[float] = []

    def note(at_s: float, batch: NativeBatch) -> None:
        if at_s < SECONDS:  # at the end all comes out
            rows = batch.to_arrow()
            times = zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True)
            delays_s.extend(at_s - (max(both) + 1 - START_S) for both in times)

    arrive(plan, departures(plan, links), on_rows=note)
    return {
        "form": form,
        "band_s": band_s,
        "groups": len(delays_s),
        "delay_s": round(sum(delays_s) / max(1, len(delays_s)), 3),
    }


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """By how much joint punctuation is earlier, at the widest band."""
    band_s = BANDS_S[-1]
    joint = value(rows, "delay_s", form="joint", band_s=band_s)
    earlier = {
        form: value(rows, "delay_s", form=form, band_s=band_s) - joint
        for form in FORMS
        if form != "joint"
    }
    told = ", ".join(f"{by_s:.1f} s against {form}" for form, by_s in earlier.items())
    return [
        Verdict(
            f"the count comes earlier by about the band ({band_s} s) than by one time alone",
            told,
            all(by_s >= band_s / 2 - TOLERANCE_S for by_s in earlier.values()),
        )
    ]


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Mean delay by band."""
    axes = figure.subplots()
    lines(axes, rows, "band_s", "delay_s", "form", order=tuple(FORMS))
    axes.set_xlabel("band (s)")
    axes.set_ylabel("mean delay of a group (s)")


EXPERIMENT = Experiment(
    "joint_bounds", "Li et al., VLDB 2008, section 7, Figure 8", measure, verdicts, draw
)

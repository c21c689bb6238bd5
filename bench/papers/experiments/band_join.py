# SPDX-License-Identifier: Apache-2.0
"""N1, Figure 11: a band join, then a count: memory, latency and time, by the width of the band.

Q7: M1 and M2 have 4,000 packets a second each, in opposite directions, in order and synchronous. In
order the join's output is sorted by M1.time before it is counted. Latency is the time of this
thread from the arrival of the batch whose punctuation closes a window to the window's row;
execution time that of all pushes. Of both the least of three runs is taken, which take turns: what
else the machine does only adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import mean
from typing import TYPE_CHECKING

from experiment import Experiment, Row, Verdict, lines, points, value
from forms import held, planned
from links import Link, Passed, arrive, departures, made
from packets import Traffic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERY = """
DEFINE {{ {options} }}
SELECT tb, count(*) AS packets FROM M1.TCP M1, M2.TCP M2
WHERE M1.time >= M2.time - {band} AND M1.time <= M2.time + {band}
AND M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP
AND M1.srcPort = M2.destPort AND M1.destPort = M2.srcPort
GROUP BY M1.time/60 AS tb
"""
RATE, SECONDS, FLOWS = 4_000, 240, 100_000
BANDS_S = (5, 10, 20, 30, 40, 50, 60)
RUNS = 3
MEASURES = {"memory_mb": "memory (MB)", "latency_ms": "latency (ms)", "time_s": "time (s)"}


def measure(scale: float) -> list[Row]:
    """A row for each form and band."""
    flows = max(1, round(FLOWS * scale))
    traffic = {
        "M1": Traffic(RATE * scale, SECONDS, flows, seed=1),
        "M2": Traffic(RATE * scale, SECONDS, flows, seed=2, are_replies=True),
    }
    with made(traffic) as links:
        return [row for band_s in points(BANDS_S, scale) for row in _measure(links, band_s)]


def _measure(links: Sequence[Link], band_s: int) -> list[Row]:
    plans = dict(planned(QUERY, links, band=band_s))
    departed = {form: departures(plan, links) for form, plan in plans.items()}
    runs: dict[str, list[Passed]] = {form: [] for form in plans}
    for _, (form, plan) in product(range(RUNS), plans.items()):
        runs[form].append(arrive(plan, departed[form]))
    return [_row(form, band_s, found) for form, found in runs.items()]


def _row(form: str, band_s: int, runs: Sequence[Passed]) -> Row:
    latency_s = min(mean(run.latencies_s or (0.0,)) for run in runs)
    return {
        "form": form,
        "band_s": band_s,
        **held(runs[0]),
        "latency_ms": round(latency_s * 1000, 4),
        "time_s": round(min(run.seconds for run in runs), 4),
    }


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Out of order is better on all three, at every band."""
    return [_verdict(rows, column, name) for column, name in MEASURES.items()]


def _verdict(rows: Sequence[Row], column: str, name: str) -> Verdict:
    pairs = {
        band_s: [value(rows, column, form=form, band_s=band_s) for form in ("OOP", "IOP")]
        for band_s in sorted({int(row["band_s"]) for row in rows})
    }
    better = sum(out_of_order < in_order for out_of_order, in_order in pairs.values())
    last = pairs[BANDS_S[-1]]
    figure = (
        f"at {better} of {len(pairs)} bands; at {BANDS_S[-1]} s {last[0]:.4g} and {last[1]:.4g}"
    )
    claim = f"less {name.split(' (')[0]} out of order than in order"
    return Verdict(claim, f"{figure}, {name}", better == len(pairs))


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """The three by band, as (a), (b) and (c) of the figure."""
    figure.set_size_inches(9, 3)
    for axes, (column, name) in zip(figure.subplots(1, 3), MEASURES.items(), strict=True):
        lines(axes, rows, "band_s", column, "form", order=("IOP", "OOP"))
        axes.set_xlabel("band (s)")
        axes.set_ylabel(name)


EXPERIMENT = Experiment(
    "band_join", "Li et al., VLDB 2008, experiment N1, Figure 11", measure, verdicts, draw
)

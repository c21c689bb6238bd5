# SPDX-License-Identifier: Apache-2.0
"""N2, Figure 12: memory of an equality join of which one input has late tuples.

Q8: M1 joins the union of M2 and C by the second. M1 and M2 have 4,000 packets a second, C has 40
and arrives late. In order M2's rows wait for C's before they may join, M1's for both; out of order
M2's rows join at once, and only M1's wait for what of C may still match them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiment import Experiment, Row, Verdict, memory_by, ratio, value
from forms import by_delay
from links import made
from packets import Traffic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERY = """
DEFINE {{ {options} }}
SELECT M1.srcIP, M1.destIP, M1.time FROM M1.TCP M1, M2.TCP UNION C.TCP AS M3
WHERE M1.time = M3.time AND M1.srcIP = M3.destIP AND M1.destIP = M3.srcIP
AND M1.srcPort = M3.destPort AND M1.destPort = M3.srcPort
"""
RATES = {"M1": 4_000, "M2": 4_000, "C": 40}
SECONDS, FLOWS = 90, 4_000
DELAYS_S = (0, 10, 20, 30, 40, 50, 60)


def measure(scale: float) -> list[Row]:
    """A row for each form and delay."""
    flows = max(1, round(FLOWS * scale))
    traffic = {
        name: Traffic(rate * scale, SECONDS, flows, seed=seed, are_replies=name != "M1")
        for seed, (name, rate) in enumerate(RATES.items(), 1)
    }
    with made(traffic) as links:
        return list(by_delay(QUERY, links, ("C",), DELAYS_S))


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """How much more rows are held for each second of delay."""
    slopes = {form: _grown(rows, form) / DELAYS_S[-1] for form in ("OOP", "IOP")}
    share = ratio(slopes["OOP"], slopes["IOP"])
    figure = f"{slopes['OOP']:.0f} rows for each second of delay, in order {slopes['IOP']:.0f}"
    return [Verdict("memory grows more slowly with the delay", figure, share < 1)]


def _grown(rows: Sequence[Row], form: str) -> float:
    first, last = (
        value(rows, "rows_held", form=form, delay_s=delay_s)
        for delay_s in (DELAYS_S[0], DELAYS_S[-1])
    )
    return last - first


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Memory by delay."""
    memory_by(figure, rows, "delay_s", "delay of late tuples (s)")


EXPERIMENT = Experiment(
    "late_join", "Li et al., VLDB 2008, experiment N2, Figure 12", measure, verdicts, draw
)

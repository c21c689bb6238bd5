# SPDX-License-Identifier: Apache-2.0
"""G3, Figure 10: memory of a tumbling join of two unions, one link of each arriving late.

Q6: four links of 10,000 packets a second; A and B have one direction of the connections, C and D
the other. B and D arrive late. In order the rows wait before the join, in the merges; out of order
they wait in it.
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
SELECT M1.srcIP, M1.destIP, M1.time
FROM A.TCP UNION B.TCP AS M1, C.TCP UNION D.TCP AS M2
WHERE M1.time/10 = M2.time/10 AND M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP
AND M1.srcPort = M2.destPort AND M1.destPort = M2.srcPort
"""
RATE, SECONDS, FLOWS = 10_000, 60, 200_000
DELAYS_S = (0, 5, 10, 15, 20, 25, 30, 35, 40)
LATE = ("B", "D")
CLAIM = 1.2


def measure(scale: float) -> list[Row]:
    """A row for each form and skew."""
    flows = max(1, round(FLOWS * scale))
    traffic = {
        name: Traffic(RATE * scale, SECONDS, flows, seed=seed, are_replies=name in "CD")
        for seed, name in enumerate("ABCD", 1)
    }
    with made(traffic) as links:
        return list(by_delay(QUERY, links, LATE, DELAYS_S))


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """The greatest ratio of memory."""
    ratios = {
        delay_s: ratio(
            value(rows, "memory_mb", form="OOP", delay_s=delay_s),
            value(rows, "memory_mb", form="IOP", delay_s=delay_s),
        )
        for delay_s in DELAYS_S
    }
    worst = max(ratios, key=lambda delay_s: ratios[delay_s])
    return [
        Verdict(
            "out of order takes at most 20 % more memory than in order",
            f"{ratios[worst]:.2f} times at most (skew {worst} s), {ratios[40]:.2f} times at 40 s",
            ratios[worst] <= CLAIM,
        )
    ]


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Memory by skew."""
    memory_by(figure, rows, "delay_s", "skew (s)")


EXPERIMENT = Experiment(
    "union_join", "Li et al., VLDB 2008, experiment G3, Figure 10", measure, verdicts, draw
)

# SPDX-License-Identifier: Apache-2.0
"""N3, Figure 13: memory of a sliding count over three sources, one of which arrives late.

Q9: five minutes that slide by one. M1 and M2 have 4,000 packets a second, C has 40 and arrives
late. All packets go to the high level (select_lfta), as in the paper's system: in order they wait
there for C's; out of order they become counts of panes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiment import Experiment, Row, Verdict, memory_by, value
from forms import by_delay
from links import made
from packets import Traffic

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from recorded import Recorded

QUERY = """
DEFINE {{ select_lfta; {options} }}
SELECT window_start, count(*) AS packets
FROM M1.IPV4 UNION M2.IPV4 UNION C.IPV4 [RANGE 5 min, SLIDE 1 min, WA time]
"""
RATES = {"M1": 4_000, "M2": 4_000, "C": 40}
SECONDS = 540
DELAYS_S = (0, 30, 60, 120, 180, 240, 300)
FLAT, GROWS = 1.5, 3.0


def measure(scale: float, recorded: Recorded | None = None) -> list[Row]:
    """A row for each form and delay."""
    traffic = {
        name: Traffic(max(rate * scale, 0.5), SECONDS, 100, seed=seed, recorded=recorded)
        for seed, (name, rate) in enumerate(RATES.items(), 1)
    }
    with made(traffic) as links:
        return list(by_delay(QUERY, links, ("C",), DELAYS_S))


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """How memory at the greatest delay compares with that at none."""
    mb = {
        form: [
            value(rows, "memory_mb", form=form, delay_s=delay_s)
            for delay_s in (DELAYS_S[0], DELAYS_S[-1])
        ]
        for form in ("OOP", "IOP")
    }
    flat = mb["OOP"][1] <= FLAT * mb["OOP"][0] or mb["OOP"][1] <= 0.1
    grows = mb["IOP"][1] >= GROWS * mb["IOP"][0]
    told = "; ".join(f"{form} {mb[form][0]:.2f} MB and {mb[form][1]:.2f} MB" for form in mb)
    claim = f"with a delay of {DELAYS_S[-1]} s memory is flat out of order and grows in order"
    return [Verdict(claim, told, flat and grows)]


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Memory by delay."""
    memory_by(figure, rows, "delay_s", "delay of C (s)")


EXPERIMENT = Experiment(
    "sliding_count",
    "Li et al., VLDB 2008, experiment N3, Figure 13",
    measure,
    verdicts,
    draw,
    measure,
)

# SPDX-License-Identifier: Apache-2.0
"""Heartbeat paper, section 7.2, Figures 5 and 6: memory of the full outer join of flows.

Flows of ten seconds on main1 and control meet those on main2. Both main links have 100,000 packets
a second, control is silent but for its heartbeats: what main1 has counted waits for them, and what
main2 has counted waits in the join.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiment import Experiment, Row, Verdict, memory_by, value
from forms import FORMS, held
from links import Link, arrive, departures, made
from low_level import plan_of
from packets import Traffic, clock

from experiments.silent_merge import LINEAR, beats, linearity

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from recorded import Recorded

_FLOWS = """
DEFINE {{ query_name {name}; visibility internal; aggregate_slots {slots}; {options} }}
SELECT tb, protocol, srcIP, destIP, srcPort, destPort, count(*) AS cnt FROM {links}
WHERE ipversion = 4 GROUP BY time/10 AS tb, protocol, srcIP, destIP, srcPort, destPort;
"""
_FULL_FLOW = """
DEFINE {{ query_name full_flow; {options} }}
SELECT flow1.tb, flow1.protocol, flow1.srcIP, flow1.destIP, flow1.srcPort, flow1.destPort,
    flow1.cnt, flow2.cnt
OUTER_JOIN FROM flow1, flow2
WHERE flow1.srcIP = flow2.srcIP AND flow1.destIP = flow2.destIP
AND flow1.srcPort = flow2.srcPort AND flow1.destPort = flow2.destPort
AND flow1.protocol = flow2.protocol AND flow1.tb = flow2.tb
"""
MAIN, SILENT = ("main1", "main2"), "control"
RATE, FLOWS, SECONDS = 100_000, 30_000, 130
INTERVALS_S = (1, 10, 20, 30, 40, 50, 60)


def query(options: str, slots: int) -> str:
    """Return the three queries."""
    flow1 = {"name": "flow1", "links": "main1.TCP UNION control.TCP"}
    flow2 = {"name": "flow2", "links": "main2.TCP"}
    flows = "".join(_FLOWS.format(slots=slots, options=options, **each) for each in (flow1, flow2))
    return flows + _FULL_FLOW.format(options=options)


def measure(scale: float, recorded: Recorded | None = None) -> list[Row]:
    """A row for each form and interval."""
    flows = max(1, round(FLOWS * scale))
    traffic = {
        name: Traffic(RATE * scale, SECONDS, flows, seed=seed, recorded=recorded)
        for seed, name in enumerate(MAIN, 1)
    }
    with made(traffic) as links:
        return [
            row
            for form, options in FORMS.items()
            for row in _measure(form, query(options, flows), links)
        ]


def _measure(form: str, text: str, links: Sequence[Link]) -> Iterator[Row]:
    plan = plan_of(text, (*MAIN, SILENT))
    departed = departures(plan, links)
    for interval_s in INTERVALS_S:
        with clock(beats(interval_s, SECONDS)) as silence:
            departed |= departures(plan, [Link(SILENT, silence)])
        yield {"form": form, "interval_s": interval_s, **held(arrive(plan, departed))}


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Linear growth, and the bursts that grow with it."""
    mine = [row for row in rows if row["form"] == "IOP"]
    fit = linearity(mine)
    bursts = [value(mine, "greatest_burst", interval_s=each) for each in INTERVALS_S]
    return [
        Verdict(
            "memory grows linearly with the interval", f"rows held: r = {fit:.3f}", fit >= LINEAR
        ),
        Verdict(
            "output bursts shrink with the interval",
            f"at most {bursts[0]:,.0f} rows at once at 1 s, {bursts[-1]:,.0f} at 60 s",
            bursts == sorted(bursts) and bursts[0] < bursts[-1],
        ),
    ]


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Memory by interval."""
    memory_by(figure, rows, "interval_s", "heartbeat interval (s)")


EXPERIMENT = Experiment(
    "flow_join",
    "Johnson et al., VLDB 2005, section 7.2, Figures 5 and 6",
    measure,
    verdicts,
    draw,
    measure,
)

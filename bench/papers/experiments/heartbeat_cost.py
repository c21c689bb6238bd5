# SPDX-License-Identifier: Apache-2.0
"""Heartbeat paper, section 7.3: what heartbeats each second cost, in instructions.

The query of section 7.1 over two interfaces of 100,000 packets a second. A difference that the
paper could not tell from the traffic's own is told by counting instructions; what the interpreter
needs for itself is taken off by a run over no packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counted_run import instructions
from experiment import Experiment, Row, Verdict
from instructions import counter
from low_level import plan_of
from packets import Capture, Traffic, capture, clock

from gigastream.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERY = (
    "SELECT tb, srcIP, destIP, srcPort, destPort, protocol, count(*) AS packets FROM TCP "
    "WHERE ipversion = 4 "
    "GROUP BY time/10 AS tb, srcIP, destIP, srcPort, destPort, protocol"
)
RATE, SECONDS, FLOWS = 100_000, 10, 30_000
INTERFACES = ("main1", "main2")
CLAIM_PERCENT = 0.1


def measure(scale: float) -> list[Row]:
    """A row with heartbeats, and one without."""
    tool, count = counter()
    plan = plan_of(QUERY, INTERFACES)
    traffic = [Traffic(RATE * scale, SECONDS, FLOWS, seed=seed) for seed in (1, 2)]
    with capture(traffic[0]) as main1, capture(traffic[1]) as main2, clock([]) as nothing:

        def counted(captures: Sequence[Capture], heartbeat_ns: int) -> int:
            settings = Settings(heartbeat_ns=heartbeat_ns, heartbeat_packets=0, slack_ns=0)
            paths = [each.path for each in captures]
            files = list(zip(INTERFACES, paths, strict=True))
            return instructions(count, plan, files, settings)

        base = counted([nothing, nothing], 0)
        told = {
            "none": counted([main1, main2], 0) - base,
            "each second": counted([main1, main2], 10**9) - base,
        }
    return [
        {"heartbeats": name, "instructions": instructions, "counted by": tool}
        for name, instructions in told.items()
    ]


def _percent(rows: Sequence[Row]) -> float:
    without, with_them = (float(row["instructions"]) for row in rows)
    return 100 * (with_them - without) / without if without > 0 else 0.0


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Whether they are as good as free."""
    percent = _percent(rows)
    claim = f"heartbeats each second cost ≤ {CLAIM_PERCENT} % more instructions"
    return [Verdict(claim, f"{percent:.3f} % ({rows[0]['counted by']})", percent <= CLAIM_PERCENT)]


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Two bars, as alike as they are."""
    axes = figure.subplots()
    axes.bar([str(row["heartbeats"]) for row in rows], [float(r["instructions"]) for r in rows])
    axes.set_xlabel("heartbeats")
    axes.set_ylabel("instructions")


EXPERIMENT = Experiment(
    "heartbeat_cost",
    "Johnson et al., VLDB 2005, section 7.3",
    measure,
    verdicts,
    draw,
)

# SPDX-License-Identifier: Apache-2.0
"""G1, Figure 9: the highest rate of Q4 at the low level, by flush policy, groups and table.

The paper raised the rate until packets were dropped. Here the low level runs as fast as it goes,
each turn of 1024 packets is timed by this thread's clock (the least of three runs of each turn,
which are equal but for the machine), and the highest rate is that at which a ring of so many
packets, filled evenly and emptied at that pace, never overflows. The first window, in which the
system gives the table's pages, and the end of the input, where all leaves, are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from experiment import Experiment, Row, Verdict, bars, ratio, value
from low_level import Service, plan_of, service
from packets import Capture, Traffic, capture

from gigastream.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERY = (
    "SELECT tb, srcIP, destIP, count(*) AS packets FROM IPV4 GROUP BY time/60 AS tb, srcIP, destIP"
)
GROUPS = (66_000, 130_000, 260_000, 520_000)
TABLES = {"½": 0.5, "1": 1.0, "2": 2.0}
POLICIES = {"slow_inorder": "", "lazy": "", "slow": "DEFINE { slow_flush 160; } "}
"""In the order of the figure: IOP, OOP, OOP(sf), with the paper's pace."""
RINGS = (4_096, 16_384, 65_536)
SHOWN_RING = 16_384
WINDOW_PACKETS, WINDOWS, WINDOW_S = 2_000_000, 4, 60
TURN_PACKETS, RUNS = 1_024, 3
HASH_KEY = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
CLAIM = 1.9


def measure(scale: float) -> list[Row]:
    """A row for each number of groups, table, policy and ring."""
    rows: list[Row] = []
    for groups in GROUPS:
        rate = WINDOW_PACKETS * scale / WINDOW_S
        with capture(Traffic(rate, WINDOWS * WINDOW_S, max(1, round(groups * scale)))) as packets:
            for table, times in TABLES.items():
                rows += _measure(packets, groups, table, round(groups * times * scale), scale)
    return rows


def _measure(packets: Capture, groups: int, table: str, slots: int, scale: float) -> list[Row]:
    """All policies take turns, so that what else the machine does meets each of them."""
    runs: dict[str, list[Service]] = {policy: [] for policy in POLICIES}
    for _, (policy, options) in product(range(RUNS), POLICIES.items()):
        settings = Settings(
            flush=policy, slots=max(1, slots), hash_key=HASH_KEY, low_level_only=True, slack_ns=0
        )
        found = service(plan_of(options + QUERY), packets, settings, TURN_PACKETS)
        runs[policy].append(found)
    return [
        {
            "groups": groups,
            "table": table,
            "policy": policy,
            "ring": ring,
            "rate": round(_highest_rate(*_steady(runs[policy], scale), ring)),
        }
        for policy, ring in product(POLICIES, RINGS)
    ]


def _steady(runs: Sequence[Service], scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Packets and seconds of each turn from just before the second window on."""
    seconds = np.min([run.seconds for run in runs], axis=0)
    counted = runs[0].packets > 0.9 * WINDOW_PACKETS * scale
    counted[-2:] = False
    counted |= ~counted.any()  # of a capture of a few turns, all
    return np.diff(runs[0].packets, prepend=0)[counted], seconds[counted]


def _highest_rate(packets: np.ndarray, seconds: np.ndarray, ring: int) -> float:
    """Packets a second at which the ring never overflows, by bisection."""
    low, high = 1.0, 1e10
    while high > low * 1.0001:
        rate = (low * high) ** 0.5
        come = np.cumsum(seconds * rate - packets)
        waiting = come - np.minimum.accumulate(np.minimum(come, 0))
        low, high = (rate, high) if waiting.max() <= ring else (low, rate)
    return low


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Lazy and slow against slow_inorder, where the paper names figures."""
    at = {"groups": 260_000, "table": "2", "ring": SHOWN_RING}
    in_order = value(rows, "rate", policy="slow_inorder", **at)
    found = []
    for policy in ("lazy", "slow"):
        times = ratio(value(rows, "rate", policy=policy, **at), in_order)
        claim = f"{policy} ≥ {CLAIM} × slow_inorder at 260 k groups, table 2 ×"
        found.append(Verdict(claim, f"{times:.2f} × (ring of {SHOWN_RING:,})", times >= CLAIM))
    return found


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Bars by number of groups: policy and table, as in the figure."""
    axes = figure.subplots()
    names = {"slow_inorder": "IOP", "lazy": "OOP", "slow": "OOP(sf)"}
    shown = [
        {
            "bar": f"{names[str(row['policy'])]}-{row['table']}",
            "groups": f"{float(row['groups']) / 1000:.0f}k",
            "rate": float(row["rate"]) / 1e6,
        }
        for row in rows
        if row["ring"] == SHOWN_RING
    ]
    order = [f"{name}-{table}" for name, table in product(names.values(), TABLES)]
    bars(axes, shown, "groups", "rate", "bar", order=order)
    axes.set_xlabel("number of groups")
    axes.set_ylabel("highest rate (million packets/s)")
    axes.legend(ncols=3, fontsize="x-small")


EXPERIMENT = Experiment(
    "flush_policies",
    "Li et al., VLDB 2008, experiment G1, Figure 9",
    measure,
    verdicts,
    draw,
)

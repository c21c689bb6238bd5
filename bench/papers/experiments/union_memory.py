# SPDX-License-Identifier: Apache-2.0
"""G2, Figure 1: memory of a count over the union of two links, one of which arrives late.

Two links of 110,000 packets a second, 65,536 pairs of addresses, windows of ten seconds, low-level
tables of the sizes of experiment G1: what collides in them leaves as a partial row. In order a
merge holds the early link's partial rows until the late link has come as far; out of order they
become groups at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiment import Experiment, Row, Verdict, memory_by, ratio, value
from links import Link, arrive, departures, made
from low_level import plan_of
from packets import Traffic

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from recorded import Recorded

RATE, GROUPS, TRAFFIC_S = 110_000, 65_536, 60
SKEWS_S = (1, 5, 10, 15, 20, 25, 30, 35, 40)
TABLES = {"1": 1.0, "½": 0.5, "2": 2.0}
"""Slots for each group; the figure is drawn of the first, of the others the ends are measured."""
INTERFACES = ("M1", "M2")
SHOWN_TABLE = "1"
CLAIM = 0.3
QUERY = """
DEFINE {{ aggregate_slots {slots}; {options} }}
SELECT tb, srcIP, destIP, count(*) AS packets FROM IPV4 GROUP BY time/10 AS tb, srcIP, destIP
"""
FORMS = {"IOP": "in_order; flush slow_inorder;", "OOP": ""}
"""By the names of the figure."""


def measure(scale: float, recorded: Recorded | None = None) -> list[Row]:
    """A row for each form and skew."""
    groups = max(1, round(GROUPS * scale))
    traffic = {
        name: Traffic(RATE * scale, TRAFFIC_S, groups, seed=seed, recorded=recorded)
        for seed, name in enumerate(INTERFACES, 1)
    }
    with made(traffic) as links:
        return [
            row
            for table, times in TABLES.items()
            for form in FORMS
            for row in _measure(form, table, links, max(1, round(groups * times)))
        ]


def _measure(form: str, table: str, links: Sequence[Link], slots: int) -> list[Row]:
    plan = plan_of(QUERY.format(slots=slots, options=FORMS[form]), INTERFACES)
    departed = departures(plan, links)
    rows: list[Row] = []
    for skew_s in SKEWS_S if table == SHOWN_TABLE else (SKEWS_S[0], SKEWS_S[-1]):
        passed = arrive(plan, departed, {INTERFACES[1]: skew_s})
        peaks = {"rows_held": passed.peak_rows, "memory_mb": round(passed.peak_mb, 3)}
        where: Row = {"table": table, "form": form, "skew_s": skew_s}
        rows.append({**where, **peaks, "refused": passed.refused})
    return rows


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """The share of the memory at 40 s, by table."""
    return [_verdict(rows, table) for table in TABLES]


def _verdict(rows: Sequence[Row], table: str) -> Verdict:
    at = {"table": table, "skew_s": SKEWS_S[-1]}
    of_oop, of_iop = (value(rows, "memory_mb", form=form, **at) for form in ("OOP", "IOP"))
    share = ratio(of_oop, of_iop)
    claim = f"at 40 s out of order takes at most 30 % of the memory (table {table} ×)"
    figure = f"{100 * share:.0f} % ({of_oop:.1f} MB of {of_iop:.1f} MB)"
    return Verdict(claim, figure, share <= CLAIM)


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Memory by skew."""
    shown = [row for row in rows if row["table"] == SHOWN_TABLE]
    memory_by(figure, shown, "skew_s", "skew (s)")


EXPERIMENT = Experiment(
    "union_memory",
    "Li et al., VLDB 2008, experiment G2, Figure 1",
    measure,
    verdicts,
    draw,
    measure,
)

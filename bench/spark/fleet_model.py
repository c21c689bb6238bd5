# SPDX-License-Identifier: Apache-2.0
"""What the model says of a fleet on one machine (fleet.py), whose hosts are not alike.

python bench/spark/fleet_model.py HOSTS spool|memory
"""

from __future__ import annotations

import sys

from fleet import GROUPS, ROWS_PER_SECOND, STEP_S, WINDOW_S, hosts
from scale_model import LOOK_SHARE, LOOKS_PER_S, MEASURED, Costs, distinct

SEGMENT_S = 1.0 + STEP_S / 2
"""Segments are cut at the first step behind their age."""
CORES = 2


def predicted(size: int, way: str, costs: Costs = MEASURED) -> dict[str, float]:
    """What the model says of a fleet, whose hosts are not alike."""
    fleet = hosts(size)
    tracks = sum(len(host.interfaces) for host in fleet)
    busy = [host for host in fleet if not host.is_silent]
    rows_per_s = len(busy) * ROWS_PER_SECOND
    segments_per_s = sum(len(host.interfaces) for host in busy) / SEGMENT_S
    spark_s = rows_per_s * costs.spark_s_per_row + segments_per_s * costs.spark_s_per_segment
    found = {
        "segments/s": segments_per_s,
        "partial rows/s": rows_per_s,
        "groups of a window": distinct(GROUPS, rows_per_s * WINDOW_S),
    }
    if way != "spool":
        size_bytes = tracks * costs.offset_bytes_per_track
        return found | {"offsets of a micro-batch, bytes": size_bytes}
    look_s = tracks * costs.look_s_per_track
    pause_s = max(1 / LOOKS_PER_S, look_s * (1 / LOOK_SHARE - 1))
    planning_s = segments_per_s * WINDOW_S * costs.news_s_per_segment
    batch_s = costs.batch_s + spark_s * WINDOW_S / CORES + planning_s
    return found | {
        "Spark CPU, cores": spark_s + costs.batch_cpu_s / WINDOW_S,
        "lag, ms": (pause_s / 2 + look_s + batch_s) * 1000,
        "offsets of a micro-batch, bytes": tracks * costs.planned_bytes_per_track,
    }


def number(value: float) -> str:
    """A figure with three digits that count."""
    return f"{float(f'{value:.3g}'):,.10g}"


if __name__ == "__main__":
    for name, value in predicted(int(sys.argv[1]), sys.argv[2]).items():
        print(f"{name}: {number(value)}")

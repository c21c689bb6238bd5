# SPDX-License-Identifier: Apache-2.0
"""The same aggregation by state store: which one is the default, and from where on the other."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from jobs import from_spool, seconds_of, session
from made import Shape, write_spool
from report import Figure

TITLE = "State stores, micro-batches of about half a million rows"
GROUPS = 1_000_000
STORES = ("memory", "rocksdb")


def ask(folder: Path, rows: int, runs: int) -> list[Figure]:
    """The figures."""
    spool = folder / f"state-{rows}"
    if not spool.exists():
        write_spool(spool, Shape(rows, GROUPS, minutes=4))
    options = {"maxRowsPerTrigger": "500000"}
    seconds: dict[str, list[float]] = {store: [] for store in STORES}
    for run in range(min(runs, 3) + 1):
        for store in STORES:
            taken, _ = seconds_of(from_spool(session(store), spool, options))
            if run > 0:
                seconds[store].append(taken)
    return [
        Figure(f"{GROUPS // 1000}k groups", store, rows / median(taken) / 1e6, "Mrow/s")
        for store, taken in seconds.items()
    ]

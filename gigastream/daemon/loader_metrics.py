# SPDX-License-Identifier: Apache-2.0
"""The metrics of tables that loaders fill."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from gigastream.daemon.loader_messages import TableState

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_NS = 1e-9
_LABELS = ("set", "table")
_Value = Callable[[TableState], float | None]
_FAMILIES: tuple[tuple[Any, str, str, _Value], ...] = (
    (
        GaugeMetricFamily,
        "running",
        "Whether a loader fills the table",
        lambda table: table.state == "running",
    ),
    (CounterMetricFamily, "rows", "Rows committed", lambda table: table.rows),
    (CounterMetricFamily, "restarts", "Loaders that ended", lambda table: table.restarts),
    (
        GaugeMetricFamily,
        "lag_seconds",
        "What is read behind what the spool promises",
        lambda table: None if table.lag_ns is None else table.lag_ns * _NS,
    ),
    (CounterMetricFamily, "lost_rows", "In damaged segments", lambda table: table.lost_rows),
    (
        CounterMetricFamily,
        "retired_rows",
        "Of the low level, deleted before they were read",
        lambda table: table.retired_rows,
    ),
    (
        GaugeMetricFamily,
        "refused_rows",
        "For which there was no memory",
        lambda table: table.refused_rows,
    ),
    (
        GaugeMetricFamily,
        "no_value_rows",
        "Without a value where one is read, as where a function in Python raises",
        lambda table: table.no_value_rows,
    ),
)


def table_metrics(tables: Sequence[TableState]) -> Iterator[Metric]:
    """A family each, with a sample of each table."""
    for kind, name, about, value in _FAMILIES:
        family: Any = kind(f"gigastream_loader_{name}", about, labels=_LABELS)
        for table in tables:
            found = value(table)
            if found is not None:
                family.add_metric((table.set_name, table.table), found)
        yield family

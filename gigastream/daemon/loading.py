# SPDX-License-Identifier: Apache-2.0
"""Loads all that the daemon's processes need, so that the user they become need read none of it."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

_PARTS = (
    *("arrow_schema", "codegen", "compiled", "daemon", "engine", "gsql", "outputs", "plan"),
    *("query_texts", "records", "sessions", "sources", "spool"),
)
_LIBRARIES = (
    *("pyarrow", "pyarrow.ipc", "pyarrow.parquet", "encodings.idna", "multiprocessing.connection"),
    *("concurrent.futures.thread", "csv", "fractions"),
    *("ipaddress", "tempfile", "tomllib", "traceback"),
)
_LATE = {
    "iceberg": (
        "sqlite3",
        "sqlalchemy.dialects.sqlite",
        "rich.console",
        "rich.table",
        "pyiceberg.avro.decoder_fast",
    ),
}
"""What sinks' libraries import when they are used. They are not used here: that makes threads."""
_SERVERS = ("console", "metrics")
"""Of the supervisor alone."""
_SAMPLE = (
    "DEFINE { query_name loaded; } SELECT tb, srcIP, count(*) AS n, sum(len) AS bytes "
    "FROM IPV4 WHERE protocol = 6 GROUP BY time/60 AS tb, srcIP"
)


def load_all() -> None:
    """Import every module of the parts, and let a query go through: some are imported late."""
    for name in _LIBRARIES:
        import_module(name)
    for part in _PARTS:
        _load(import_module(f"gigastream.{part}"))
    _try_sample()


def load_sinks(kinds: Sequence[str]) -> None:
    """Import what fills tables of these kinds, where its library is installed."""
    from gigastream.sinks import SINKS

    for name in ("pyarrow.compute", "pyarrow.csv", "pyarrow.dataset", "gigastream.sinks.output"):
        import_module(name)
    for kind in kinds:
        if find_spec(SINKS[kind].package) is not None:
            for name in (SINKS[kind].module, *_LATE.get(kind, ())):
                import_module(name)


def _load(package: object) -> None:
    paths = getattr(package, "__path__", None)
    if paths is None:
        return
    prefix = f"{package.__name__}."  # type: ignore[attr-defined]
    for found in pkgutil.walk_packages(paths, prefix):
        if not any(server in found.name for server in _SERVERS):
            import_module(found.name)


def _try_sample() -> None:
    """The shipped definitions are read, and kept, on the way."""
    from gigastream.gsql.source import SourceFile
    from gigastream.plan import plan_queries
    from gigastream.plan.explain import explain
    from gigastream.query_texts import QueryTexts, check_texts

    texts = QueryTexts((SourceFile("loaded", _SAMPLE),), interfaces={"loaded": {}})
    plan = plan_queries(check_texts(texts).queries)
    explain(plan)

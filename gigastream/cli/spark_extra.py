# SPDX-License-Identifier: Apache-2.0
"""Whether Spark is there: it is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from gigastream.cli.errors import UsageError


def require_spark() -> None:
    """UsageError where PySpark is not installed."""
    if find_spec("pyspark") is None:
        raise UsageError("PySpark is not installed", "pip install 'gigastream[spark]'")

# SPDX-License-Identifier: Apache-2.0
"""Spark looks for sources in top-level modules called `pyspark_…`, and finds `gigastream` here."""

from __future__ import annotations

from spark_sink.source import GigastreamSource


class DefaultSource(GigastreamSource):
    """The class that Spark asks such a module for."""

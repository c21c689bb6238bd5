# SPDX-License-Identifier: Apache-2.0
"""For programs with streaming queries of their own: a line at an interval in Python's log."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from spark_sink.progress import QueryProgress, line_of
from spark_sink.query_counts import QueryCounts, is_of_spools

LOGGER = "gigastream.spark"


class ProgressLog(StreamingQueryListener):  # type: ignore[misc]  # to mypy it is Any
    """Tells of each query that reads spools how far it is: rows, lag by track, late rows, state.

        log = ProgressLog(every_s=10)
        spark.streams.addListener(log)
        …
        log.progress["my query"].behind_ns

    Lines go to the logger `gigastream.spark`, level INFO, or to `tell`. `progress` has all that is
    known by now, by the query's name (its id where it has none), for metrics of your own.
    """

    def __init__(self, every_s: float = 10.0, tell: Callable[[str], None] | None = None) -> None:
        self.progress: dict[str, QueryProgress] = {}
        self._every_s = every_s
        self._tell = tell or logging.getLogger(LOGGER).info
        self._counts: dict[str, QueryCounts] = {}
        self._told_s: dict[str, float] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing is known yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        said = json.loads(event.progress.json)
        if is_of_spools(said):
            counts = self._counts.setdefault(
                said["runId"], QueryCounts(said.get("name") or said["id"])
            )
            counts.take(said)
            self.progress[counts.name] = counts.progress()
            self._tell_of(said["runId"], counts.name)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """As it was."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        counts = self._counts.pop(str(event.runId), None)
        if counts is not None:
            self._told_s.pop(str(event.runId), None)
            self._tell(line_of(counts.progress()))

    def _tell_of(self, run: str, name: str) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s.get(run, float("-inf")) >= self._every_s:
            self._told_s[run] = now_s
            self._tell(line_of(self.progress[name]))

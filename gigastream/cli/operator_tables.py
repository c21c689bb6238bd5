# SPDX-License-Identifier: Apache-2.0
"""--stats-every TIME: the table of the operators, again and again while a run goes on."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gigastream.cli.answering import Status
    from gigastream.engine.statistics import Statistics


def with_tables(
    status: Status, statistics: Callable[[], Statistics], arguments: argparse.Namespace
) -> Status:
    """Return a status that shows the table as well, if it is asked for."""
    if arguments.stats_every is None:
        return status
    return OperatorTables(status, statistics, arguments.stats_every)


class OperatorTables:
    """A status with a table beside it."""

    def __init__(
        self, status: Status, statistics: Callable[[], Statistics], every_s: float
    ) -> None:
        """`statistics` gives the counters so far; their rates are of the time in between."""
        self.line = status.line
        self._status = status
        self._statistics = statistics
        self._every_s = every_s
        self._shown_at = time.monotonic()
        self._before: Statistics | None = None

    def begin(self) -> None:
        """As the status does."""
        self._status.begin()

    def tick(self) -> None:
        """Show the table if it is time."""
        self._status.tick()
        passed_s = time.monotonic() - self._shown_at
        if passed_s >= self._every_s:
            self._shown_at += passed_s
            self._show(passed_s)

    def finish(self) -> None:
        """As the status does."""
        self._status.finish()

    def _show(self, passed_s: float) -> None:
        from gigastream.cli.operator_table import table

        statistics = self._statistics()
        self.line.tell(table(statistics, passed_s, self._before))
        self._before = statistics

# SPDX-License-Identifier: Apache-2.0
"""Records of a STREAM (GSQL §2): those that are in time by the pipe's rule (OPERATORS §2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.answers.reference.fields import CLOCKS
from tests.answers.reference.sources import Answer, Column, Row, Tuple
from tests.answers.reference.typed import INCREASING, VARYING, Typed, at


class Records(Answer):
    """Rows that have an order of their own: their times, then in which order they came."""

    def tuples(self) -> Iterator[Tuple]:
        """Each behind its time and its place."""
        (time,) = (n for n, column in enumerate(self.columns) if column.typed.is_temporal)
        for number, row in enumerate(self.rows):
            yield Tuple((row[time], number), row, number)


def records(
    fields: Sequence[tuple[str, str]], rows: Sequence[Row], tick_ns: int, slack_ns: int
) -> Records:
    """Records whose first field is their time, in ticks; what is late is not among them."""
    columns = tuple(
        Column(name, Typed(type_, at(n), VARYING if n else INCREASING, clock=CLOCKS.get(name, "")))
        for n, (name, type_) in enumerate(fields)
    )
    return Records(columns, list(_in_time(rows, tick_ns, slack_ns)), is_output=False)


def _in_time(rows: Sequence[Row], tick_ns: int, slack_ns: int) -> Iterator[Row]:
    """W = H - slack, H being what two in a row have reached."""
    high = before = None
    for row in rows:
        time = row[0] * tick_ns
        if before is not None:
            both = min(before, time)
            high = both if high is None else max(high, both)
        before = time
        if high is None or time >= high - slack_ns:
            yield row

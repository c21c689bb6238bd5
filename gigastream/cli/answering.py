# SPDX-License-Identifier: Apache-2.0
"""Rows of a session, whichever it is, on their way to the output; and its good end."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from gigastream.cli.progress import Progress
from gigastream.config import Config
from gigastream.outputs import Output, Query, default_format, parse_output

if TYPE_CHECKING:
    from gigastream.engine.events import Event
    from gigastream.engine.statistics import Statistics
    from gigastream.plan import Plan
    from gigastream.spool_account import StreamAccount


class Stoppable(Protocol):
    """What a signal can end in good order."""

    def stop(self) -> None: ...


class Answering(Protocol):
    """What gives rows: a Session, or one over a spool."""

    def batches(self) -> Iterator[Event]: ...


def output_queries(plan: Plan) -> tuple[Query, ...]:
    """Return what the output formats must know of the queries."""
    from gigastream.arrow_schema import arrow_schema

    return tuple(
        Query(
            name=node.name,
            columns=tuple(column.name for column in node.schema.columns),
            numeric=tuple(column.type.is_numeric for column in node.schema.columns),
            arrow_schema=lambda schema=node.schema: arrow_schema(schema),  # type: ignore[misc]
        )
        for node in plan.outputs
    )


def wanted_output(arguments: argparse.Namespace, config: Config) -> str:
    """Return `FORMAT[:PATH]`: what is asked for, or what suits stdout."""
    return arguments.output or config.output or default_format(sys.stdout.isatty())


@contextmanager
def stopped_by_signals(session: Stoppable) -> Iterator[None]:
    """Let a signal end a session in good order: the open windows are answered.

    A second Ctrl-C is not waited for.
    """

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        session.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def answer(
    session: Answering,
    plan: Plan,
    wanted: str,
    position: Callable[[], tuple[int, int]],
    *,
    quiet: bool,
) -> int:
    """Write all rows as they come; return how many there were.

    `position` gives the bytes read and in all (0: unknown).
    """
    rows = 0
    output = Output(*parse_output(wanted), output_queries(plan))
    progress = Progress(position, wanted=not quiet)
    for event in session.batches():
        if event.batch.row_count:
            rows += event.batch.row_count
            progress.clear()
            output.write(event.query, event.batch)
        progress.tick()
    progress.clear()
    output.close()
    return rows


def position_of(statistics: Statistics) -> tuple[int, int]:
    """Return the bytes read and the bytes there are; 0 where a source does not know."""
    totals = [source.total_bytes for source in statistics.sources]
    return sum(source.bytes for source in statistics.sources), sum(totals) if all(totals) else 0


def summarise(
    arguments: argparse.Namespace,
    statistics: Statistics,
    rows: int,
    seconds: float,
    streams: Sequence[StreamAccount] = (),
) -> None:
    """Write the account of a run to stderr, if it is wanted."""
    from gigastream.cli.summary import as_json, as_text

    if not arguments.quiet:
        form: Any = as_json if arguments.stats == "json" else as_text
        print(form(statistics, rows, seconds, streams), file=sys.stderr)

# SPDX-License-Identifier: Apache-2.0
"""What `gigastream spark` tells of a job: a line on a terminal, lines for a log, the account."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gigastream.cli.errors import complain
from gigastream.cli.progress import FIRST_SECONDS
from gigastream.cli.stderr import Line, is_terminal, say
from gigastream.cli.summary import FILES_SHOWN
from gigastream.words import counted

if TYPE_CHECKING:
    from spark_sink.account import TrackAccount
    from spark_sink.job import Job, JobOptions
    from spark_sink.progress import QueryProgress

_EVERY_SECONDS = 0.5
"""Each look asks Java."""
_SECOND_NS = 10**9
_TERM_NAMES = {"gone": "no longer kept"}


class JobStatus:
    """Looks at a job while it runs."""

    def __init__(self, arguments: argparse.Namespace, options: JobOptions) -> None:
        self._line = Line()
        self._arguments = arguments
        self._started_s = time.monotonic()
        self._line_due_s = self._started_s + FIRST_SECONDS
        self._log_due_s = self._started_s + (arguments.stats_every or 0)
        prints = any(sink.is_printed and sink.path is None for sink in options.sinks)
        is_shared = prints and sys.stdout.isatty()  # rows are progress enough
        self._has_line = is_terminal() and not arguments.quiet and not is_shared

    def attend(self, job: Job) -> None:
        """Show what is due."""
        now_s = time.monotonic()
        if self._has_line and now_s >= self._line_due_s:
            self._line_due_s = now_s + _EVERY_SECONDS
            self._line.show(_short(job.look(), now_s - self._started_s))
        if self._arguments.stats_every is not None and now_s >= self._log_due_s:
            self._log_due_s = now_s + self._arguments.stats_every
            self._tell(job.look())

    def complain(self, message: str) -> None:
        """Tell what is wrong with a spool."""
        self._line.clear()
        complain(message)

    def finish(self) -> None:
        """Remove the line for good."""
        self._line.clear()

    def summarise(self, job: Job) -> None:
        """Give the account, if it is wanted, and say what was left out."""
        seconds = time.monotonic() - self._started_s
        if self._arguments.stats == "json":
            say(json.dumps(_as_json(job, seconds)))
        elif not self._arguments.quiet or self._arguments.stats is not None:
            say("\n".join(_as_text(job, seconds)))
        if job.late:
            complain(
                f"{counted(job.late, 'partial row')} came behind the answer of their window, and "
                "are left out",
                "an interface that begins later, or is gone on without, may bring such rows",
            )

    def _tell(self, progress: Iterable[QueryProgress]) -> None:
        from spark_sink.progress import line_of

        for each in progress:
            self._line.tell(line_of(each))


def _short(progress: Sequence[QueryProgress], seconds: float) -> str:
    rows = sum(each.rows_in for each in progress)
    behind_s = max((each.behind_ns for each in progress), default=0) / _SECOND_NS
    unread = sum(each.segments_unread for each in progress)
    waiting = f", {counted(unread, 'segment')} unread" if unread else ""
    behind = f", {behind_s:,.1f} s behind" if behind_s else ""
    return f"{counted(rows, 'row')} read, {rows / max(seconds, 1e-9):,.0f}/s{waiting}{behind}"


def _as_json(job: Job, seconds: float) -> dict[str, Any]:
    return {
        "queries": [each.as_json() for each in job.progress],
        "tracks": [each.as_json() for each in job.account],
        "late": job.late,
        "seconds": round(seconds, 6),
    }


def _as_text(job: Job, seconds: float) -> Iterator[str]:
    for each in job.progress:
        yield _query_line(each)
        yield from _track_lines([track for track in job.account if track.query == each.name])
    rows = sum(each.rows_in for each in job.progress)
    yield f"{counted(rows, 'row')} read in {seconds:.3g} s"


def _query_line(progress: QueryProgress) -> str:
    parts = [f"{progress.micro_batches:,} micro-batches", f"{counted(progress.rows_in, 'row')} in"]
    if progress.rows_out is not None:
        parts.append(f"{progress.rows_out:,} out")
    terms = ((progress.held, "held"), (progress.late, "late"))
    return f"{progress.name}: {', '.join([*parts, *(f'{n:,} {name}' for n, name in terms if n)])}"


def _track_lines(tracks: Sequence[TrackAccount]) -> Iterator[str]:
    """Yield a line a track; many of them are summed."""
    if len(tracks) <= FILES_SHOWN:
        yield from (
            f"  {track.stream} on {track.interface} of {track.spool}: {_sum([track])}"
            for track in tracks
        )
    else:
        yield f"  {len(tracks):,} tracks: {_sum(tracks)}"


def _sum(tracks: Sequence[TrackAccount]) -> str:
    """Return `put 2,010 = damaged 10 + read 2,000`; what was read stands even if it is none."""
    sums = {name: sum(track.terms[name] for track in tracks) for name in tracks[0].terms}
    shown = [name for name, count in sums.items() if count and name != "read"]
    terms = (f"{_TERM_NAMES.get(name, name)} {sums[name]:,}" for name in (*shown, "read"))
    return f"put {sum(track.put for track in tracks):,} = {' + '.join(terms)}"

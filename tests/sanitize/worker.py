# SPDX-License-Identifier: Apache-2.0
"""Runs jobs one after the other in a sanitized Python: `python -m tests.sanitize.worker QUERIES`.

Jobs come on the standard input, outcomes go to the standard output, both a line each (jobs.py). At
the end of the input all that the engine has allocated must have been given back; the last line says
how many of LSan's leaks are left, whoever's they are, and the report goes to stderr.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zlib import crc32

from gigastream.engine.events import Event
from gigastream.engine.statistics import LOST_FRAGMENTS, Statistics
from gigastream.gsql.types import Type
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.sanitize.delivery import delivered
from tests.sanitize.jobs import Job, Outcome
from tests.sanitize.promises import Promises
from tests.sanitize.query_sets import QuerySet, read_query_set

OURS = "gigastream."


class Answer:
    """What a run has given so far."""

    def __init__(self, plan: Plan) -> None:
        self.rows = {node.name: 0 for node in plan.outputs}
        self.digests = {node.name: 0 for node in plan.outputs if not _has_float(node.schema)}
        self.promises = Promises(plan)
        self.statistics = Statistics((), (), ())
        self.batches = 0

    def take(self, event: Event) -> None:
        """Count a batch, and read every byte of it as the outputs do."""
        self.batches += 1
        self.rows[event.query] += event.batch.row_count
        self.promises.take(event)
        lines = event.batch.csv()
        event.batch.json(event.query)
        if event.query in self.digests:
            self.digests[event.query] += sum(map(crc32, lines.split(b"\n")[:-1]))


def _has_float(schema: object) -> bool:
    return any(column.type is Type.FLOAT for column in schema.columns)  # type: ignore[attr-defined]


def plan_of(query_set: QuerySet) -> Plan:
    """The plan of a query set."""
    texts = QueryTexts(
        (query_set.source_file,),
        query_set.parameters,
        query_set.definitions,
        interfaces={name: {} for name in query_set.interfaces},
    )
    return plan_queries(check_texts(texts).queries)


def run(plan: Plan, job: Job, include: tuple[Path, ...] = ()) -> Outcome:
    """Do a job; an error of ours is an outcome, too."""
    started, answer, faults = time.monotonic(), Answer(plan), []
    try:
        with delivered(job) as sources:
            code, message = _run(plan, job, sources, answer, include)
    except Exception as error:
        code, message = getattr(error, "exit_code", 1), f"{type(error).__name__}: {error}"
        if not type(error).__module__.startswith(OURS):
            faults.append(f"an error that is not for a person: {message}")
    faults += _unbalanced(answer.statistics)
    return Outcome(
        code=code,
        message=message,
        read=tuple(source.read for source in answer.statistics.sources),
        late=sum(source.late for source in answer.statistics.sources),
        rows=answer.rows,
        digests=answer.digests,
        faults=tuple(faults),
        broken_promises=tuple(answer.promises.broken),
        seconds=time.monotonic() - started,
    )


def _run(
    plan: Plan, job: Job, sources: list[FileSource], answer: Answer, include: tuple[Path, ...]
) -> tuple[int, str]:
    settings = Settings(use_mmap=job.how == "mmap", **job.settings)
    low = replace(settings, low_level_only=True) if job.is_apart else settings
    options = SessionOptions(low_taps=job.is_apart, include=include)
    with Session(plan, sources, low, options) as session:
        events = session.batches()
        if job.is_apart:
            events = _above(plan, sources, settings, session, include)
        try:
            for event in events:
                answer.take(event)
                if answer.batches == job.stop_after_batches:
                    session.stop()
        finally:
            answer.statistics = session.statistics()
    damage = [source.damage for source in answer.statistics.sources if source.damage]
    return (1, damage[0]) if damage else (0, "")


def _above(
    plan: Plan,
    sources: list[FileSource],
    settings: Settings,
    session: Session,
    include: tuple[Path, ...],
) -> Iterator[Event]:
    """What the high level alone makes of the low level alone."""
    interfaces = list(dict.fromkeys(source.interface for source in sources))
    with HighSession(plan, interfaces, settings, include=include) as high:
        for event in session.batches():
            batch, interface = event.batch, event.interface or ""
            rows = batch.to_arrow() if batch.row_count else None
            flags = {"is_heartbeat": batch.is_heartbeat, "is_end": batch.is_end}
            high.push(event.query, interface, rows, batch.bounds, **flags)
            yield from high.batches()


def _unbalanced(statistics: Statistics) -> list[str]:
    """The accounting of OPERATORS section 7, where it does not add up."""
    wrong: list[object] = []
    decoded: dict[str, int] = {}
    for s in statistics.sources:
        decoded[s.interface] = decoded.get(s.interface, 0) + s.decoded
        if s.read != s.undecodable + s.filtered + s.late + s.skew + s.sampled_out + s.decoded:
            wrong.append(s)
    for low in statistics.lftas:
        lost = sum(getattr(low, name) for name in LOST_FRAGMENTS)
        if decoded[low.interface] != low.decoded or lost + 2 * low.datagrams > low.fragments:
            wrong.append(low)
    return [f"does not add up: {part}" for part in wrong]


def _leaks() -> int:
    gc.collect()
    return int(ctypes.CDLL(None).__lsan_do_recoverable_leak_check())


def main() -> None:
    """Answer jobs to the end of the input."""
    query_set = read_query_set(sys.argv[1])
    plan = plan_of(query_set)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    for line in os.fdopen(os.dup(0), buffering=1):
        answers.write(run(plan, Job.from_line(line), query_set.include).to_line())
    answers.write(f"{_leaks()}\n")
    answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()

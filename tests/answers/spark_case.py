# SPDX-License-Identifier: Apache-2.0
"""Queries and packets of a seed, answered by the reference and here, before Spark is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan
from gigastream.sessions.low_session import refuse_unspooled
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import SpoolSettings
from spark_sink.operators.merge import merge_seen_in
from spark_sink.refusals import check
from spark_sink.window_complete.due import can_answer
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import Given, run
from tests.answers.on_spark import UNSYNCED, QuerySet, Spooled, query_set, write_spool
from tests.answers.reference.queries import Answer, Source, answers
from tests.oracle.query import decode
from tests.strategies.files import pcap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.answers.engine import Rows


@dataclass(frozen=True)
class Question:
    """Queries that are accepted here and on Spark, with what a run of them is given."""

    text: str
    captures: Sequence[tuple[str, bytes]]
    """Pairs of interface and capture."""
    settings: Settings
    segment_rows: int = 1 << 20
    definitions: tuple[str, ...] = ()
    lists: Mapping[str, Answer] | None = None


def set_of(text: str, interfaces: Sequence[str], definitions: Sequence[str] = ()) -> QuerySet:
    """A query set over interfaces. GsqlError says what is wrong with it."""
    return query_set([SourceFile("query", text)], interfaces, definitions)


def is_taken(
    text: str, interfaces: Sequence[str], definitions: Sequence[str] = (), *, streaming: bool
) -> bool:
    """Whether the checker and Spark accept a query."""
    try:
        plan = set_of(text, interfaces, definitions).plan
        refuse_unspooled(plan)
        check(plan, streaming=streaming, on_driver=True)
    except GsqlError:
        return False
    return True


@dataclass(frozen=True)
class Case:
    """A question with its answers: the reference's, and the engine's."""

    question: Question
    plan: Plan
    expected: dict[str, Answer]
    here: Given
    spooled: Spooled

    def check(self, rows: dict[str, Rows]) -> None:
        """Raise AssertionError where these rows are not the reference's."""
        given = Given(rows, self.here.statistics)
        assert_same_answers(self.expected, given, self.question.settings, self.question.text)

    def check_batch(self) -> None:
        """Of the spool read as a whole."""
        self.check(self.spooled.answers())

    def check_streamed(self, folder: Path) -> None:
        """By Spark's state, and by whole windows, which alone keep the order of a merge."""
        outputs = self.plan.outputs
        stateful = [output.name for output in outputs if merge_seen_in(output) is None]
        whole = [output.name for output in outputs if can_answer(self.plan, output)]
        by_state = self.spooled.stream(folder / "state", stateful, micro_batches=5)
        by_windows = self.spooled.whole_windows(folder / "windows", whole, micro_batches=5)
        for given in (by_windows | by_state, by_state | by_windows):
            self.check({name: kept.rows() for name, kept in given.items()})


def case_of(
    question: Question, spark: SparkSession, interfaces: Sequence[str], folder: Path
) -> Case:
    """The case of a question, whose spool is written, and which is answered here as wanted."""
    queries = set_of(question.text, interfaces, question.definitions)
    settings, sources, decoded = question.settings, [], []
    # of an interface without any capture nobody would know that it has ended
    ended = [(interface, pcap([])) for interface in interfaces]
    for interface, data in (*question.captures, *ended):
        path = folder / f"capture{len(sources)}"
        path.write_bytes(data)
        sources.append(FileSource(interface, str(path)))
        found = decode(path, settings.disorder_bytes or None, settings.slack_ns)
        decoded.append(Source(found, interface))
    cut = SpoolSettings(segment_rows=question.segment_rows, sync=UNSYNCED)
    write_spool(queries, sources, folder / "spool", settings, cut)
    here = run(queries.plan, sources, settings, question.definitions)
    expected = answers(question.text, decoded, streams=question.lists)
    spooled = Spooled(spark, folder / "spool", question.definitions)
    case = Case(question, queries.plan, expected, here, spooled)
    case.check(here.rows)
    return case

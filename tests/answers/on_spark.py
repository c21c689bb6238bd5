# SPDX-License-Identifier: Apache-2.0
"""Spark's answers, in this process: the engine's low level writes a spool, Spark reads it.

Rows become cells of text as the engine prints them, so that nothing is lost in the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gigastream.engine.batch import NativeBatch
from gigastream.gsql.source import SourceFile
from gigastream.gsql.types import Schema
from gigastream.plan import Plan, plan_queries
from gigastream.plan.nodes import topological
from gigastream.plan.operators.output import Output
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.records.source import StreamSource
from gigastream.sessions.low_session import LowSession
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import Spool, SpoolSettings
from gigastream.spool.plan import plan_of_spools
from spark_sink import sinks
from spark_sink.dataframes import dataframe
from spark_sink.options import access_of
from spark_sink.refusals import check
from spark_sink.results import to_record_batches
from spark_sink.run import Streams, plan_of_paths
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery
from spark_sink.window_complete.small_batches import SMALL_BYTES
from tests.answers.engine import Rows, cells

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

UNSYNCED = 3600 * 10**9
"""Nobody pulls the plug on a test."""
AT_ONCE = 2
"""Outputs that are answered side by side: while one is planned another runs."""
T = TypeVar("T")


@dataclass(frozen=True)
class QuerySet:
    """Queries with what makes their plan again, and the plan."""

    texts: QueryTexts
    plan: Plan


def query_set(
    files: Sequence[SourceFile], interfaces: Sequence[str], definitions: Sequence[str] = ()
) -> QuerySet:
    """A query set over interfaces, with files of definitions. GsqlError says what is wrong."""
    given = {name: {} for name in interfaces}
    texts = QueryTexts(tuple(files), definitions=tuple(definitions), interfaces=given)
    return QuerySet(texts, plan_queries(check_texts(texts).queries))


def write_spool(
    queries: QuerySet,
    sources: Sequence[FileSource | StreamSource],
    root: Path,
    settings: Settings,
    spool: SpoolSettings | None = None,
) -> None:
    """The low level's batches of all sources, to their end."""
    written = spool or SpoolSettings(sync=UNSYNCED)
    session = LowSession(queries.plan, queries.texts, sources, settings, root, written)
    try:
        for _ in session.turns():
            pass
    finally:
        session.close()


@dataclass(frozen=True)
class Spooled:
    """A finished spool and a session that asks it."""

    spark: SparkSession
    root: Path
    definitions: Sequence[str] = ()

    def answers(self, names: Sequence[str] | None = None) -> dict[str, Rows]:
        """The rows of every output, or of some, by the batch reader."""
        read = Streams(self.spark, [str(self.root)], streaming=False)

        def answer(plan: Plan, output: Output) -> Rows:
            return cells_of(dataframe(plan, output, read).toArrow(), output.schema)

        return self._of_each(answer, names, streaming=False)

    def stream(
        self, checkpoints: Path, names: Sequence[str] | None = None, micro_batches: int = 1
    ) -> dict[str, Kept]:
        """The same, in about so many micro-batches to the spool's end."""

        def answer(plan: Plan, output: Output) -> Kept:
            limit = max(1, self.segments(output) // micro_batches)
            read = Streams(self.spark, [str(self.root)], {"maxSegmentsPerTrigger": str(limit)})
            frame, place = dataframe(plan, output, read), checkpoints / output.name
            query, kept = start(frame, output.schema, place, availableNow=True)
            query.awaitTermination()
            return kept

        return self._of_each(answer, names, streaming=True)

    def whole_windows(
        self,
        checkpoints: Path,
        names: Sequence[str] | None = None,
        micro_batches: int = 1,
        small_bytes: int = SMALL_BYTES,
    ) -> dict[str, Kept]:
        """The same, in micro-batches of whole windows; small ones are read by the driver."""

        def answer(plan: Plan, output: Output) -> Kept:
            kept = Kept(output.schema)
            place = checkpoints / output.name
            self.whole_windows_of(plan, output, kept, place, micro_batches, small_bytes)
            return kept

        return self._of_each(answer, names, streaming=True, on_driver=True)

    def whole_windows_of(
        self,
        plan: Plan,
        output: Output,
        kept: Kept,
        place: Path,
        micro_batches: int,
        small_bytes: int = SMALL_BYTES,
    ) -> None:
        """The micro-batches that a checkpoint has not seen yet."""
        limit = max(1, self.segments(output) // micro_batches)
        read = Streams(self.spark, [str(self.root)], {"maxSegmentsPerTrigger": str(limit)})
        asked = SpoolQuery(output.name, plan, output, read, str(place), small_bytes=small_bytes)
        query = WindowCompleteQuery(asked, kept, {"availableNow": True}).start()
        query.finish()
        query.check()

    def segments(self, output: Output) -> int:
        """How many there are of the streams that an output reads."""
        read = {low.name for low in topological((output,)) if low.is_low}
        tracks = [track for track in Spool(self.root).tracks() if track.stream in read]
        return sum(entry.segment is not None for track in tracks for entry in track.poll())

    def _of_each(
        self,
        answer: Callable[[Plan, Output], T],
        names: Sequence[str] | None,
        *,
        streaming: bool,
        on_driver: bool = False,
    ) -> dict[str, T]:
        plan = plan_of_spools([Spool(self.root)], definitions=self.definitions)
        outputs = [node for node in plan.outputs if names is None or node.name in names]
        for output in outputs:
            check(plan, streaming=streaming, output=output, on_driver=on_driver)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            given = pool.map(lambda output: answer(plan, output), outputs)
            return dict(zip((output.name for output in outputs), given, strict=True))


BOTH_WAYS = {"by-tasks": 0, "by-driver": 1 << 62}
"""Who reads the segments of a micro-batch: up to so many bytes the driver."""


def whole_windows_over(
    spark: SparkSession,
    spools: Sequence[str],
    place: Path,
    small_bytes: int,
    options: Mapping[str, str] | None = None,
) -> Rows:
    """The rows of the only query of spools of any kind, all that there are, by whole windows."""
    plan = plan_of_paths(spools, access=access_of(options or {}))
    (output,) = plan.outputs
    kept = Kept(output.schema)
    read = Streams(spark, spools, options or {})
    asked = SpoolQuery("query", plan, output, read, str(place), small_bytes=small_bytes)
    query = WindowCompleteQuery(asked, kept, {"availableNow": True}).start()
    query.finish()
    query.check()
    return sorted(kept.rows(), key=repr)


def cells_of(table: pyarrow.Table, schema: Schema) -> Rows:
    """Rows of an output, in the types inside, as the engine prints them."""
    batches = to_record_batches(table, schema)
    return cells(b"".join(NativeBatch.from_arrow(batch, schema).csv() for batch in batches))


@dataclass
class Kept:
    """A sink of a streaming query: by micro-batch, the rows of an output."""

    schema: Schema
    tables: dict[int, pyarrow.Table] = field(default_factory=dict)
    error: BaseException | None = None

    def write(self, frame: DataFrame, batch: int) -> None:
        """For foreachBatch."""
        self.tables[batch] = frame.toArrow()

    @property
    def written(self) -> int:
        """How many rows."""
        return sum(table.num_rows for table in self.tables.values())

    def rows(self) -> Rows:
        """All rows so far."""
        return [row for batch in self.tables for row in self.rows_of(batch)]

    def rows_of(self, batch: int) -> Rows:
        """Those of a micro-batch."""
        return cells_of(self.tables[batch], self.schema)


def start(
    frame: DataFrame, schema: Schema, checkpoint: Path, **trigger: Any
) -> tuple[StreamingQuery, Kept]:
    """A streaming query whose rows are kept."""
    kept = Kept(schema)
    writer = frame.writeStream.foreachBatch(kept.write)
    return sinks.start(writer, str(checkpoint), str(checkpoint), trigger), kept

# SPDX-License-Identifier: Apache-2.0
"""GSQL over spools as DataFrames: for notebooks, and for the job."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import TYPE_CHECKING

from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.output import Output
from gigastream.plan.plan import Plan
from gigastream.query_texts import QueryTexts, inline_queries
from gigastream.spool import NO_ACCESS, Access, Spool
from gigastream.spool.plan import plan_of_spools
from spark_sink.dataframes import Frames
from spark_sink.hinting import with_hints
from spark_sink.ip_functions import register_ip_functions
from spark_sink.job_errors import JobError
from spark_sink.options import SourceOptions, access_of, parse
from spark_sink.refusals import check
from spark_sink.registration import register_source
from spark_sink.results import in_result_types
from spark_sink.row_time import row_time
from spark_sink.session import make_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Spools = str | PathLike[str] | Sequence[str | PathLike[str]]


@with_hints
def run_query(
    spools: Spools,
    query: str | None = None,
    *,
    output: str | None = None,
    parameters: Mapping[str, str] | None = None,
    definitions: Sequence[str] = (),
    spark: SparkSession | None = None,
    streaming: bool = True,
    event_time: str | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the answer of a query over spools as a DataFrame, which grows as they do.

        from spark_sink import run_query

        rows = run_query("/var/spool/gigastream")
        rows.writeStream.format("memory").queryName("talkers").start()

    `query` is GSQL; without one it is the spool's own. Of several queries `output` names one.
    `definitions` are files with functions and aggregates of one's own, their C beside them.
    `spark` is a session; without one it is the active one, or a new one here. `streaming=False`
    gives what the spools hold now. `options` are the source's (spark_sink.GigastreamSource), such
    as maxRowsPerTrigger. `event_time` is the name of one more column, a timestamp, by which Spark
    can go on in windows, in time with the query's own:

        rows = run_query("/var/spool/gigastream", event_time="at")
        rows.groupBy(F.window("at", "1 hour")).sum("bytes")

    Strings and addresses are text, timestamps are Spark's. Raises GsqlError where the query is
    wrong or cannot run on Spark, SpoolReadError where a spool cannot be read, SpooledPlanError
    where the spools cannot answer it, and JobError.
    """
    paths = spool_paths(spools)
    if parameters and query is None:
        raise JobError(
            "parameters are of a query that is given: the spools' own were written with theirs",
            "run_query(spools, query, parameters=…)",
            exit_code=2,
        )
    access = access_of(options or {})
    opened = [Spool(path, access=access) for path in paths]
    texts = _texts(query, parameters, definitions)
    plan = plan_of_spools(opened, texts, definitions=definitions)
    node = _output(plan, output)
    check(plan, streaming=streaming, output=node)
    session = spark or make_session()
    read = Streams(session, paths, options or {}, streaming=streaming)
    register_ip_functions(session)
    frames = Frames(plan, read)
    more = [] if event_time is None else [row_time(node, frames.times[node.input.name], event_time)]
    return in_result_types(frames.of(node), node.schema, more)


def spool_paths(spools: Spools) -> list[str]:
    """Return the paths of one or several spools, good for every process of this machine.

    Raises JobError where there is none.
    """
    given = [spools] if isinstance(spools, str | PathLike) else spools
    texts = [fspath(path) for path in given]
    if not texts or not all(texts):
        what = "the path of a spool is empty" if texts else "no spool is given"
        raise JobError(what, "the folder that a run writes, or a URI", exit_code=2)
    return [text if "://" in text else os.path.abspath(text) for text in texts]


def plan_of_paths(
    paths: Sequence[str],
    texts: QueryTexts | None = None,
    definitions: Sequence[str] = (),
    access: Access = NO_ACCESS,
    *,
    on_driver: bool = False,
) -> Plan:
    """Return the plan of queries over spools, which Spark can stream; errors as for `run_query`.

    `on_driver`: the rows come to the driver.
    """
    spools = [Spool(path, access=access) for path in paths]
    plan = plan_of_spools(spools, texts, definitions=definitions)
    check(plan, on_driver=on_driver)
    return plan


@dataclass(frozen=True)
class Streams:
    """Reads the low level's streams from spools."""

    session: SparkSession
    paths: Sequence[str]
    options: Mapping[str, str] = field(default_factory=dict)
    streaming: bool = True

    def __post_init__(self) -> None:
        """Make the source known; executors elsewhere get it with their tasks."""
        register_source(self.session)

    def __call__(self, node: LowNode, columns: tuple[str, ...]) -> DataFrame:
        """Return a stream's columns behind the heartbeat's."""
        reader = self.session.readStream if self.streaming else self.session.read
        reader = reader.format("gigastream")
        return reader.options(**self.asked(node, columns)).load()

    def source_options(self, node: LowNode) -> SourceOptions:
        """Return the same, read as the source does."""
        return parse(self.asked(node, ()))

    def asked(self, node: LowNode, columns: tuple[str, ...]) -> dict[str, str]:
        """Return the options by which the source is asked for a stream."""
        asked = {
            "paths": json.dumps(self.paths),
            "stream": node.name,
            "columns": json.dumps(columns),
            "timestamps": "nanoseconds",
            "unsigned": "bits",
            "strings": "bytes",
            "addresses": "bytes",
        }
        interfaces = _interfaces(node)
        named = {"interfaces": json.dumps(interfaces)} if interfaces else {}
        return {**self.options, **asked, **named}


def _interfaces(node: LowNode) -> Sequence[str]:
    """Those whose punctuation is waited for from the start; none: whatever turns up."""
    if node.source.interface:
        return (node.source.interface,)
    return node.source.interfaces or ()


def _texts(
    query: str | None, parameters: Mapping[str, str] | None, definitions: Sequence[str]
) -> QueryTexts | None:
    if query is None:
        return None
    return QueryTexts(inline_queries((query,)), dict(parameters or {}), tuple(definitions))


def _output(plan: Plan, name: str | None) -> Output:
    found = {node.name: node for node in plan.outputs}
    if name is None and len(found) == 1:
        return plan.outputs[0]
    if name is not None and name in found:
        return found[name]
    asked = f"there is no query {name}" if name is not None else f"there are {len(found)} queries"
    raise JobError(asked, f"output is one of {', '.join(found)}", exit_code=2)

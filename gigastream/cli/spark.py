# SPDX-License-Identifier: Apache-2.0
"""gigastream spark: the high level over spools, on and on, as spark-submit would run it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.arguments import (
    add_access_options,
    add_query_files,
    add_query_options,
    argument_type,
    parse_parameter,
)
from gigastream.cli.ending import stopped_by_signals
from gigastream.cli.errors import UsageError
from gigastream.cli.query_arguments import config_of, query_texts
from gigastream.cli.run_arguments import parse_seconds
from gigastream.cli.spark_extra import require_spark
from gigastream.cli.spark_status import JobStatus
from gigastream.cli.without_effect import refuse_beside_spools
from gigastream.daemon.output_queries import output_queries
from gigastream.outputs import FORMATS, default_format
from gigastream.settings import parse_bytes, parse_count, parse_duration
from gigastream.sinks import SINKS

if TYPE_CHECKING:
    from gigastream.query_texts import QueryTexts
    from spark_sink.job import JobOptions, Printing

_NS_PER_MS = 1_000_000
_NS_PER_SECOND = 10**9
_PRINTED = tuple(name for name in FORMATS if name != "parquet")
_EPILOG = """\
Without a query the spools' own is answered. Tables and -o parquet:PATH are exactly once, -o
spark:FORMAT[:PATH] as far as Spark's sink is; the other formats are printed, for looking at.
SIGTERM and Ctrl-C stop the job; the same command goes on where it was.

exit codes: 0 done, 1 failed while running (something of a spool was damaged: the rest is answered),
2 the query, an option, a spool or the checkpoint is wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Spools, queries, the checkpoint, the outputs, Spark."""
    parser.epilog = _EPILOG
    add_query_files(parser)
    parser.add_argument(
        "--spool",
        action="append",
        required=True,
        metavar="PATH",
        help="a folder that `gigastream run -o spool:PATH` writes, or grpc+tls://HOST:PORT/NAME of "
        "`gigastream serve`; any number of them",
    )
    add_access_options(parser)
    parser.add_argument(
        "--checkpoint", required=True, metavar="DIR", help="where the job's progress is kept"
    )
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        metavar="FORMAT[:PATH]",
        help=f"parquet:PATH, {', '.join(sink.form for sink in SINKS.values())}, "
        f"spark:FORMAT[:PATH], or {', '.join(_PRINTED)}; any number of them",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        type=argument_type(parse_parameter),
        metavar="NAME=VALUE",
        help="an option of Spark's sink",
    )
    parser.add_argument(
        "--trigger",
        type=argument_type(parse_trigger),
        default=parse_trigger("continuous"),
        metavar="TIME|now|continuous",
        help="micro-batches every so often; now: what is there, then end; continuous (default): "
        "one behind the other",
    )
    parser.add_argument(
        "--idle-after",
        type=argument_type(parse_idle),
        metavar="TIME",
        help="after which time goes on without an interface that says nothing (it is waited for)",
    )
    parser.add_argument(
        "--on-idle", choices=("go-on", "end"), help="what becomes of the job then (go-on)"
    )
    _add_account(parser)
    _add_spark_options(parser.add_argument_group("spark"))
    add_query_options(parser)


def _add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no progress, and no account but by --stats"
    )
    parser.add_argument("--stats", choices=("text", "json"), help="the form of the account (text)")
    parser.add_argument(
        "--stats-every",
        type=argument_type(parse_seconds),
        metavar="TIME",
        help="a line for each output so often, while the job runs",
    )


def _add_spark_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--master", metavar="URL", help="a cluster; default: here, on all cores")
    group.add_argument(
        "--state",
        choices=("memory", "rocksdb", "spool"),
        help="where open groups are kept: spool, nowhere, a window's rows are read when it closes "
        "(default, where the driver writes); memory (default of Spark's outputs); rocksdb above "
        "about a million of them",
    )
    group.add_argument(
        "--starting-at",
        type=argument_type(parse_start),
        metavar="earliest|latest|N",
        help="where a new checkpoint begins in the spools (earliest)",
    )
    group.add_argument(
        "--from",
        dest="point",
        metavar="TIME|CHECKPOINT",
        help="a new checkpoint leaves out windows that are over at a time (UTC), or out of another "
        "checkpoint's job",
    )
    group.add_argument(
        "--max-rows", type=argument_type(parse_count), metavar="N", help="of a micro-batch, about"
    )
    group.add_argument(
        "--max-bytes",
        type=argument_type(parse_bytes),
        metavar="BYTES",
        help="of a micro-batch, about",
    )
    group.add_argument(
        "--conf",
        action="append",
        default=[],
        type=argument_type(parse_parameter),
        metavar="NAME=VALUE",
        help="a setting of Spark's",
    )
    group.add_argument("--log", type=Path, metavar="FILE", help="where what Spark prints goes")


def parse_trigger(text: str) -> dict[str, Any]:
    """Read a time, `now` or `continuous` as the arguments of Spark's `trigger`. ValueError."""
    if text == "now":
        return {"availableNow": True}
    milliseconds = 0 if text == "continuous" else parse_duration(text) // _NS_PER_MS
    return {"processingTime": f"{milliseconds} milliseconds"}


def parse_start(text: str) -> str:
    """Read where a checkpoint begins, as the source's option `startingAt` has it. ValueError."""
    if text.lower() in ("earliest", "latest") or text.isdecimal():
        return text.lower()
    raise ValueError(f"'{text}' is not earliest, latest or the number of a segment")


def parse_idle(text: str) -> int:
    """Read a time as whole seconds, at least one. ValueError."""
    return max(1, parse_duration(text) // _NS_PER_SECOND)


def execute(arguments: argparse.Namespace) -> int:
    """Run the job until a signal, its failure, or with --trigger now its end."""
    require_spark()
    from spark_sink.job import run_job

    options = _options(arguments)
    signals, status = _Signals(), JobStatus(arguments, options)
    with stopped_by_signals(signals):
        try:
            job = run_job(options, signals.has_come, _printing(), status.complain, status.attend)
        finally:
            status.finish()
    status.summarise(job)
    return 1 if job.losses or job.late else 0


class _Signals:
    """Remembers that the job is to stop. No Event: a handler must not wait for a lock."""

    def __init__(self) -> None:
        self._came = False

    def stop(self) -> None:
        self._came = True

    def has_come(self) -> bool:
        return self._came


def _options(arguments: argparse.Namespace) -> JobOptions:
    from spark_sink.job import JobOptions
    from spark_sink.run import spool_paths
    from spark_sink.sinks import parse_sink

    sinks = [parse_sink(text) for text in _asked_outputs(arguments)]
    refuse_beside_spools(arguments)
    if arguments.option and not any(sink.is_sparks for sink in sinks):
        raise UsageError(
            "--option is of a sink of Spark's, and none is written", "-o spark:FORMAT[:PATH]"
        )
    return JobOptions(
        spools=spool_paths(arguments.spool),
        checkpoint=arguments.checkpoint,
        sinks=sinks,
        texts=_texts(arguments),
        definitions=(*config_of(arguments).definitions, *arguments.definitions),
        sink_options=dict(arguments.option),
        source_options=_source_options(arguments),
        trigger=arguments.trigger,
        master=arguments.master,
        state=arguments.state,
        point=arguments.point,
        settings=dict(arguments.conf),
        log=arguments.log,
    )


def _asked_outputs(arguments: argparse.Namespace) -> list[str]:
    return arguments.output or [default_format(sys.stdout.isatty())]


def _texts(arguments: argparse.Namespace) -> QueryTexts | None:
    if not arguments.words and not arguments.expression:
        return None
    return query_texts(arguments, arguments.words, config_of(arguments))


def _source_options(arguments: argparse.Namespace) -> dict[str, str]:
    named = {
        "startingAt": arguments.starting_at,
        "maxRowsPerTrigger": arguments.max_rows,
        "maxBytesPerTrigger": arguments.max_bytes,
        "idleAfterSeconds": arguments.idle_after,
        "onIdle": arguments.on_idle,
        "tokenFile": arguments.token_file,
        "caFile": arguments.ca_file,
    }
    given = {name: str(value) for name, value in named.items() if value is not None}
    return {"onDamage": "skip", **given}


def _printing() -> Printing | None:
    """What prints rows here, if the engine is installed: a cluster's driver may do without."""
    from spark_sink.job import Printing

    try:
        from gigastream.engine.batch import NativeBatch
    except ImportError:
        return None
    return Printing(NativeBatch.from_arrow, output_queries)

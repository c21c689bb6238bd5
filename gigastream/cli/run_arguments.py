# SPDX-License-Identifier: Apache-2.0
"""The arguments of gigastream run."""

from __future__ import annotations

import argparse

from gigastream.cli.arguments import (
    add_access_options,
    add_options,
    add_output,
    add_query_options,
    argument_type,
)
from gigastream.cli.errors import UsageError
from gigastream.cli.jobs import add_jobs
from gigastream.options import OPTIONS, SPOOL_OPTIONS, Option
from gigastream.outputs import FORMATS
from gigastream.records.formats import FORMATS as FORMATS_OF_RECORDS
from gigastream.records.source import parse_stream
from gigastream.settings import parse_count, parse_duration
from gigastream.sinks import SINKS
from gigastream.sources.files import parse_source
from gigastream.sources.live import LIVE_OPTIONS, parse_live

WARM_IDLE_S = 600.0
_NOTES = {"table": " (a terminal's default)", "json": " (lines; a pipe's)"}
"""Of formats, for --help."""
_EPILOG = """\
What stands without an option is a query: a file if it ends in .gsql, what gigastream compile made
if it ends in .so, else the name of one that ships (gigastream queries); from the first
word on that is none of these, it is a BPF filter:
gigastream run top.gsql flows -r a.pcap tcp port 443. Without a query, talkers is answered.

A TIME is 100ms, 5s, 2min, 1h or 14d, a bare number being seconds; SIZE and BYTES are 64kB or 16MiB.

-o spool:PATH runs the low level alone and writes what it puts out into a folder; --spool PATH runs
the high level over such a folder, finished or still written: the folder's own queries, or others
whose low level is the same.

exit codes: 0 done, 1 failed while running (a damaged capture: what came before is answered), 2 the
query, an option or a file is wrong. Ctrl-C ends the input; the open windows are answered."""


def parse_seconds(text: str) -> float:
    """Read a time above 0."""
    duration_ns = parse_duration(text)
    if duration_ns == 0:
        raise ValueError("a time above 0")
    return duration_ns / 10**9


_ENDS = (
    Option("count", "count", parse_count, "N", "end after so many packets"),
    Option(
        "duration",
        "duration",
        parse_seconds,
        "TIME",
        "end so long after the links are open, or the files",
    ),
    Option(
        "windows", "windows", parse_count, "N", "end when each query has answered so many windows"
    ),
)
_STATS_EVERY = Option(
    "stats-every",
    "stats_every",
    parse_seconds,
    "TIME",
    "show that table so often while the run goes on",
)


def refuse_beside_warm_end(arguments: argparse.Namespace) -> None:
    """Raise UsageError where something else is asked for with it."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    if vars(parser.parse_args(["--warm-end"])) != vars(arguments):
        raise UsageError("--warm-end ends what --warm has kept, and does nothing else")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Queries, sources, the output, the settings."""
    parser.epilog = _EPILOG
    parser.add_argument("words", nargs="*", metavar="QUERY … BPF FILTER")
    _add_sources(parser)
    _add_outputs(parser)
    add_jobs(parser)
    add_options(parser, _ENDS)
    _add_account(parser)
    add_query_options(parser)
    for heading, options in (
        ("engine", OPTIONS),
        ("of live links (-i)", LIVE_OPTIONS),
        ("of a spool that is written (-o spool:PATH)", SPOOL_OPTIONS),
    ):
        add_options(parser.add_argument_group(heading), options)


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-r",
        "--read",
        action="append",
        default=[],
        type=parse_source,
        metavar="[IFACE=]FILE",
        help="a capture: pcap or pcapng, compressed or not, - for stdin; any number of them",
    )
    parser.add_argument(
        "-i",
        "--interface",
        action="append",
        default=[],
        type=parse_live,
        metavar="[IFACE=]DEVICE",
        help="a live link: a network interface of this host; any number of them",
    )
    parser.add_argument(
        "--stream",
        action="append",
        default=[],
        type=argument_type(parse_stream),
        metavar="NAME=[FORMAT:]PLACE",
        help=f"the records of a STREAM: a file, a folder being filled, - for stdin, or a port, "
        f"tcp://HOST:PORT; as {', '.join(FORMATS_OF_RECORDS)}",
    )
    parser.add_argument(
        "-D",
        "--list-links",
        action="store_true",
        help="list the links of this host with state, rate and addresses, and end",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    add_output(
        parser,
        f"{', '.join(name + _NOTES.get(name, '') for name in FORMATS)}; "
        f"{', '.join(sink.form for sink in SINKS.values())}; spool:PATH",
    )
    parser.add_argument(
        "--spool",
        action="append",
        metavar="PATH",
        help="answer from a spool instead of captures, followed while it is written; any number of "
        "hosts', also grpc+tls://HOST:PORT/NAME",
    )
    add_access_options(parser)
    parser.add_argument(
        "--on",
        choices=("here", "spark"),
        default="here",
        help="where the high level runs: in this process, or on Spark, on all cores",
    )
    parser.add_argument(
        "--warm",
        action="store_true",
        help="with --on spark: by a process that stays, for what is asked next",
    )
    parser.add_argument(
        "--warm-idle",
        type=argument_type(parse_seconds),
        metavar="TIME",
        help="with --warm: for so long after the last run (10min)",
    )
    parser.add_argument(
        "--warm-end",
        action="store_true",
        help="end what --warm has kept, at the end of what it still answers, and end",
    )


def _add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no progress, and no summary but by --stats"
    )
    parser.add_argument(
        "--stats",
        choices=("text", "json", "table", "stages"),
        nargs="?",
        const="table",
        help="the form of the summary (text); --stats alone adds a table of the operators, "
        "`stages` one of what each stage costs",
    )
    add_options(parser, (_STATS_EVERY,))
    parser.add_argument(
        "--trace", metavar="FILE", help="the way of every heartbeat, a JSON object a line"
    )

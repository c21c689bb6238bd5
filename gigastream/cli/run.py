# SPDX-License-Identifier: Apache-2.0
"""gigastream run: both levels in this process, from captures to rows."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import (
    answer,
    output_queries,
    position_of,
    stopped_by_signals,
    summarise,
    wanted_output,
)
from gigastream.cli.arguments import add_query_options, split_words, told
from gigastream.cli.errors import UsageError, complain
from gigastream.cli.links import answer_links, links_of
from gigastream.cli.queries import config_of, plan_of, query_texts
from gigastream.cli.run_on_spark import answer_on_spark, refuse_on_spark
from gigastream.cli.run_spool import read_spool, spool_root, write_spool
from gigastream.config import Config
from gigastream.live import LIVE_OPTIONS, LiveSource, Source, parse_live
from gigastream.settings import OPTIONS, SPOOL_OPTIONS, Option, Settings
from gigastream.sources import FileSource, parse_source

if TYPE_CHECKING:
    from gigastream.engine.statistics import Statistics
    from gigastream.plan import Plan

__all__ = ["add_arguments", "execute", "output_queries"]

_EPILOG = """\
What stands without an option is a query file if it ends in .gsql; from the first word on that does
not, it is a BPF filter: gigastream run top.gsql -r a.pcap tcp port 443

-o spool:PATH runs the low level alone and writes what it puts out into a folder; --spool PATH runs
the high level over such a folder, finished or still written: the folder's own queries, or others
whose low level is the same.

exit codes: 0 done, 1 failed while running (a damaged capture: what came before is answered), 2 the
query, an option or a file is wrong. Ctrl-C ends the input; the open windows are answered."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Queries, sources, the output, the settings."""
    parser.epilog = _EPILOG
    parser.add_argument("words", nargs="*", metavar="QUERY.gsql … BPF FILTER")
    parser.add_argument(
        "-r",
        "--read",
        action="append",
        default=[],
        type=parse_source,
        metavar="[IFACE=]FILE",
        help="a capture: pcap, pcapng, gzip or zstd of these, - for stdin; any number of them",
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
        "-o",
        "--output",
        metavar="FORMAT[:PATH]",
        help="table (a terminal's default), json (lines; a pipe's), csv, arrow, parquet; "
        "spool:PATH",
    )
    parser.add_argument(
        "--spool",
        metavar="PATH",
        help="answer from a spool instead of captures; follows its writer",
    )
    parser.add_argument(
        "--on",
        choices=("here", "spark"),
        default="here",
        help="where the high level runs: in this process, or on Spark, on all cores",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no summary")
    parser.add_argument("--stats", choices=("text", "json"), default="text", help="of the summary")
    add_query_options(parser)
    _add_options(parser, "engine", OPTIONS)
    _add_options(parser, "of live links (-i)", LIVE_OPTIONS)
    _add_options(parser, "of a spool that is written (-o spool:PATH)", SPOOL_OPTIONS)


def _add_options(
    parser: argparse.ArgumentParser, heading: str, options: tuple[Option, ...]
) -> None:
    group = parser.add_argument_group(heading)
    for option in options:
        group.add_argument(
            f"--{option.name}",
            dest=option.field,
            type=told(option.parse),
            metavar=option.metavar,
            help=option.help,
        )


def execute(arguments: argparse.Namespace) -> int:
    """Answer the queries."""
    config = config_of(arguments)
    settings = settings_of(arguments, config)
    refuse_on_spark(arguments, spool_root(wanted_output(arguments, config)))
    if arguments.spool is not None:
        return read_spool(arguments, config, settings)
    paths, bpf_filter = split_words(arguments.words)
    sources = _sources([*links_of(arguments, config), *arguments.read])
    texts = query_texts(arguments, paths, config)
    texts = replace(texts, interfaces=_interfaces(sources, config))
    wanted = wanted_output(arguments, config)
    root = spool_root(wanted)
    settings = replace(settings, filter=bpf_filter)
    plan = plan_of(texts)
    if arguments.on == "spark" and arguments.interface:
        raise UsageError(
            "a link is captured by a process that can do nothing else",
            "-o spool:PATH here, and gigastream spark --spool PATH beside it",
        )
    if arguments.on == "spark":
        statistics = answer_on_spark(arguments, plan, texts, sources, settings, wanted)
    elif root is None:
        statistics = _answer(arguments, plan, sources, settings, texts.include, wanted)
    else:
        statistics = write_spool(arguments, config, plan, texts, sources, settings, root)
    return _verdict(statistics)


def settings_of(arguments: argparse.Namespace, config: Config) -> Settings:
    """Return the defaults, changed by the file, changed by the command line."""
    given = {option.field: getattr(arguments, option.field) for option in OPTIONS}
    chosen: dict[str, Any] = dict(config.settings)
    chosen.update((name, value) for name, value in given.items() if value is not None)
    return Settings(**chosen)


def _sources(sources: list[Source]) -> list[Source]:
    """Return the sources, all of which are there and can be read."""
    if not sources:
        raise UsageError(
            "there is no capture to read", "-r FILE.pcap, -r - for stdin, or -i DEVICE"
        )
    for source in sources:
        source.check()
    if sum(isinstance(source, FileSource) and source.is_stdin for source in sources) > 1:
        raise UsageError("stdin can be read only once")
    return sources


def _interfaces(sources: list[Source], config: Config) -> dict[str, dict[str, str]]:
    """Return the interfaces that are read, with their properties."""
    return {s.interface: dict(config.interfaces.get(s.interface, {})) for s in sources}


def _answer(
    arguments: argparse.Namespace,
    plan: Plan,
    sources: list[Source],
    settings: Settings,
    include: tuple[Path, ...],
    wanted: str,
) -> Statistics:
    """Run both levels here, write the rows and give the account."""
    from gigastream.engine.session import Session

    if any(isinstance(source, LiveSource) for source in sources):
        return answer_links(arguments, plan, sources, settings, include, wanted)
    started = time.monotonic()
    with Session(plan, sources, settings, include=include) as session:
        with stopped_by_signals(session):
            rows = answer(
                session,
                plan,
                wanted,
                lambda: position_of(session.statistics()),
                quiet=arguments.quiet,
            )
        statistics = session.statistics()
    summarise(arguments, statistics, rows, time.monotonic() - started)
    return statistics


def _verdict(statistics: Statistics) -> int:
    """Return 1 and say why if a source turned out to be damaged."""
    damaged = [source for source in statistics.sources if source.damage]
    for source in damaged:
        complain(
            f"{source.label} is damaged: {source.damage}; "
            f"the {source.read:,} packets before that are answered"
        )
    return 1 if damaged else 0

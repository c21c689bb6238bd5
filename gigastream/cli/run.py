# SPDX-License-Identifier: Apache-2.0
"""gigastream run: both levels in this process, from captures to rows."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import (
    Ends,
    Outputs,
    account_of,
    answer,
    ends_of,
    incomplete,
    inputs_of,
    looks_at_punctuation,
    open_output,
    open_outputs,
    position_of,
    summarise,
    wanted_output,
)
from gigastream.cli.arguments import add_query_options, argument_type, split_words
from gigastream.cli.devices import device_lines
from gigastream.cli.ending import told_when_slow
from gigastream.cli.errors import UsageError, complain
from gigastream.cli.failures import with_failures
from gigastream.cli.interfaces import properties_of, with_timestamps
from gigastream.cli.links import answer_links, has_links, links_of
from gigastream.cli.operator_tables import with_tables
from gigastream.cli.progress import Progress
from gigastream.cli.query_arguments import config_of, default_query, plan_of, query_texts
from gigastream.cli.run_on_spark import answer_on_spark, refuse_on_spark
from gigastream.cli.run_spool import read_spool, spool_root, write_spool
from gigastream.cli.stderr import is_terminal
from gigastream.config import Config
from gigastream.liveness import Liveness
from gigastream.outputs import FORMATS
from gigastream.ownership import UntrustedError
from gigastream.settings import (
    LIVENESS_OPTIONS,
    OPTIONS,
    SPOOL_OPTIONS,
    Option,
    Settings,
    parse_count,
    parse_duration,
)
from gigastream.shipped_queries import OBJECT_SUFFIX, QUERY_SUFFIX, hint_for
from gigastream.sources.files import FileSource, are_finite, parse_source
from gigastream.sources.live import LIVE_OPTIONS, Source, parse_live
from gigastream.timestamps import EXTERNAL
from gigastream.words import are, counted

if TYPE_CHECKING:
    from gigastream.engine.statistics import Statistics
    from gigastream.outputs.delivery import Delivered
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts

_NOTES = {"table": " (a terminal's default)", "json": " (lines; a pipe's)"}
"""Of formats, for --help."""
_EPILOG = """\
What stands without an option is a query: a file if it ends in .gsql, what gigastream compile made
if it ends in .so, else the name of one that ships (gigastream queries); from the first
word on that is none of these, it is a BPF filter:
gigastream run top.gsql flows -r a.pcap tcp port 443. Without a query, talkers is answered.

-o spool:PATH runs the low level alone and writes what it puts out into a folder; --spool PATH runs
the high level over such a folder, finished or still written: the folder's own queries, or others
whose low level is the same.

exit codes: 0 done, 1 failed while running (a damaged capture: what came before is answered), 2 the
query, an option or a file is wrong. Ctrl-C ends the input; the open windows are answered."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Queries, sources, the output, the settings."""
    parser.epilog = _EPILOG
    parser.add_argument("words", nargs="*", metavar="QUERY … BPF FILTER")
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
        "-D",
        "--list-links",
        action="store_true",
        help="list the links of this host with state, rate and addresses, and end",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[:PATH]",
        help=f"{', '.join(name + _NOTES.get(name, '') for name in FORMATS)}; spool:PATH",
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
    parser.add_argument(
        "--count", type=argument_type(parse_count), metavar="N", help="end after so many packets"
    )
    parser.add_argument(
        "--duration",
        type=argument_type(_parse_seconds),
        metavar="TIME",
        help="end so long after the links are open, or the files",
    )
    parser.add_argument(
        "--windows",
        type=argument_type(parse_count),
        metavar="N",
        help="end when each query has answered so many windows",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no summary")
    parser.add_argument(
        "--stats",
        choices=("text", "json", "table"),
        nargs="?",
        const="table",
        default="text",
        help="the form of the summary; --stats alone adds a table of the operators",
    )
    parser.add_argument(
        "--stats-every",
        type=argument_type(_parse_seconds),
        metavar="TIME",
        help="show that table so often while the run goes on",
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="the way of every heartbeat, a JSON object a line"
    )
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
            type=argument_type(option.parse),
            metavar=option.metavar,
            help=option.help,
        )


def execute(arguments: argparse.Namespace) -> int:
    """Answer the queries."""
    if arguments.list_links:
        print("\n".join(device_lines()))
        return 0
    config = config_of(arguments)
    settings = settings_of(arguments, config)
    refuse_on_spark(arguments, spool_root(wanted_output(arguments, config)))
    if arguments.spool is not None:
        return read_spool(arguments, config, settings)
    paths, bpf_filter = split_words(arguments.words)
    sources = _sources([*links_of(arguments, config), *arguments.read], arguments.words)
    sources = with_timestamps(sources, config)
    paths = paths or default_query(arguments)
    wanted = wanted_output(arguments, config)
    root = spool_root(wanted)
    interfaces = properties_of(sources, config, settings)
    is_finite = root is None and arguments.on != "spark" and are_finite(sources)
    plan, texts = _asked(arguments, paths, config, interfaces, is_finite)
    settings = replace(settings, filter=bpf_filter, packets_max=arguments.count)
    _refuse_pace_without_times(settings, sources)
    if root is not None or arguments.on == "spark":
        _refuse_what_is_answered_here(arguments)
    ends = ends_of(arguments, plan)
    settings = replace(settings, output_punctuation=looks_at_punctuation(arguments))
    if not any(path.endswith(OBJECT_SUFFIX) for path in paths):
        _compile(plan, texts.include, arguments.quiet)
    if arguments.on == "spark" and arguments.interface:
        raise UsageError(
            "a link is captured by a process that can do nothing else",
            "-o spool:PATH here, and gigastream spark --spool PATH beside it",
        )
    if root is not None:
        return verdict(*write_spool(arguments, config, plan, texts, sources, settings, root))
    inputs = inputs_of(arguments, config, plan, texts, sources)
    if arguments.on == "spark":
        output = open_output(wanted, plan, inputs)
        return verdict(*answer_on_spark(arguments, plan, texts, sources, settings, output))
    answering = _answer if not has_links(sources) else answer_links
    outputs = partial(open_outputs, arguments, wanted, plan, inputs)
    return verdict(*answering(arguments, plan, sources, settings, texts.include, outputs, ends))


def _refuse_pace_without_times(settings: Settings, sources: Sequence[Source]) -> None:
    """A replay goes by the packets' own times, which only external timestamps keep."""
    kinds = {source.timestamps or settings.timestamps for source in sources}
    if settings.speed and kinds != {EXTERNAL}:
        (kind, *_) = kinds - {EXTERNAL}
        raise UsageError(
            f"--speed replays by the packets' own times, and {kind} timestamps are in their place",
            "--timestamps external, or no --speed",
        )


def _refuse_what_is_answered_here(arguments: argparse.Namespace) -> None:
    if arguments.windows is not None:
        raise UsageError("--windows counts what is answered here", "--count, or --duration")
    if arguments.trace is not None:
        raise UsageError(
            "--trace follows heartbeats to what is answered here",
            "both levels here, or gigastream run --spool PATH --trace FILE",
        )


def _parse_seconds(text: str) -> float:
    """Read a time above 0."""
    duration_ns = parse_duration(text)
    if duration_ns == 0:
        raise ValueError("a time above 0")
    return duration_ns / 10**9


def _compile(plan: Plan, include: tuple[Path, ...], quiet: bool) -> None:
    """Compile for the session that is opened next, where somebody sees that it takes its time."""
    if quiet or not is_terminal():
        return
    from gigastream.codegen.compiler import CompileError, compile_query_set
    from gigastream.codegen.query_set import generate

    with told_when_slow("compiling …"), suppress(CompileError):  # the session says it
        compile_query_set(generate(plan), headers=include)


def _asked(
    arguments: argparse.Namespace,
    paths: Sequence[str],
    config: Config,
    interfaces: dict[str, dict[str, str]],
    is_finite: bool,
) -> tuple[Plan, QueryTexts]:
    """Return the plan of the queries that are asked, or the one that an object carries."""
    if not any(path.endswith(OBJECT_SUFFIX) for path in paths):
        texts = query_texts(arguments, paths, config)
        texts = replace(texts, interfaces=interfaces, is_finite=is_finite)
        return plan_of(texts), texts
    from gigastream.compiled import read_object

    others = (arguments.expression, arguments.param, arguments.definitions, arguments.library)
    if len(paths) > 1 or any(others) or arguments.on == "spark":
        raise UsageError(
            f"{paths[0]} is a whole query set, compiled with its parameters, for the engine here",
            "an object alone; other queries in a run of their own",
        )
    try:
        plan, texts = read_object(Path(paths[0]))
    except UntrustedError:
        raise
    except OSError as error:
        raise UsageError(f"{paths[0]}: {error.strerror}", hint_for(paths[0])) from None
    return plan, replace(texts, interfaces=interfaces)


def settings_of(arguments: argparse.Namespace, config: Config) -> Settings:
    """Return the defaults, changed by the file, changed by the command line."""
    given = {option.field: getattr(arguments, option.field) for option in OPTIONS}
    chosen: dict[str, Any] = dict(config.settings)
    chosen.update((name, value) for name, value in given.items() if value is not None)
    settings = Settings(**chosen)
    return replace(settings, livenesses=livenesses_of(settings, config))


def livenesses_of(settings: Settings, config: Config) -> tuple[tuple[str, Liveness], ...]:
    """Return those of interfaces that have `liveness` or `on-failure` among their properties."""
    found = []
    for name, properties in config.interfaces.items():
        chosen = {}
        for option in LIVENESS_OPTIONS.values():
            if option.name in properties:
                try:
                    chosen[option.field] = option.parse(properties[option.name])
                except ValueError as error:
                    raise UsageError(f"interface.{name}: {option.name}: {error}") from None
        if chosen:
            found.append((name, replace(settings, **chosen).liveness))
    return tuple(found)


def _sources(sources: list[Source], words: Sequence[str]) -> list[Source]:
    """Return the sources, all of which can be read; of none, `words` may say what was meant."""
    if not sources:
        raise UsageError("there is no capture to read", _meant(words))
    for source in sources:
        source.check()
    if sum(isinstance(source, FileSource) and source.is_stdin for source in sources) > 1:
        raise UsageError("stdin can be read only once")
    return sources


def _meant(words: Sequence[str]) -> str:
    """Say how a capture is named: one of the words, if it is a file and no query."""
    ours = (QUERY_SUFFIX, OBJECT_SUFFIX)
    for word in words:
        if not word.endswith(ours) and Path(word).is_file():
            return f"{word} is a file: a capture is named with -r"
    return "-r FILE.pcap, -r - for stdin, or -i DEVICE"


def _answer(
    arguments: argparse.Namespace,
    plan: Plan,
    sources: list[Source],
    settings: Settings,
    include: tuple[Path, ...],
    outputs: Callable[[], Outputs],
    ends: Ends,
) -> tuple[Statistics, Delivered]:
    """Run both levels here over files, write the rows and give the account."""
    from gigastream.sessions.session import Session
    from gigastream.sessions.shape import SessionOptions

    opened = outputs()
    started = time.monotonic()

    with Session(plan, sources, settings, SessionOptions(include=include)) as session:

        def account(delivered: Delivered) -> str:
            seconds = time.monotonic() - started
            return account_of(arguments, session.statistics(), delivered, seconds)

        progress = Progress(lambda: position_of(session.statistics()), wanted=not arguments.quiet)
        status = with_tables(progress, session.statistics, arguments)
        status = with_failures(
            status, lambda: session.statistics().sources, settings, quiet=arguments.quiet
        )
        delivered = answer(session, plan, opened, status, account, settings, ends)
        statistics = session.statistics()
    summarise(arguments, statistics, delivered, time.monotonic() - started)
    return statistics, delivered


def verdict(statistics: Statistics, delivered: Delivered) -> int:
    """Return 1 and say why: a source is damaged, a link is gone, rows could not be written."""
    damaged = [source for source in statistics.sources if source.damage]
    for source in damaged:
        complain(
            f"{source.label} is damaged: {source.damage}; "
            f"the {counted(source.read, 'packet')} before that {are(source.read)} answered"
        )
    gone = [source.label for source in statistics.sources if source.link in ("gone", "lost")]
    if gone:
        complain(f"{', '.join(gone)}: the link is gone; what was captured before that is answered")
    failed = [source.label for source in statistics.sources if source.is_failed]
    if failed:
        complain(f"{', '.join(failed)}: failed; what came before that is answered")
    for failure in delivered.failures:
        complain(failure.message, failure.hint)
    is_short = damaged or gone or failed or delivered.failures
    return 1 if incomplete(statistics) or is_short else 0

# SPDX-License-Identifier: Apache-2.0
"""gigastream run: both levels in this process, from captures to rows."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
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
    refuse_feedback,
    spool_root,
    summarise,
    wanted_output,
)
from gigastream.cli.arguments import split_words
from gigastream.cli.ending import told_when_slow
from gigastream.cli.errors import UsageError, complain
from gigastream.cli.failures import with_failures
from gigastream.cli.interfaces import properties_of, with_timestamps
from gigastream.cli.jobs import jobs_of
from gigastream.cli.links import answer_links, has_links, links_of
from gigastream.cli.operator_tables import with_tables
from gigastream.cli.progress import Progress
from gigastream.cli.query_arguments import config_of, default_query, plan_of, query_texts
from gigastream.cli.run_arguments import add_arguments, refuse_beside_warm_end
from gigastream.cli.run_identity import refuse_tables_of_links, run_over_captures
from gigastream.cli.stages import TimedOutput, stage_table
from gigastream.cli.stderr import is_terminal, say
from gigastream.cli.streams import check_read, streams_of
from gigastream.cli.without_effect import refuse_without_effect
from gigastream.config import Config
from gigastream.late_dataclass import replace
from gigastream.liveness import Liveness
from gigastream.options import LIVENESS_OPTIONS, OPTIONS
from gigastream.ownership import UntrustedError
from gigastream.records.source import AnySource
from gigastream.settings import Settings
from gigastream.shipped_queries import OBJECT_SUFFIX, QUERY_SUFFIX, hint_for
from gigastream.sources.files import FileSource, are_finite, are_small
from gigastream.sources.live import LiveSource
from gigastream.timestamps import EXTERNAL
from gigastream.words import are, counted

__all__ = ["add_arguments", "execute"]

if TYPE_CHECKING:
    from gigastream.engine.statistics import Statistics
    from gigastream.outputs.delivery import Delivered
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts


def execute(arguments: argparse.Namespace) -> int:
    """Answer the queries."""
    if arguments.list_links:
        from gigastream.cli.devices import device_lines

        print("\n".join(device_lines()))
        return 0
    if arguments.warm_end:
        from gigastream.cli.run_on_spark import end_warm

        refuse_beside_warm_end(arguments)
        return end_warm()
    config = config_of(arguments)
    settings = settings_of(arguments, config)
    wanted = wanted_output(arguments, config)
    root = spool_root(wanted)
    if arguments.on == "spark" or arguments.warm or arguments.warm_idle is not None:
        from gigastream.cli.run_on_spark import refuse_on_spark

        refuse_on_spark(arguments, root)
    refuse_without_effect(arguments, settings, writes_spool=root is not None)
    if arguments.spool is not None:
        from gigastream.cli.run_spool import read_spool

        _refuse_stages(arguments)
        return read_spool(arguments, config, settings)
    refuse_tables_of_links(arguments, wanted)
    paths, bpf_filter = split_words(arguments.words)
    links = links_of(arguments, config)
    streams = streams_of(arguments, config)
    sources = [*links, *arguments.read, *streams]
    sources = _sources(sources, arguments.words, bool(config.definitions or arguments.definitions))
    sources = with_timestamps(sources, config)
    paths = paths or default_query(arguments)
    interfaces = properties_of(sources, config, settings)
    is_finite = root is None and arguments.on != "spark" and are_finite(sources)
    plan, texts = _asked(arguments, paths, config, interfaces, is_finite)
    check_read(plan, sources, lambda: _meant(arguments.words))
    settings = replace(settings, filter=bpf_filter, packets_max=arguments.count)
    is_elsewhere = root is not None or arguments.on == "spark"
    _refuse_pace_without_times(settings, sources)
    if is_elsewhere:
        _refuse_what_is_answered_here(arguments)
    if has_links(sources):
        _refuse_stages(arguments)
    ends = ends_of(arguments, plan)
    settings = replace(settings, output_punctuation=looks_at_punctuation(arguments, wanted))
    jobs = jobs_of(
        arguments, plan, sources, settings,
        is_elsewhere=is_elsewhere, has_functions=bool(texts.definitions or texts.functions),
    )  # fmt: skip
    settings = replace(settings, jobs=jobs)
    if not any(path.endswith(OBJECT_SUFFIX) for path in paths):
        _compile(plan, texts.include, arguments.quiet, is_brief=are_small(sources))
    if arguments.on == "spark" and arguments.interface:
        raise UsageError(
            "a link is captured by a process that can do nothing else",
            "-o spool:PATH here, and gigastream spark --spool PATH beside it",
        )
    refuse_feedback(arguments, wanted, plan, sources)
    if root is not None:
        from gigastream.cli.run_spool import write_spool

        return verdict(*write_spool(arguments, config, plan, texts, sources, settings, root))
    _look_at_lone_file(sources, settings)
    inputs = inputs_of(arguments, config, plan, texts, sources)
    writer = partial(run_over_captures, arguments, plan, sources, settings)
    if arguments.on == "spark":
        from gigastream.cli.run_on_spark import answer_on_spark

        output = open_output(wanted, plan, inputs, writer)
        return verdict(*answer_on_spark(arguments, plan, texts, sources, settings, output))
    answering = _answer if not has_links(sources) else answer_links
    outputs = partial(open_outputs, arguments, wanted, plan, inputs, writer)
    return verdict(*answering(arguments, plan, sources, settings, texts.include, outputs, ends))


def _look_at_lone_file(sources: Sequence[AnySource], settings: Settings) -> None:
    """SourceError of what is no capture before an output is emptied; of several, all are read."""
    from gigastream.engine.host import look_at

    if len(sources) == 1 and isinstance(sources[0], FileSource) and sources[0].is_file:
        look_at(sources[0], settings)


def _refuse_pace_without_times(settings: Settings, sources: Sequence[AnySource]) -> None:
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
    _refuse_stages(arguments)
    if arguments.trace is not None:
        raise UsageError(
            "--trace follows heartbeats to what is answered here",
            "both levels here, or gigastream run --spool PATH --trace FILE",
        )


def _refuse_stages(arguments: argparse.Namespace) -> None:
    if arguments.stats == "stages":
        raise UsageError("--stats stages is of captures that are answered here", "--stats")


def _compile(plan: Plan, include: tuple[Path, ...], quiet: bool, *, is_brief: bool) -> None:
    """Compile for the session that is opened next, where somebody sees that it takes its time."""
    if quiet or not is_terminal():
        return
    from gigastream.codegen.compiler import CompileError, compile_query_set
    from gigastream.codegen.query_set import generate

    with told_when_slow("compiling …"), suppress(CompileError):  # the session says it
        compile_query_set(generate(plan), headers=include, is_brief=is_brief)


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


def _sources(
    sources: list[AnySource], words: Sequence[str], has_definitions: bool
) -> list[AnySource]:
    """Return the sources, all of which can be read; of none, `words` may say what was meant."""
    if not sources:
        hint = "--stream NAME=PLACE for a STREAM; " if has_definitions else ""
        raise UsageError("there is no capture to read", hint + _meant(words))
    for source in sources:
        source.check()
    if sum(not isinstance(source, LiveSource) and source.is_stdin for source in sources) > 1:
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
    sources: list[AnySource],
    settings: Settings,
    include: tuple[Path, ...],
    outputs: Callable[[], Outputs],
    ends: Ends,
) -> tuple[Statistics, Delivered]:
    """Run both levels here over files, write the rows and give the account."""
    from gigastream.sessions.replay import open_replay
    from gigastream.sessions.session import Session
    from gigastream.sessions.shape import SessionOptions

    started = time.monotonic()
    with open_replay(plan, sources, settings, SessionOptions(include=include)) as session:
        opened = outputs()  # whose files are emptied: what is wrong has been told by now
        timed = TimedOutput(opened.rows) if arguments.stats == "stages" else None
        if timed is not None and isinstance(session, Session):  # jobs_of() saw to that
            opened = replace(opened, rows=timed)
            session.measure_stages()

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
        costs = session.stage_costs() if isinstance(session, Session) else None
    summarise(arguments, statistics, delivered, time.monotonic() - started)
    if timed is not None and costs is not None:
        say(stage_table(costs, timed.ns))
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

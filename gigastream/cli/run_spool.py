# SPDX-License-Identifier: Apache-2.0
"""gigastream run with a spool: the low level alone into one, the high level alone over one."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import (
    Status,
    account_of,
    answer,
    ends_of,
    incomplete,
    inputs_of,
    looks_at_punctuation,
    open_outputs,
    position_of,
    spool_root,
    summarise,
    tell_if_asked,
    wanted_output,
    written_places,
)
from gigastream.cli.arguments import split_words
from gigastream.cli.ending import stopped_by_signals
from gigastream.cli.errors import UsageError, complain
from gigastream.cli.failures import with_failures
from gigastream.cli.links import LinkStatus, hand_over, has_links
from gigastream.cli.operator_tables import with_tables
from gigastream.cli.progress import Progress
from gigastream.cli.query_arguments import query_texts
from gigastream.cli.stderr import say
from gigastream.config import Config
from gigastream.late_dataclass import replace
from gigastream.options import SPOOL_OPTIONS
from gigastream.outputs import Failure
from gigastream.outputs.delivery import Delivered
from gigastream.outputs.file import identity
from gigastream.settings import Settings

if TYPE_CHECKING:
    from gigastream.engine.statistics import Statistics
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.records.source import AnySource
    from gigastream.sessions.low_session import LowSession
    from gigastream.sessions.spool_session import SpoolSession
    from gigastream.spool import Spool, SpoolError, SpoolSettings

_GO_ON = "the same command goes on with a link, and reads a file anew"


# ---- into a spool ----


def write_spool(
    arguments: argparse.Namespace,
    config: Config,
    plan: Plan,
    texts: QueryTexts,
    sources: Sequence[AnySource],
    settings: Settings,
    root: Path,
) -> tuple[Statistics, Delivered]:
    """Run the low level alone into a spool and give its account."""
    from gigastream.sessions.low_session import LowSession

    started = time.monotonic()
    spool_settings = _spool_settings(arguments, config)
    with LowSession(
        plan,
        texts,
        sources,
        settings,
        root,
        spool_settings,
        links_are_open=lambda: hand_over(root, sources),
    ) as session:
        failures = _fill(session, arguments, sources, settings, started)
        statistics = session.statistics()
        failures += _closed(session)
    streams = session.accounts()
    lost = session.rows - sum(stream.rows for stream in streams) if failures else 0
    delivered = Delivered(session.rows - lost, lost, failures=failures[:1])
    summarise(arguments, statistics, delivered, time.monotonic() - started, streams)
    return statistics, delivered


def _closed(session: LowSession) -> tuple[Failure, ...]:
    """Make durable what is written; return what has kept it from being."""
    from gigastream.spool import SpoolError

    try:
        session.close()
    except SpoolError as error:
        return (_failure(error),)
    return ()


def _failure(error: SpoolError) -> Failure:
    return Failure(str(error), f"{error.hint}; {_GO_ON}" if error.hint else _GO_ON)


def _fill(
    session: LowSession,
    arguments: argparse.Namespace,
    sources: Sequence[AnySource],
    settings: Settings,
    started: float,
) -> tuple[Failure, ...]:
    """Write until the input ends; return what has kept rows from being written."""
    from gigastream.spool import SpoolError

    def account() -> str:
        seconds = time.monotonic() - started
        return account_of(arguments, session.statistics(), Delivered(session.rows), seconds)

    status = _status(session, arguments, sources, settings)
    status = with_tables(status, session.statistics, arguments)
    status = with_failures(
        status, lambda: session.statistics().sources, settings, quiet=arguments.quiet
    )
    with stopped_by_signals(session, arguments.duration) as asked:
        status.begin()
        try:
            for _ in session.turns():
                status.tick()
                tell_if_asked(asked, status.line, account)
        except SpoolError as error:
            return (_failure(error),)
        finally:
            status.finish()
    return ()


def _status(
    session: LowSession,
    arguments: argparse.Namespace,
    sources: Sequence[AnySource],
    settings: Settings,
) -> Status:
    if has_links(sources):
        return LinkStatus(session.statistics, not arguments.quiet, settings.filter)
    return Progress(lambda: position_of(session.statistics()), wanted=not arguments.quiet)


def _spool_settings(arguments: argparse.Namespace, config: Config) -> SpoolSettings:
    from gigastream.spool import SpoolSettings

    given = {option.field: getattr(arguments, option.field) for option in SPOOL_OPTIONS}
    chosen: dict[str, Any] = dict(config.spool)
    chosen.update((name, value) for name, value in given.items() if value is not None)
    return SpoolSettings(**chosen)


# ---- out of a spool ----


def read_spool(arguments: argparse.Namespace, config: Config, settings: Settings) -> int:
    """Run the high level alone over the spools that --spool names."""
    from gigastream.query_texts import QueryTexts
    from gigastream.sessions.spool_session import SpoolSession
    from gigastream.spool.plan import plan_of_spools, queries_of
    from gigastream.spool.run_name import name_over_spools

    started = time.monotonic()
    texts = _asked(arguments, config)
    wanted = wanted_output(arguments, config)
    spools = _opened(arguments)
    definitions = (*config.definitions, *arguments.definitions)
    is_finite = all(map(_has_ended, spools))
    plan = plan_of_spools(spools, texts, definitions=definitions, is_finite=is_finite, tell=say)
    interfaces = [queries_of(spool).interfaces for spool in spools]
    include = QueryTexts((), definitions=definitions).include
    inputs = inputs_of(arguments, config, plan, texts)
    for path in _files_of(spools):
        if (own := identity(path)) is not None:
            inputs[own] = "a file of the spool that is read"
    _check_apart(arguments, wanted, plan, spools)
    writer = partial(name_over_spools, plan, arguments.windows, spools)
    outputs = open_outputs(arguments, wanted, plan, inputs, writer)
    ends = ends_of(arguments, plan)
    settings = replace(settings, output_punctuation=looks_at_punctuation(arguments, wanted))
    with SpoolSession(spools, plan, interfaces, settings, include=include, tell=say) as session:

        def account(delivered: Delivered) -> str:
            seconds = time.monotonic() - started
            return account_of(
                arguments, session.statistics(), delivered, seconds, session.accounts()
            )

        progress = Progress(session.position, wanted=not arguments.quiet)
        status = with_tables(progress, session.statistics, arguments)
        status = with_failures(status, lambda: session.watched, settings, quiet=arguments.quiet)
        ends = replace(ends, is_cut=lambda: _is_cut(session))
        delivered = answer(session, plan, outputs, status, account, settings, ends)
        statistics, streams, damage = session.statistics(), session.accounts(), session.damage
        damage += [f"{feed.label} has failed" for feed in session.watched if feed.is_failed]
    for root in session.deserted:
        say(f"{root} has no end, and nobody writes it now: what it holds is answered")
    summarise(arguments, statistics, delivered, time.monotonic() - started, streams)
    damage = [*(text for spool in spools for text in spool.damage), *damage]
    verdict = _verdict(damage, delivered.failures)
    return 1 if incomplete(statistics) else verdict


def _opened(arguments: argparse.Namespace) -> list[Spool]:
    """Return the spools, each of them once."""
    from gigastream.spool import Access, Spool
    from gigastream.spool.run_name import known_by

    access = Access(arguments.token_file, arguments.ca_file)
    found: dict[str, Spool] = {}
    for path in arguments.spool:
        spool = Spool(path, access=access)
        other = found.setdefault(known_by(spool), spool)
        if other is not spool:
            raise UsageError(f"{other.path} and {path} are one spool", "each of them once")
    return list(found.values())


def _check_apart(
    arguments: argparse.Namespace, wanted: str, plan: Plan, spools: Sequence[Spool]
) -> None:
    """Raise SpoolReadError where rows or traces would go into a spool that is read."""
    from gigastream.spool.apart import NamedPlace, check_apart

    read = [NamedPlace(f"the spool {spool.path}", spool.path) for spool in spools]
    for place in written_places(arguments, wanted, plan):
        check_apart(place, read)


def _files_of(spools: Sequence[Spool]) -> Iterator[Path]:
    """Yield the files of those that are folders here."""
    for spool in spools:
        if "://" not in spool.path:
            # What its writer moves or deletes meanwhile is passed over.
            for folder, _, names in os.walk(spool.path):
                yield from (Path(folder, name) for name in names)


def _is_cut(session: SpoolSession) -> bool:
    """Whether the spool may yet have more than was read."""
    return bool(session.deserted) or any(feed.is_failed for feed in session.watched)


def _has_ended(spool: Spool) -> bool:
    """Whether all that a spool will ever hold is there."""
    tracks = spool.tracks()
    for track in tracks:
        track.poll()
    return bool(tracks) and all(track.is_ended for track in tracks)


def _asked(arguments: argparse.Namespace, config: Config) -> QueryTexts | None:
    """Return the queries that are asked of a spool; None: its own."""
    paths, bpf_filter = split_words(arguments.words)
    if arguments.count is not None:
        raise UsageError("a spool has no packets to count", "--duration, or --windows")
    if arguments.read or arguments.interface or arguments.stream:
        given = "-r" if arguments.read else "-i" if arguments.interface else "--stream"
        raise UsageError(f"packets ({given}) are not read where a spool is", f"{given}, or --spool")
    if bpf_filter:
        raise UsageError("a filter is for packets, of which a spool has none", f"'{bpf_filter}'")
    if spool_root(wanted_output(arguments, config)) is not None:
        raise UsageError("a spool is not written out of a spool", "copy the folder")
    if not paths and not arguments.expression:
        return None
    return query_texts(arguments, paths, config)


def _verdict(damage: list[str], failures: tuple[Failure, ...]) -> int:
    """Return 1 and say why if something of the spool could not be read, or a row not written."""
    for text in damage:
        complain(f"{text}; the rest is answered")
    for failure in failures:
        complain(failure.message, failure.hint)
    return 1 if damage or failures else 0

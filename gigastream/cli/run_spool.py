# SPDX-License-Identifier: Apache-2.0
"""gigastream run with a spool: the low level alone into one, the high level alone over one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import (
    answer,
    position_of,
    stopped_by_signals,
    summarise,
    wanted_output,
)
from gigastream.cli.arguments import split_words
from gigastream.cli.errors import UsageError, complain
from gigastream.cli.links import hand_over
from gigastream.cli.progress import Progress
from gigastream.cli.queries import query_texts
from gigastream.config import Config
from gigastream.settings import SPOOL_OPTIONS, Settings

if TYPE_CHECKING:
    from gigastream.engine.statistics import Statistics
    from gigastream.live import Source
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.spool import SpoolSettings
    from gigastream.spool_account import StreamAccount

SPOOL = "spool"


def spool_root(wanted: str) -> Path | None:
    """Return PATH of `spool:PATH`, None for other outputs; UsageError where there is no path."""
    name, _, path = wanted.partition(":")
    if name != SPOOL:
        return None
    if not path:
        raise UsageError("a spool is a folder", f"-o {SPOOL}:PATH")
    return Path(path)


# ---- into a spool ----


def write_spool(
    arguments: argparse.Namespace,
    config: Config,
    plan: Plan,
    texts: QueryTexts,
    sources: Sequence[Source],
    settings: Settings,
    root: Path,
) -> Statistics:
    """Run the low level alone into a spool and give its account."""
    from gigastream.spool_account import written
    from gigastream.to_spool import LowSession

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
        with stopped_by_signals(session):
            progress = Progress(
                lambda: position_of(session.statistics()), wanted=not arguments.quiet
            )
            rows = 0
            for new in session.turns():
                rows += new
                progress.tick()
            progress.clear()
        statistics = session.statistics()
    streams = written(root)
    summarise(arguments, statistics, rows, time.monotonic() - started, streams)
    return statistics


def _spool_settings(arguments: argparse.Namespace, config: Config) -> SpoolSettings:
    from gigastream.spool import SpoolSettings

    given = {option.field: getattr(arguments, option.field) for option in SPOOL_OPTIONS}
    chosen: dict[str, Any] = dict(config.spool)
    chosen.update((name, value) for name, value in given.items() if value is not None)
    return SpoolSettings(**chosen)


# ---- out of a spool ----


def read_spool(arguments: argparse.Namespace, config: Config, settings: Settings) -> int:
    """Run the high level alone over the spool that --spool names."""
    from gigastream.from_spool import SpoolSession
    from gigastream.spool import Spool
    from gigastream.spooled import plan_of_spools, queries_from_json

    started = time.monotonic()
    texts = _asked(arguments, config)
    wanted = wanted_output(arguments, config)
    spool = Spool(arguments.spool)
    plan = plan_of_spools([spool], texts)
    theirs = queries_from_json(spool.queries())
    include = (texts or theirs).include
    with SpoolSession(spool, plan, theirs.interfaces, settings, include=include) as session:
        with stopped_by_signals(session):
            rows = answer(session, plan, wanted, session.position, quiet=arguments.quiet)
        statistics, streams, damage = session.statistics(), session.accounts(), session.damage
    summarise(arguments, statistics, rows, time.monotonic() - started, streams)
    return _verdict([*spool.damage, *damage], streams)


def _asked(arguments: argparse.Namespace, config: Config) -> QueryTexts | None:
    """Return the queries that are asked of a spool; None: its own."""
    paths, bpf_filter = split_words(arguments.words)
    if arguments.read:
        raise UsageError("packets (-r) are not read where a spool is", "-r, or --spool")
    if bpf_filter:
        raise UsageError("a filter is for packets, of which a spool has none", f"'{bpf_filter}'")
    if spool_root(wanted_output(arguments, config)) is not None:
        raise UsageError("a spool is not written out of a spool", "copy the folder")
    if not paths and not arguments.expression:
        return None
    return query_texts(arguments, paths, config)


def _verdict(damage: list[str], streams: tuple[StreamAccount, ...]) -> int:
    """Return 1 and say why if something of the spool could not be read."""
    for text in damage:
        complain(f"{text}; the rest is answered")
    return 1 if damage else 0

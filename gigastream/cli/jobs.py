# SPDX-License-Identifier: Apache-2.0
"""--jobs: how many threads answer, and why it is one where more were asked for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.cli.arguments import argument_type
from gigastream.cli.stderr import say
from gigastream.records.source import AnySource
from gigastream.settings import Settings, parse_jobs

if TYPE_CHECKING:
    from gigastream.plan import Plan


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=argument_type(parse_jobs),
        metavar="N",
        help="threads that divide a capture file among themselves (1)",
    )


def jobs_of(
    arguments: argparse.Namespace,
    plan: Plan,
    sources: Sequence[AnySource],
    settings: Settings,
    *,
    is_elsewhere: bool,
) -> int:
    """Return how many threads are to answer; say why not as many as were asked for."""
    wanted = arguments.jobs or 1
    if wanted == 1:
        return 1
    why = _why_one(arguments, plan, sources, settings, is_elsewhere)
    if why is None:
        return wanted
    if not arguments.quiet:
        say(f"--jobs {wanted}: one thread answers, since {why}")
    return 1


def _why_one(
    arguments: argparse.Namespace,
    plan: Plan,
    sources: Sequence[AnySource],
    settings: Settings,
    is_elsewhere: bool,
) -> str | None:
    from gigastream.sessions.divided_session import why_undivided

    if is_elsewhere:
        return "it is the low level alone that runs here"
    if arguments.stats == "stages":
        return "--stats stages measures what one does"
    if arguments.trace is not None or arguments.windows is not None:
        return "--trace and --windows follow what one does"
    return why_undivided(plan, sources, settings)

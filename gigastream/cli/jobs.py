# SPDX-License-Identifier: Apache-2.0
"""--jobs: how many threads answer, and why it is one where more were asked for.

Who does not say how many has one for each core where that is sure to pay: each thread has part of
the groups (exchanging_session.py), and the captures are large.
"""

from __future__ import annotations

import argparse
import os
import resource
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.cli.arguments import argument_type
from gigastream.cli.stderr import say
from gigastream.records.source import AnySource
from gigastream.settings import Settings, parse_jobs
from gigastream.sources.files import FileSource

if TYPE_CHECKING:
    from gigastream.plan import Plan


MOST_BY_DEFAULT = 8
LARGE_BYTES = 256 << 20
"""Of captures together: one thread takes a tenth or two of a second for it."""
FILE_BYTES = 4 << 20
"""Of each of them on average: every thread goes through all files, which takes its time, too."""
MEMORY_EACH_BYTES = 64 << 20
"""Of the budget: what is read ahead of the slowest thread is held, and tables are several."""


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=argument_type(parse_jobs),
        metavar="N",
        help="threads that divide capture files among themselves (the cores, at most "
        f"{MOST_BY_DEFAULT}, of large captures where each can have part of the groups; else 1)",
    )


def jobs_of(
    arguments: argparse.Namespace,
    plan: Plan,
    sources: Sequence[AnySource],
    settings: Settings,
    *,
    is_elsewhere: bool,
    has_functions: bool,
) -> int:
    """Return how many threads are to answer; say why not as many as were asked for.

    Functions of the user's are called by several threads only where that was asked for.
    """
    wanted: int | None = arguments.jobs
    if wanted is None:
        pays = not has_functions and _is_large(sources)
        pays = pays and _why_one(arguments, plan, sources, settings, is_elsewhere) is None
        return _cores(settings) if pays and _is_sure_to_pay(plan, settings) else 1
    why = _why_one(arguments, plan, sources, settings, is_elsewhere) if wanted > 1 else None
    if why is None:
        return wanted
    if not arguments.quiet:
        say(f"--jobs {wanted}: one thread answers, since {why}")
    return 1


def _is_large(sources: Sequence[AnySource]) -> bool:
    files = [source for source in sources if isinstance(source, FileSource) and source.is_file]
    return sum(file.size for file in files) >= max(LARGE_BYTES, FILE_BYTES * len(files))


def _cores(settings: Settings) -> int:
    """One, where memory is so little that threads might not have room for what one has."""
    cores = min(len(os.sched_getaffinity(0)), MOST_BY_DEFAULT)
    is_limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    budget = settings.memory_bytes
    is_little = budget is not None and budget < cores * MEMORY_EACH_BYTES
    return 1 if is_limited or is_little else cores


def _is_sure_to_pay(plan: Plan, settings: Settings) -> bool:
    """Where one completes the groups of all, and they are many, it may take longer than alone."""
    from gigastream.plan.parts import parts_of_plan

    return not settings.output_punctuation and parts_of_plan(plan).is_light_above


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

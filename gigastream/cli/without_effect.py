# SPDX-License-Identifier: Apache-2.0
"""Options that would change nothing about a run: who gives one means something, and is told.

Only the command line is looked at. What a configuration file says is for many runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from gigastream.cli.errors import UsageError
from gigastream.options import OPTIONS, SPOOL_OPTIONS, Option
from gigastream.settings import Settings
from gigastream.sources.live import LIVE_OPTIONS

_SERVED = ("grpc+tls://", "grpc://")
_WRITERS = "it belongs to the run that writes the spool"


def refuse_without_effect(
    arguments: argparse.Namespace, settings: Settings, *, writes_spool: bool
) -> None:
    """Raise UsageError for the first such option."""
    hint_of_links = "-i DEVICE"
    if arguments.spool is not None:
        of_packets = (option for option in OPTIONS if option.is_of_packets)
        why = "says how packets are read, and a spool has none"
        _refuse(arguments, of_packets, why, _WRITERS)
        if arguments.jobs is not None:
            raise UsageError(f"--jobs {why}", _WRITERS)
        hint_of_links = _WRITERS
        refuse_beside_spools(arguments)
    elif arguments.token_file or arguments.ca_file:
        raise UsageError("a token and certificates open served spools, and none is read", "--spool")
    if arguments.jobs is not None and arguments.interface:
        raise UsageError("--jobs divides a capture file, and a link is read", "--fanout N")
    if not arguments.interface:
        _refuse(arguments, LIVE_OPTIONS, "is of live links, and none is read", hint_of_links)
    if not writes_spool:
        why = "is of a spool that is written, and none is"
        _refuse(arguments, SPOOL_OPTIONS, why, "-o spool:PATH")
    if arguments.on == "spark":
        of_groups = (option for option in OPTIONS if option.field == "max_groups")
        why = "lets groups in where they are held here, and Spark's hold all"
        _refuse(arguments, of_groups, why, "--on here, or without it")
    _refuse_policy_without_silence(arguments, settings)


def refuse_beside_spools(arguments: argparse.Namespace) -> None:
    """Raise UsageError for what says something of other spools, or of a query that is not given."""
    is_served = any(path.startswith(_SERVED) for path in arguments.spool)
    if (arguments.token_file or arguments.ca_file) and not is_served:
        given = "--token-file" if arguments.token_file else "--ca-file"
        raise UsageError(
            f"{given} is of spools that another host serves, and none is read",
            "--spool grpc+tls://HOST:PORT/NAME",
        )
    if arguments.param and not (arguments.words or arguments.expression):
        raise UsageError(
            "--param is of a query that is given, and the spool's own were written with theirs",
            "--spool PATH QUERY.gsql --param NAME=VALUE",
        )


def _refuse(arguments: argparse.Namespace, options: Iterable[Option], why: str, hint: str) -> None:
    for option in options:
        if getattr(arguments, option.field) is not None:
            raise UsageError(f"--{option.name} {why}", hint)


def _refuse_policy_without_silence(arguments: argparse.Namespace, settings: Settings) -> None:
    silences = (settings.liveness, *(own for _, own in settings.livenesses))
    if arguments.on_failure is not None and not any(own.silence_ns for own in silences):
        raise UsageError(
            "--on-failure says what becomes of a run when a source has failed, and without "
            "--liveness none ever has",
            f"--liveness TIME --on-failure {arguments.on_failure}",
        )

# SPDX-License-Identifier: Apache-2.0
"""gigastream spool: what is in a spool, whether it is sound, and what is done to a spool itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module

from gigastream.cli.arguments import add_access_options, add_output, argument_type
from gigastream.cli.errors import UsageError
from gigastream.settings import parse_bytes, parse_duration

_ACTIONS = {
    "ls": "spool_lists.list_spools",
    "cat": "spool_rows.print_rows",
    "verify": "spool_lists.verify_spools",
    "repair": "spool_changes.repair_spools",
    "prune": "spool_changes.prune_spools",
    "end": "spool_changes.end_spools",
}
_EPILOG = """\
ls: streams, interfaces and generations: what is kept of each, its age, what its readers hold.
cat: the rows of one stream as they crossed the border, partial ones too.
verify: every line and every row is read and checked. What is damaged is said with its place.
repair: what the next run would put right: a torn line, files that nothing lists; and progress that
cannot be read. No row is invented, and without --yes nothing is changed.
prune: delete the oldest segments, as a writer's retention does; without --yes nothing is changed.
end: nothing more comes of the streams that a writer which is gone has left open. Readers answer
their last windows and wait no longer. A link that is captured into the spool again goes on behind
it, in a generation that readers with a new checkpoint read too.

ls, cat and verify take a spool by its URI, too. repair, prune and end take one that nobody writes.

exit codes: 0 done, 1 something is damaged, or could not be written, 2 it is no spool, or a run
writes it."""

_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "json": ("ls", "verify", "repair", "prune"),
    "output": ("cat",),
    "stream": ("ls", "cat", "verify"),
    "interface": ("ls", "cat", "verify"),
    "generation": ("cat",),
    "begin": ("cat",),
    "end": ("cat",),
    "yes": ("repair", "prune"),
    "older": ("prune",),
    "bytes": ("prune",),
    "committed": ("prune",),
    "force": ("prune",),
    "token_file": ("ls", "cat", "verify"),
    "ca_file": ("ls", "cat", "verify"),
}
"""Which action each is of; by its field."""
_NAMES = {"begin": "from", "end": "to"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is to be done, to which spools, and how."""
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=tuple(_ACTIONS), help="what is to be done")
    parser.add_argument("spools", nargs="+", metavar="SPOOL", help="a folder, or a URI")
    add = parser.add_argument
    add("--json", action="store_true", help="ls, verify, repair, prune: one JSON object a spool")
    add("--yes", action="store_true", help="repair, prune: do it, and not only say what")
    chosen = parser.add_argument_group("which rows (ls, cat, verify)")
    chosen.add_argument("--stream", metavar="NAME", help="of this stream alone")
    chosen.add_argument("--interface", metavar="NAME", help="of this interface alone")
    add_access_options(chosen)
    _add_cat_options(parser.add_argument_group("cat"))
    _add_prune_options(parser.add_argument_group("prune: which segments go, the oldest first"))


def _add_cat_options(group: argparse._ActionsContainer) -> None:
    add_output(group, "table, json, csv, arrow, parquet")
    group.add_argument(
        "--generation", type=int, metavar="N", help="of this generation (the newest, and before)"
    )
    group.add_argument(
        "--from", dest="begin", metavar="N|TIME", help="a segment, or when it was listed (UTC)"
    )
    group.add_argument("--to", dest="end", metavar="N|TIME", help="up to, and without, this one")


def _add_prune_options(group: argparse._ActionsContainer) -> None:
    age, size = argument_type(parse_duration), argument_type(parse_bytes)
    group.add_argument("--older", type=age, metavar="TIME", help="listed longer ago (7d, 12h)")
    group.add_argument(
        "--bytes", type=size, metavar="SIZE", help="beyond so many bytes of a stream's interface"
    )
    group.add_argument(
        "--committed", action="store_true", help="that every reader is done with, if there is one"
    )
    group.add_argument("--force", action="store_true", help="those that readers still need, too")


def execute(arguments: argparse.Namespace) -> int:
    """Do it to the spools."""
    if not all(arguments.spools):
        raise UsageError("the path of a spool is empty", "a folder")
    _refuse_others(arguments)
    module, name = _ACTIONS[arguments.action].split(".")
    act: Callable[[argparse.Namespace], int]
    act = getattr(import_module(f"gigastream.cli.{module}"), name)
    return act(arguments)


def _refuse_others(arguments: argparse.Namespace) -> None:
    for field, actions in _OPTIONS.items():
        is_given = getattr(arguments, field) not in (None, False)
        if is_given and arguments.action not in actions:
            option = f"--{_NAMES.get(field, field).replace('_', '-')}"
            raise UsageError(
                f"{option} is nothing that `spool {arguments.action}` knows",
                f"it is of {', '.join(actions)}",
            )

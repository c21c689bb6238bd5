# SPDX-License-Identifier: Apache-2.0
"""gigastream spool: what is done to a spool itself."""

from __future__ import annotations

import argparse
from pathlib import Path

from gigastream.cli.errors import UsageError
from gigastream.cli.stderr import say

_ACTIONS = ("end",)
_EPILOG = """\
end: nothing more comes of the streams that a writer which is gone has left open. Readers answer
their last windows and wait no longer. A link that is captured into the spool again goes on behind
it, in a generation that readers with a new checkpoint read too.

exit codes: 0 done, 1 it could not be written, 2 it is no spool, or a run writes it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is to be done, and to which spools."""
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=_ACTIONS, help="end the streams of a writer that is gone")
    parser.add_argument("spools", nargs="+", metavar="SPOOL", help="a folder")


def execute(arguments: argparse.Namespace) -> int:
    """Do it to one spool after the other."""
    if not all(arguments.spools):
        raise UsageError("the path of a spool is empty", "a folder")
    for root in arguments.spools:
        _end(Path(root))
    return 0


def _end(root: Path) -> None:
    from gigastream.spool import SpoolWriter
    from gigastream.spool.layout import SPOOL
    from gigastream.spool.shipped_object import MARKER

    if (root / MARKER).is_file():
        raise UsageError(f"{root} is what a spool was shipped to", "end it where it is written")
    if not (root / SPOOL).is_file():
        raise UsageError(
            f"{root} is no spool", "a folder that `gigastream run -o spool:PATH` wrote"
        )
    with SpoolWriter(root) as writer:
        ended = writer.end()
    names = ", ".join(f"{each.stream} of {each.interface}" for each in ended)
    say(f"{root}: ended are {names}" if names else f"{root}: all streams have ended already")

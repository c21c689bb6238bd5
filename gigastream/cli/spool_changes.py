# SPDX-License-Identifier: Apache-2.0
"""gigastream spool repair, prune and end: what is done to a spool that nobody writes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.cli.errors import UsageError
from gigastream.cli.progress import in_bytes
from gigastream.cli.stderr import say
from gigastream.late_dataclass import asdict
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.spool.pruning import Pruned

_DRY = "nothing was changed: --yes does it"


def repair_spools(arguments: argparse.Namespace) -> int:
    """Put right what can be, or say what that is."""
    from gigastream.spool.mending import held, mend, repairs

    for root in _roots(arguments):
        with held(root):
            found = repairs(root)
            if arguments.yes:
                mend(root)
        is_done = arguments.yes and bool(found)
        if arguments.json:
            texts = [asdict(each) for each in found]
            print(json.dumps({"spool": str(root), "is_done": is_done, "repairs": texts}))
            continue
        for each in found:
            print(f"{each.path}: {each.text}")
        if not found:
            print(f"{root}: nothing to put right; `gigastream spool verify` says what is damaged")
        elif not arguments.yes:
            print(f"{root}: {_DRY}")
    return 0


def prune_spools(arguments: argparse.Namespace) -> int:
    """Delete the oldest segments, or say which would be."""
    from gigastream.spool.mending import held
    from gigastream.spool.pruning import PruneWishes, prune

    wishes = PruneWishes(arguments.older, arguments.bytes, arguments.committed, arguments.force)
    if wishes.age_ns is None and wishes.keep_bytes is None and not wishes.is_committed:
        raise UsageError(
            "nothing says which segments go", "--older TIME, --bytes SIZE, --committed"
        )
    if wishes.is_committed and wishes.is_forced:
        raise UsageError("--committed asks the readers, and --force does not", "one of them")
    for root in _roots(arguments):
        with held(root):
            found = prune(root, wishes, is_done=arguments.yes)
        if arguments.json:
            generations = [asdict(each) for each in found]
            value = {"spool": str(root), "is_done": arguments.yes, "generations": generations}
            print(json.dumps(value))
        else:
            _print_pruned(root, found, is_done=arguments.yes)
    return 0


def _print_pruned(root: Path, found: Sequence[Pruned], *, is_done: bool) -> None:
    for each in found:
        rows = f"{counted(each.segments, 'segment')} of {in_bytes(each.size_bytes)}"
        held = counted(each.held_segments, "segment")
        stays = f"; {held} of {in_bytes(each.held_bytes)} stay for readers" * bool(
            each.held_segments
        )
        verb = "deleted" if is_done else "would be deleted"
        print(f"{each.folder}: {rows} with {counted(each.rows, 'row')} {verb}{stays}")
    if not found:
        print(f"{root}: nothing to delete")
    elif not is_done:
        print(f"{root}: {_DRY}")


def end_spools(arguments: argparse.Namespace) -> int:
    """End what writers that are gone have left open."""
    for root in _roots(arguments):
        _end(root)
    return 0


def _roots(arguments: argparse.Namespace) -> list[Path]:
    """Return the folders; UsageError for a URI."""
    for text in arguments.spools:
        if "://" in text:
            raise UsageError(f"{text} is not a folder here", "do it on the host that writes it")
    return [Path(text) for text in arguments.spools]


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

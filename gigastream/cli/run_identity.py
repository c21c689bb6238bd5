# SPDX-License-Identifier: Apache-2.0
"""Which run is the same one again, so that its rows are in a table once.

It is one with the same queries, with what else says which packets they get, and with captures of
the same content, or the same spool. Packets of a pipe do not come again, and neither does a run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gigastream.cli.errors import UsageError
from gigastream.records.source import StreamSource
from gigastream.sinks import is_sink
from gigastream.sources.files import FileSource
from gigastream.timestamps import EXTERNAL

if TYPE_CHECKING:
    from gigastream.plan import Plan
    from gigastream.records.source import AnySource
    from gigastream.settings import Settings

_SAMPLE_BYTES = 1 << 16
"""Of a capture's beginning and of its end: two with both and their sizes alike are one."""
_STDIN = "/dev/stdin"


def refuse_tables_of_links(arguments: argparse.Namespace, wanted: str) -> None:
    """Raise UsageError: who captures a link may reach no other host, and write no file."""
    if arguments.interface and is_sink(wanted):
        raise UsageError(
            "a link is captured by a process that can do nothing else, and reach no table",
            f"-o spool:PATH here, and gigastream run --spool PATH -o {wanted} beside it",
        )


def run_over_captures(
    arguments: argparse.Namespace, plan: Plan, sources: Sequence[AnySource], settings: Settings
) -> str | None:
    """Return the name of a run over captures; None where its packets do not come again. OSError.

    Neither do those whose time is that of the host.
    """
    from gigastream.spool.run_name import name_of

    captures = list(_captures(sources))
    kinds = {source.timestamps or settings.timestamps for source in sources}
    if len(captures) < len(sources) or kinds != {EXTERNAL}:
        return None
    cut = [settings.filter, settings.packets_max, arguments.windows]
    return name_of(plan, [cut, sorted(captures)])


def _captures(sources: Sequence[AnySource]) -> Iterator[tuple[str, int, str]]:
    for source in sources:
        if isinstance(source, FileSource) or _is_of_file(source):
            path = _path(source)
            if stat.S_ISREG(os.stat(path).st_mode):
                yield (source.interface, *_content(path))


def _is_of_file(source: AnySource) -> bool:
    return isinstance(source, StreamSource) and source.is_finite


def _path(source: AnySource) -> str:
    if isinstance(source, FileSource):
        return _STDIN if source.is_stdin else source.path
    assert isinstance(source, StreamSource)
    assert isinstance(source.place, str)
    return _STDIN if source.is_stdin else source.place


def _content(path: str) -> tuple[int, str]:
    """Return the size of a file and a hash of its two ends."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        found = hashlib.sha256(file.read(_SAMPLE_BYTES))
        file.seek(max(0, size - _SAMPLE_BYTES))
        found.update(file.read(_SAMPLE_BYTES))
    return size, found.hexdigest()

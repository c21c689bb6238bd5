# SPDX-License-Identifier: Apache-2.0
"""What a job writes lies apart from what it reads, and each output from the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gigastream.spool.apart import NamedPlace, check_apart
from spark_sink.places import without_credentials
from spark_sink.sinks import Sink


def check_places(
    spools: Sequence[str],
    checkpoint: str,
    sinks: Sequence[Sink],
    queries: Sequence[str],
    log: Path | None,
) -> None:
    """Raise SpoolReadError where two of them are one in the other; nothing is made yet."""
    read = [NamedPlace(f"the spool {without_credentials(path)}", path) for path in spools]
    kept = NamedPlace(f"--checkpoint {without_credentials(checkpoint)}", checkpoint)
    check_apart(kept, read)
    if log is not None:
        check_apart(NamedPlace(f"--log {log}", str(log), is_whole=False), read)
    earlier: list[tuple[Sink, NamedPlace]] = []
    for sink in sinks:
        for place in _places(sink, queries):
            check_apart(place, (*read, kept))
            # tables of one database, or files in one folder, go together; what Spark lists does not
            beside = (its for other, its in earlier if other.is_sparks or sink.is_sparks)
            check_apart(place, beside)
        earlier += [(sink, place) for place in _places(sink, queries)]


def _places(sink: Sink, queries: Sequence[str]) -> Iterator[NamedPlace]:
    """Where an output writes; none: to stdout, or a server."""
    what = f"-o {sink.text}"
    if sink.tables is not None:
        for path in sink.tables.paths(queries):
            yield NamedPlace(what, path, is_whole=sink.tables.has_folders)
    elif sink.path is not None and sink.path != "-":
        yield NamedPlace(what, sink.path, is_whole=sink.is_sparks)

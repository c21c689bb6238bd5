# SPDX-License-Identifier: Apache-2.0
"""STREAMs on the command line: --stream NAME=PLACE, and whether somebody reads them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gigastream.cli.errors import UsageError
from gigastream.config import Config
from gigastream.gsql.stream_names import is_of_stream
from gigastream.records.formats import TCP_PREFIX, UDP_PREFIX
from gigastream.records.source import AnySource, StreamPlace, StreamSource, stream_sources
from gigastream.shipped_queries import OBJECT_SUFFIX

if TYPE_CHECKING:
    from gigastream.plan import Plan


def streams_of(arguments: argparse.Namespace, config: Config) -> list[StreamSource]:
    """Return the sources that --stream names. UsageError, SourceError, GsqlError."""
    given: list[StreamPlace] = arguments.stream
    if not given:
        return []
    from gigastream.gsql.catalog.build import load_catalog

    if any(word.endswith(OBJECT_SUFFIX) for word in arguments.words):
        raise UsageError("a compiled query set reads no STREAM", "name what it was made of")
    if arguments.interface and any(
        place.path.startswith((TCP_PREFIX, UDP_PREFIX)) for place in given
    ):
        raise UsageError(
            "a link is captured by a process that can do nothing else, and take no connection",
            "nc -lk PORT | gigastream run -i … --stream NAME=-",
        )
    streams = load_catalog((*config.definitions, *arguments.definitions)).streams
    return [source for place in given for source in stream_sources({place.stream: place}, streams)]


def check_read(plan: Plan, sources: Sequence[AnySource], meant: Callable[[], str]) -> None:
    """Raise UsageError where a STREAM is given that nobody reads, or no packets to who reads them.

    `meant` gives a hint at captures.
    """
    read = {node.source.interface for node in plan.low}
    for source in sources:
        if isinstance(source, StreamSource) and source.interface not in read:
            name = source.stream.name
            raise UsageError(f"no query reads {name}", f"FROM {name}, or no --stream {name}=…")
    given = {source.interface for source in sources}
    for interface in sorted(filter(is_of_stream, read - given)):
        name = interface.partition(" ")[2]
        message = f"nothing says where the records of {name} come from"
        raise UsageError(message, f"--stream {name}=FILE, or a folder, or tcp://HOST:PORT")
    has_packets = any(not isinstance(source, StreamSource) for source in sources)
    if not has_packets and not all(map(is_of_stream, read)):
        raise UsageError("there is no capture to read", meant())

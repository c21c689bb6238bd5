# SPDX-License-Identifier: Apache-2.0
"""STREAMs as a daemon is told of them: what a place may be, before anything is opened."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.daemon.daemon_config import StreamConfig
from gigastream.gsql.diagnostics import did_you_mean
from gigastream.records.flow_port import check_flow_port
from gigastream.records.formats import FORMATS, TCP_PREFIX, UDP_PREFIX
from gigastream.records.port import parse_address
from gigastream.sources.files import STDIN, SourceError


def is_port(place: str) -> bool:
    """Whether it is one of this host."""
    return place.startswith((TCP_PREFIX, UDP_PREFIX))


def stream_config(
    name: str, place: str, format_name: str | None, beside: Callable[[str], object]
) -> StreamConfig:
    """What is meant by a STREAM's name, its place and its format. SourceError.

    `beside` makes a path absolute.
    """
    if format_name is not None and format_name not in FORMATS:
        hint = did_you_mean(format_name, FORMATS) or f"one of {', '.join(FORMATS)}"
        raise SourceError(f"{format_name} is no format", hint)
    if place in ("", STDIN):
        hint = "a file, a pipe, a folder, tcp://HOST:PORT or udp://HOST:PORT"
        raise SourceError("a daemon has no stdin" if place else "the place is empty", hint)
    if place.startswith(TCP_PREFIX):
        parse_address(place)
        _refuse_of_files(place, format_name)
    elif place.startswith(UDP_PREFIX):
        check_flow_port(place, format_name)
    else:
        place = str(beside(place))
    return StreamConfig(name, place, format_name)


def _refuse_of_files(place: str, format_name: str | None) -> None:
    if format_name is not None and FORMATS[format_name].is_of_files:
        raise SourceError(f"{place}: {format_name} is read from a file alone", "arrow, csv, json")

# SPDX-License-Identifier: Apache-2.0
"""STREAMs of a daemon: their ports are opened while that may be done, their files as its user.

What a STREAM's records look like is read once: frames that are written and objects that read them
must agree on it for as long as the daemon runs.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from gigastream.daemon.daemon_config import DaemonConfig, StreamConfig
from gigastream.daemon.input_messages import StreamSpec
from gigastream.gsql.catalog.catalog import RecordLayout
from gigastream.gsql.diagnostics import did_you_mean
from gigastream.records.flow_port import open_flow_port
from gigastream.records.formats import TCP_PREFIX, UDP_PREFIX
from gigastream.records.port import listen_at
from gigastream.records.source import StreamSource
from gigastream.sources.files import SourceError


def open_ports(streams: Sequence[StreamConfig]) -> dict[int, socket.socket]:
    """Open the ports of STREAMs, by their places among these. SourceError."""
    found: dict[int, socket.socket] = {}
    for at, stream in enumerate(streams):
        if stream.place.startswith(TCP_PREFIX):
            found[at] = listen_at(stream.place, stream.format)
            found[at].setblocking(False)
        elif stream.place.startswith(UDP_PREFIX):
            found[at] = open_flow_port(stream.place)
    return found


def declared_layouts(config: DaemonConfig) -> list[RecordLayout]:
    """What records of each look like. SourceError: one is not declared; GsqlError, OSError."""
    if not config.streams:
        return []
    from gigastream.gsql.catalog.build import load_catalog

    declared = {each.name: each for each in load_catalog(config.definitions).streams.values()}
    for stream in config.streams:
        if stream.name not in declared:
            hint = did_you_mean(stream.name, declared) or f"one of {', '.join(declared)}"
            raise SourceError(f"there is no STREAM {stream.name}", hint)
    return [declared[stream.name].layout for stream in config.streams]


def stream_specs(
    config: DaemonConfig, ports: Mapping[int, socket.socket]
) -> tuple[StreamSpec, ...]:
    """What a capture process is told of each. SourceError: this user cannot read it."""
    return tuple(
        _spec(stream, layout, ports.get(at))
        for at, (stream, layout) in enumerate(
            zip(config.streams, declared_layouts(config), strict=True)
        )
    )


def _spec(stream: StreamConfig, layout: RecordLayout, port: socket.socket | None) -> StreamSpec:
    source = StreamSource(layout, stream.place, stream.format)
    if port is None:
        source.check()
    is_heard = port is not None and port.type == socket.SOCK_DGRAM
    return StreamSpec(
        layout=layout,
        place=stream.place,
        format=stream.format,
        socket=port.fileno() if port is not None and is_heard else None,
        is_folder=port is None and source.is_folder,
        has_peers=port is not None and not is_heard,
    )

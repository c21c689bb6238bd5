# SPDX-License-Identifier: Apache-2.0
"""What a capture process is told of what it reads: links and STREAMs, opened before it began."""

from __future__ import annotations

import msgspec

from gigastream.gsql.catalog.catalog import RecordLayout
from gigastream.sources.live import LiveSettings


class _Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is read, or a word about it."""


class LinkSpec(_Input, frozen=True, kw_only=True):
    """A link whose packet sockets are inherited, or renewed by a RenewOrder where it is removed."""

    interface: str
    device: str
    sockets: tuple[int, ...]
    """One a ring."""
    settings: LiveSettings
    is_renewed: bool = False


class StreamSpec(_Input, frozen=True, kw_only=True):
    """A place of a STREAM's records."""

    layout: RecordLayout
    """As its declaration was when the daemon began."""
    place: str
    format: str | None = None
    socket: int | None = None
    """Of a UDP port: inherited."""
    is_folder: bool = False
    """As it was when the daemon began: one that goes away is waited for."""
    has_peers: bool = False
    """Of a TCP port: its peers come by PeerOrders."""


class PeerOrder(_Input, tag=True, frozen=True, kw_only=True):
    """Read what a peer of a STREAM's port sends, whose connection comes with this."""

    number: int
    stream: int
    """Its place in CaptureStart.streams."""
    label: str

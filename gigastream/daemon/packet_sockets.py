# SPDX-License-Identifier: Apache-2.0
"""Packet sockets, opened by who may, and inherited by capture processes one after the other."""

from __future__ import annotations

import errno
import socket
import struct

from gigastream.sources.files import SourceError
from gigastream.sources.live import LiveSettings, LiveSource

_ALL_PROTOCOLS = 3
_SOL_PACKET = 263
_PACKET_STATISTICS = 6
_COUNTERS = struct.Struct("@III")
"""struct tpacket_stats_v3."""


def open_packet_sockets(device: str, settings: LiveSettings) -> tuple[int, ...]:
    """Sockets that take all packets of a device, one a ring. SourceError."""
    LiveSource(device, device, settings).check()
    if settings.fanout > 1:
        raise SourceError(f"{device}: one socket is opened for it, which is one ring", "fanout 1")
    try:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    except PermissionError:
        raise SourceError(
            f"{device}: this user may not capture packets",
            "root, who becomes the user of --user; or CAP_NET_RAW (AmbientCapabilities=)",
        ) from None
    try:
        made.bind((device, _ALL_PROTOCOLS))
    except OSError as error:
        made.close()
        raise SourceError(f"{device}: {error.strerror}") from None
    return (made.detach(),)


def received_since(descriptor: int) -> tuple[int, int]:
    """Packets that the kernel counted for a socket since anybody has asked, and drops of them.

    Drops are among the packets.
    """
    with socket.socket(fileno=_duplicate(descriptor)) as asked:
        try:
            found = asked.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _COUNTERS.size)
        except OSError as error:
            if error.errno in (errno.ENETDOWN, errno.ENXIO, errno.ENODEV):
                return 0, 0
            raise
    packets, drops = struct.unpack_from("@II", found)
    return packets, drops


def _duplicate(descriptor: int) -> int:
    import os

    return os.dup(descriptor)

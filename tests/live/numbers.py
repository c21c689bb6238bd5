# SPDX-License-Identifier: Apache-2.0
"""Packets that carry their number, for programs that send them: loads nothing that takes long."""

from __future__ import annotations

import errno
import socket
import struct
import time

PACE_PACKETS, PACE_S = 80, 0.004
FLOWS = 50


def numbered(number: int) -> bytes:
    """A UDP packet with its number for a source address, of one of some flows."""
    ports = struct.pack("!HHHH", 1000 + number % FLOWS, 9, 8, 0)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2")
    return bytes(6) + number.to_bytes(6, "big") + b"\x08\x00" + header + ports + bytes(18)


def send_one(link: socket.socket, packet: bytes) -> int:
    """Send it; 0: it was refused, since a busy kernel has not handed over those before it."""
    try:
        link.send(packet)
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise
        time.sleep(PACE_S)
        return 0
    return 1

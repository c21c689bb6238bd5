# SPDX-License-Identifier: Apache-2.0
"""Make a port of a VLAN: a tap device whose frames travel tagged over another device.

    python3 vlan_port.py DEVICE VLAN TAP

What `ip link add link DEVICE type vlan` does in kernels that have 8021q, for those that do not.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import socket
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TAP_NO_PI = 0x0002 | 0x1000
ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID = 0x10
AUXDATA = struct.Struct("IIIHHHH")  # status, len, snaplen, mac, net, vlan_tci, vlan_tpid
MAC_ADDRESSES_BYTES = 12
FRAME_BYTES = 2048


def open_tap(name: str) -> int:
    """Create a tap device and return its descriptor."""
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP_NO_PI))
    return tap


def open_device(name: str) -> socket.socket:
    """Return a packet socket that also tells the tag, which the kernel takes out of the frame."""
    device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    device.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    device.bind((name, ETH_P_ALL))
    return device


def tagged(frame: bytes, vlan: int) -> bytes:
    """Return the frame with an 802.1Q tag."""
    tag = struct.pack("!HH", 0x8100, vlan)
    return frame[:MAC_ADDRESSES_BYTES] + tag + frame[MAC_ADDRESSES_BYTES:]


def receive(device: socket.socket, vlan: int) -> bytes | None:
    """Return the next frame, without its tag, if it arrived in this VLAN."""
    frame, ancillary, _, address = device.recvmsg(FRAME_BYTES, socket.CMSG_SPACE(AUXDATA.size))
    if address[2] == socket.PACKET_OUTGOING:
        return None
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, *_, tag, _ = AUXDATA.unpack(data)
            if status & TP_STATUS_VLAN_VALID and tag & 0x0FFF == vlan:
                return frame
    return None


def forward(device: socket.socket, tap: int, vlan: int) -> None:
    """Carry frames between the two for ever."""
    waiting = selectors.DefaultSelector()
    waiting.register(device, selectors.EVENT_READ)
    waiting.register(tap, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is device:
                frame = receive(device, vlan)
                if frame is not None:
                    os.write(tap, frame)
            else:
                device.send(tagged(os.read(tap, FRAME_BYTES), vlan))


if __name__ == "__main__":
    forward(open_device(sys.argv[1]), open_tap(sys.argv[3]), int(sys.argv[2]))

# SPDX-License-Identifier: Apache-2.0
"""Community ID, version 1 with seed 0 (github.com/corelight/community-id-spec)."""

from __future__ import annotations

import base64
import hashlib
import struct

from tests.oracle.frame import Frame
from tests.oracle.network import Network

SEED = 0

PAIRED_TYPES = {
    4: {0: 8, 8: 0, 9: 10, 10: 9, 13: 14, 14: 13, 15: 16, 16: 15, 17: 18, 18: 17},
    6: {128: 129, 129: 128, 130: 131, 131: 130, 133: 134, 134: 133, 135: 136, 136: 135,
        139: 140, 140: 139, 144: 145, 145: 144},
}  # fmt: skip
"""ICMP messages that answer each other: type and the type of the other direction."""


PORT_PROTOCOLS = frozenset({6, 17, 132})
"""TCP, UDP and SCTP begin with two ports of two bytes each."""

ICMP = {4: 1, 6: 58}
PORTS_BYTES = 4


def community_id(frame: Frame, network: Network) -> str | None:
    """The identifier of the flow that a packet is of, the same in both directions.

    None where the flow has ports that this packet does not show: a later fragment, a packet cut
    short.
    """
    source, destination = (_wire(address) for address in network.addresses)
    if not _has_ports(network):
        first, second = sorted((source, destination))
        return _digest(first + second + struct.pack("!BB", network.protocol, 0))
    if not _shows_ports(frame, network):
        return None
    source_port, destination_port, is_one_way = _ports(frame, network)
    if not is_one_way and (source, source_port) > (destination, destination_port):
        source, destination = destination, source
        source_port, destination_port = destination_port, source_port
    protocol = struct.pack("!BBHH", network.protocol, 0, source_port, destination_port)
    return _digest(source + destination + protocol)


def _wire(address: int | bytes) -> bytes:
    return address if isinstance(address, bytes) else address.to_bytes(4, "big")


def _has_ports(network: Network) -> bool:
    return network.protocol in PORT_PROTOCOLS or network.protocol == ICMP[network.version]


def _shows_ports(frame: Frame, network: Network) -> bool:
    within_payload = network.payload_at + PORTS_BYTES <= network.payload_end
    is_captured = frame.has(network.payload_at, PORTS_BYTES)
    return within_payload and is_captured and not network.is_later_fragment


def _ports(frame: Frame, network: Network) -> tuple[int, int, bool]:
    """The two ports, or ICMP's type and its counterpart; a message without one is one-way."""
    at = network.payload_at
    if network.protocol in PORT_PROTOCOLS:
        return frame.u16(at), frame.u16(at + 2), False
    kind, code = frame.u8(at), frame.u8(at + 1)
    if kind in PAIRED_TYPES[network.version]:
        return kind, PAIRED_TYPES[network.version][kind], False
    return kind, code, True


def _digest(flow: bytes) -> str:
    return "1:" + base64.b64encode(hashlib.sha1(struct.pack("!H", SEED) + flow).digest()).decode()

# SPDX-License-Identifier: Apache-2.0
"""TCP, UDP and ICMP: each lies wholly within the captured bytes and within the IP payload."""

from __future__ import annotations

from tests.oracle import layouts
from tests.oracle.frame import Fields, Frame
from tests.oracle.network import Network

ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
ICMP_BYTES = 4

FLAG_BITS = {"fin": 0, "syn": 1, "rst": 2, "psh": 3, "ack": 4, "urg": 5}


def parse_transport(frame: Frame, network: Network) -> tuple[str, Fields] | None:
    """The protocol's name in GSQL and its fields, or None if the packet is a tuple of none."""
    if network.is_later_fragment:
        return None
    if network.protocol == TCP:
        return _parse_tcp(frame, network)
    if network.protocol == UDP:
        return _parse_udp(frame, network)
    if network.protocol == (ICMP if network.version == 4 else ICMPV6):
        return _parse_icmp(frame, network)
    return None


def _readable(frame: Frame, network: Network, size: int) -> bool:
    within_payload = network.payload_at + size <= network.payload_end
    return within_payload and frame.has(network.payload_at, size)


def _parse_tcp(frame: Frame, network: Network) -> tuple[str, Fields] | None:
    if not _readable(frame, network, layouts.TCP.size):
        return None
    header = layouts.TCP.read(frame.data, network.payload_at)
    header_bytes = (header["_off_flags"] >> 12) * 4
    if header_bytes < layouts.TCP.size or not _readable(frame, network, header_bytes):
        return None
    data_at = network.payload_at + header_bytes
    flags = header["_off_flags"] & 0xFF
    fields: Fields = {
        "srcPort": header["sport"],
        "destPort": header["dport"],
        "data_length": network.payload_end - data_at,
        "sequence_number": header["seq"],
        "ack_number": header["ack"],
        "flags": flags,
        **{name: flags >> bit & 1 for name, bit in FLAG_BITS.items()},
        "window": header["win"],
        "TCP_data": frame.data[data_at : network.payload_end],
    }
    return "TCP", fields


def _parse_udp(frame: Frame, network: Network) -> tuple[str, Fields] | None:
    if not _readable(frame, network, layouts.UDP.size):
        return None
    header = layouts.UDP.read(frame.data, network.payload_at)
    if header["ulen"] < layouts.UDP.size:
        return None
    data_at = network.payload_at + layouts.UDP.size
    data_end = min(network.payload_end, network.payload_at + header["ulen"])
    fields: Fields = {
        "srcPort": header["sport"],
        "destPort": header["dport"],
        "data_length": header["ulen"] - layouts.UDP.size,
        "UDP_data": frame.data[data_at:data_end],
    }
    return "UDP", fields


def _parse_icmp(frame: Frame, network: Network) -> tuple[str, Fields] | None:
    if not _readable(frame, network, ICMP_BYTES):
        return None
    header = layouts.ICMP.read(frame.data, network.payload_at)
    return "ICMP", {"icmp_type": header["type"], "icmp_code": header["code"]}

# SPDX-License-Identifier: Apache-2.0
"""The beginning of a sampled packet, as sFlow sends it: what a flow record says of it.

A few headers alone, Ethernet with its tags, IP, ports: one that is cut off gives what is before it.
"""

from __future__ import annotations

import struct
from typing import Any

from gigastream.records.flows.values import address

_TAGS = (0x8100, 0x88A8, 0x9100)
_MPLS = (0x8847, 0x8848)
_IPV4, _IPV6 = 0x0800, 0x86DD
_WITH_PORTS = (6, 17, 132)
_TCP = 6
_ICMP = (1, 58)
_EXTENSIONS = (0, 43, 60, 135)
_FRAGMENT = 44
_MAX_HEADERS = 16


def read_ethernet(data: memoryview) -> dict[str, Any]:
    """Columns of a frame; without `srcIP` where it carries no IP."""
    if len(data) < 14:
        return {}
    found: dict[str, Any] = {
        "destMAC": int.from_bytes(data[:6], "big"),
        "srcMAC": int.from_bytes(data[6:12], "big"),
        "vlan": 0,
    }
    (kind,), at = struct.unpack_from(">H", data, 12), 14
    for depth in range(_MAX_HEADERS):
        if kind not in _TAGS or len(data) < at + 4:
            break
        tag, kind = struct.unpack_from(">HH", data, at)
        if depth == 0:
            found["vlan"] = tag & 0xFFF
        at += 4
    found["etherType"] = kind
    if kind in _MPLS:
        found |= _read_labels(data[at:])
    elif kind == _IPV4:
        found |= read_ipv4(data[at:])
    elif kind == _IPV6:
        found |= read_ipv6(data[at:])
    return found


def _read_labels(data: memoryview) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for depth in range(_MAX_HEADERS):
        if len(data) < 4:
            return found
        (label,) = struct.unpack_from(">I", data)
        if depth == 0:
            found["mpls_label"] = label >> 12
        data = data[4:]
        if label & 0x100:
            break
    version = data[0] >> 4 if data else 0
    read = {4: read_ipv4, 6: read_ipv6}.get(version)
    return found if read is None else found | read(data)


def read_ipv4(data: memoryview) -> dict[str, Any]:
    """Columns of an IPv4 packet."""
    if len(data) < 20 or data[0] >> 4 != 4:
        return {}
    header = (data[0] & 15) * 4
    (fragment,) = struct.unpack_from(">H", data, 6)
    found = {
        "ipversion": 4,
        "tos": data[1],
        "protocol": data[9],
        "srcIP": address(bytes(data[12:16])),
        "destIP": address(bytes(data[16:20])),
    }
    if header < 20 or fragment & 0x1FFF:
        return found
    return found | _read_transport(data[9], data[header:])


def read_ipv6(data: memoryview) -> dict[str, Any]:
    """Columns of an IPv6 packet."""
    if len(data) < 40 or data[0] >> 4 != 6:
        return {}
    (first,) = struct.unpack_from(">I", data)
    found = {
        "ipversion": 6,
        "tos": first >> 20 & 0xFF,
        "flow_label": first & 0xFFFFF,
        "srcIP": bytes(data[8:24]),
        "destIP": bytes(data[24:40]),
    }
    protocol, rest, is_first = data[6], data[40:], True
    for _ in range(_MAX_HEADERS):
        if protocol == _FRAGMENT and len(rest) >= 8:
            is_first = not struct.unpack_from(">H", rest, 2)[0] & 0xFFF8
            protocol, rest = rest[0], rest[8:]
        elif protocol in _EXTENSIONS and len(rest) >= 8:
            protocol, rest = rest[0], rest[8 + 8 * rest[1] :]
        else:
            break
    found["protocol"] = protocol
    return found | _read_transport(protocol, rest) if is_first else found


def _read_transport(protocol: int, data: memoryview) -> dict[str, Any]:
    if protocol in _ICMP and len(data) >= 2:
        return {"icmp_type": data[0], "icmp_code": data[1]}
    if protocol not in _WITH_PORTS or len(data) < 4:
        return {}
    source, destination = struct.unpack_from(">HH", data)
    found = {"srcPort": source, "destPort": destination}
    if protocol == _TCP and len(data) >= 14:
        found["flags"] = data[13]
    return found

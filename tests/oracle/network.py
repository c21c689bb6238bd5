# SPDX-License-Identifier: Apache-2.0
"""IPv4 with options and IPv6 with extension headers, by the table of GSQL §8."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle import layouts
from tests.oracle.frame import Fields, Frame
from tests.oracle.values import Inet, Ip, Ipv6, inet_of_ipv4

MIN_IPV4_HEADER_BYTES = 20
IPV6_HEADER_BYTES = layouts.IPV6.size

HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS = 0, 43, 44, 51, 60
JUMBO_PAYLOAD = 0xC2
PAD_ONE = 0


@dataclass(frozen=True)
class Network:
    """An IP header and what it says about its payload.

    `addresses` are the source and destination as the family's own type, `inet` the same as INET.
    The payload runs from `payload_at` to `payload_end`, which may lie beyond the captured bytes;
    `is_later_fragment` says that no transport header is to be looked for.
    """

    version: int
    at: int
    fields: Fields
    addresses: tuple[Ip, Ip] | tuple[Ipv6, Ipv6]
    inet: tuple[Inet, Inet]
    protocol: int
    payload_at: int
    payload_end: int
    is_later_fragment: bool


def parse_network(frame: Frame, version: int | None, at: int) -> Network | None:
    """The IP header at `at`, or None if the packet is no tuple of IPV4 or IPV6."""
    if version == 4:
        return _parse_ipv4(frame, at)
    return _parse_ipv6(frame, at) if version == 6 else None


def _parse_ipv4(frame: Frame, at: int) -> Network | None:
    if not frame.has(at, MIN_IPV4_HEADER_BYTES):
        return None
    header = layouts.IPV4.read(frame.data, at)
    version, header_bytes = header["_v_hl"] >> 4, (header["_v_hl"] & 0xF) * 4
    if version != 4 or header_bytes < MIN_IPV4_HEADER_BYTES or not frame.has(at, header_bytes):
        return None
    total = header["len"]
    if 0 < total < header_bytes:
        return None
    payload_at = at + header_bytes
    # Segmentation offload leaves total_length 0: the payload then ends where the frame ended.
    payload_end = at + total if total else max(frame.end, payload_at)
    return Network(
        version=4,
        at=at,
        fields=_ipv4_fields(header, header_bytes),
        addresses=(_ip(header["src"]), _ip(header["dst"])),
        inet=(inet_of_ipv4(header["src"]), inet_of_ipv4(header["dst"])),
        protocol=header["p"],
        payload_at=payload_at,
        payload_end=payload_end,
        is_later_fragment=header["_flags_offset"] & 0x1FFF != 0,
    )


def _ip(address: bytes) -> Ip:
    return Ip(int.from_bytes(address, "big"))


def _ipv4_fields(header: Fields, header_bytes: int) -> Fields:
    fragment = header["_flags_offset"]
    return {
        "ipversion": 4,
        "hdr_length": header_bytes,
        **_traffic_class(header["tos"]),
        "total_length": header["len"],
        "id": header["id"],
        "dont_frag": fragment >> 14 & 1,
        "more_frag": fragment >> 13 & 1,
        "offset": fragment & 0x1FFF,
        "ttl": header["ttl"],
        "protocol": header["p"],
    }


def _traffic_class(octet: int) -> Fields:
    return {"tos": octet, "dscp": octet >> 2, "ecn": octet & 3}


def _parse_ipv6(frame: Frame, at: int) -> Network | None:
    if not frame.has(at, IPV6_HEADER_BYTES):
        return None
    header = layouts.IPV6.read(frame.data, at)
    first_word = header["_v_fc_flow"]
    if first_word >> 28 != 6:
        return None
    end = _ipv6_payload_end(frame, at, header)
    walk = _walk_extensions(frame, header["nxt"], at + IPV6_HEADER_BYTES, end)
    fields: Fields = {
        "ipversion": 6,
        **_traffic_class(first_word >> 20 & 0xFF),
        "flow_label": first_word & 0xFFFFF,
        "ttl": header["hlim"],
        "hdr_length": IPV6_HEADER_BYTES,
        "total_length": IPV6_HEADER_BYTES + header["plen"],
        "protocol": walk.protocol,
        **walk.fragment,
    }
    return Network(
        version=6,
        at=at,
        fields=fields,
        addresses=(Ipv6(header["src"]), Ipv6(header["dst"])),
        inet=(Inet(header["src"]), Inet(header["dst"])),
        protocol=walk.protocol,
        payload_at=walk.at,
        payload_end=end,
        is_later_fragment=walk.fragment.get("offset", 0) != 0,
    )


def _ipv6_payload_end(frame: Frame, at: int, header: Fields) -> int:
    """Payload length 0 is no payload, unless a jumbo option says that the field is too small.

    The option's value is not looked at (no option's is): the payload then ends with the frame.
    """
    payload_at = at + IPV6_HEADER_BYTES
    if header["plen"] == 0 and header["nxt"] == HOP_BY_HOP and _is_jumbo(frame, payload_at):
        return max(frame.end, payload_at)
    return payload_at + int(header["plen"])


def _is_jumbo(frame: Frame, at: int) -> bool:
    size = _options_bytes(frame, at)
    option, end = at + 2, at + size
    while size and option < end:
        kind = frame.u8(option)
        if kind == JUMBO_PAYLOAD:
            return True
        if kind != PAD_ONE and option + 1 >= end:
            return False
        option += 1 if kind == PAD_ONE else 2 + frame.u8(option + 1)
    return False


def _options_bytes(frame: Frame, at: int) -> int:
    """The size of a header that counts in eight bytes, or 0 if it was not wholly captured."""
    if not frame.has(at, 2):
        return 0
    size = 8 + frame.u8(at + 1) * 8
    return size if frame.has(at, size) else 0


@dataclass(frozen=True)
class Walk:
    """Where the extension headers ended, what comes next, and the fragment header's fields."""

    protocol: int
    at: int
    fragment: Fields


def _walk_extensions(frame: Frame, protocol: int, at: int, end: int) -> Walk:
    """Past every extension header that lies within the captured bytes and within the payload."""
    fragment: Fields = {}
    while True:
        size = _extension_bytes(frame, protocol, at)
        if size == 0 or at + size > end:
            return Walk(protocol, at, fragment)
        if protocol == FRAGMENT:
            fragment = _fragment_fields(frame, at)
        protocol, at = frame.u8(at), at + size
        if fragment.get("offset", 0) != 0:
            return Walk(protocol, at, fragment)


def _extension_bytes(frame: Frame, protocol: int, at: int) -> int:
    """The size of the extension header at `at`, or 0 if it is none or not wholly captured."""
    if protocol in (HOP_BY_HOP, ROUTING, DESTINATION_OPTIONS):
        return _options_bytes(frame, at)
    if protocol == FRAGMENT:
        return 8 if frame.has(at, 8) else 0
    if protocol == AUTHENTICATION and frame.has(at, 2):
        size = 8 + frame.u8(at + 1) * 4
        return size if frame.has(at, size) else 0
    return 0


def _fragment_fields(frame: Frame, at: int) -> Fields:
    header = layouts.IPV6_FRAGMENT.read(frame.data, at)
    word = header["_frag_off_resv_m"]
    return {"id": header["id"], "more_frag": word & 1, "offset": word >> 3}

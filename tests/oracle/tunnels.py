# SPDX-License-Identifier: Apache-2.0
"""What a record is for a query that opens tunnels: the innermost packet that can be reached.

Each tunnel carries bytes that end where its own headers say, and a packet in them is read as if it
were a frame of its own. Names and numbers are written out here again, from the RFCs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from tests.oracle.encapsulation import MAX_8023_LENGTH, walk_by_nibble, walk_ppp, walk_tags
from tests.oracle.frame import Frame, Link
from tests.oracle.links import ethernet, walk_from
from tests.oracle.packet import Layers, layers_of, parse
from tests.oracle.records import Record

Open = Callable[[Frame, Link], None]
"""From what a tunnel carries to where the inner packet is; nothing is found where there is none."""
BRIDGED = 0x6558
GRE_PPP, ERSPAN, ERSPAN_3 = 0x880B, 0x88BE, 0x22EB


def _as_ethernet(frame: Frame, link: Link, at: int) -> None:
    walk_from(frame, link, at, ethernet)


def _ethertype(frame: Frame, link: Link, ethertype: int, at: int) -> None:
    """Ethernet, or what a number names, which is the tunnel's and no field of a link."""
    if ethertype == BRIDGED:
        _as_ethernet(frame, link, at)
    elif ethertype > MAX_8023_LENGTH:
        walk_tags(frame, link, ethertype, at)


def _ipv4(frame: Frame, link: Link) -> None:
    link.found(4, 0)


def _ipv6(frame: Frame, link: Link) -> None:
    link.found(6, 0)


def _gre(frame: Frame, link: Link) -> None:
    if not frame.has(0, 4):
        return
    flags, protocol = frame.u16(0), frame.u16(2)
    has = {name: bool(flags & bit) for name, bit in GRE_FLAGS.items()}
    size = 4 + 4 * (has["key"] + has["sequence"])
    if flags & 7 == 1 and protocol == GRE_PPP:
        size += 4 * has["acknowledgment"]
        if has["key"] and has["sequence"] and frame.has(0, size):
            walk_ppp(frame, link, size)
        return
    size += 4 * has["checksum"]
    if flags & 7 or has["routing"] or not frame.has(0, size):
        return
    if protocol == ERSPAN:
        size += 8 * has["sequence"]
        if frame.has(0, size):
            _as_ethernet(frame, link, size)
    elif protocol == ERSPAN_3:
        _erspan_3(frame, link, size)
    else:
        _ethertype(frame, link, protocol, size)


GRE_FLAGS = {"checksum": 1 << 15, "routing": 1 << 14, "key": 1 << 13, "sequence": 1 << 12}
GRE_FLAGS |= {"acknowledgment": 1 << 7}


def _erspan_3(frame: Frame, link: Link, at: int) -> None:
    if not frame.has(at, 12):
        return
    size = 12 + 8 * (frame.u8(at + 11) & 1)
    kind = (frame.u8(at + 10) & 0x7C) >> 2
    if frame.has(at, size) and kind == 0:
        _as_ethernet(frame, link, at + size)
    elif frame.has(at, size) and kind == 2:
        walk_by_nibble(frame, link, at + size)


def _vxlan(frame: Frame, link: Link) -> None:
    if frame.has(0, 8) and frame.u8(0) >> 3 & 1:
        _as_ethernet(frame, link, 8)


def _geneve(frame: Frame, link: Link) -> None:
    if not frame.has(0, 8) or frame.u8(0) >> 6 or frame.u8(1) >> 7:
        return
    size = 8 + frame.u8(0) % 64 * 4
    if frame.has(0, size):
        _ethertype(frame, link, frame.u16(2), size)


def _gtp(frame: Frame, link: Link) -> None:
    if not frame.has(0, 8) or frame.u8(0) >> 4 != 3 or frame.u8(1) != 255:
        return
    at = 12 if frame.u8(0) & 7 else 8
    if not frame.has(0, at):
        return
    following = frame.u8(at - 1) if frame.u8(0) & 4 else 0
    while following:
        size = frame.u8(at) * 4 if frame.has(at, 1) else 0
        if not size or not frame.has(at, size):
            return
        at += size
        following = frame.u8(at - 1)
    walk_by_nibble(frame, link, at)


def _teredo(frame: Frame, link: Link) -> None:
    at = 0
    if frame.has(0, 4) and frame.u16(0) == 1:
        at = 13 + frame.u8(2) + frame.u8(3)
        if not frame.has(0, at):
            return
    if frame.has(at, 4) and frame.u16(at) == 0:
        if not frame.has(at, 8):
            return
        at += 8
    link.found(6, at)


def _pseudowire(frame: Frame, link: Link) -> None:
    if frame.has(0, 4) and frame.u8(0) >> 4 != 1:
        _as_ethernet(frame, link, 0 if frame.u16(0) else 4)


BY_PROTOCOL: dict[int, tuple[str, Open]] = {
    4: ("ipip", _ipv4),
    41: ("6in4", _ipv6),
    47: ("gre", _gre),
}
BY_PORT: dict[int, tuple[str, Open]] = {
    2152: ("gtp", _gtp),
    3544: ("teredo", _teredo),
    4789: ("vxlan", _vxlan),
    6081: ("geneve", _geneve),
    8472: ("vxlan", _vxlan),
}
NAMES = frozenset({"pw", *(name for name, _ in [*BY_PROTOCOL.values(), *BY_PORT.values()])})
OF_LINK_NETWORK_AND_PORTS = frozenset(
    {
        *("srcMAC", "destMAC", "etherType", "vlan", "inner_vlan", "mpls_label", "ipversion"),
        *("hdr_length", "tos", "dscp", "ecn", "total_length", "id", "dont_frag", "more_frag"),
        *("offset", "ttl", "protocol", "srcIP", "destIP", "flow_label", "srcPort", "destPort"),
        "data_length",
    }
)


def inside(record: Record, decapsulate: str) -> Layers | None:
    """The same, as a query says it: `vxlan,gre`, `all`, `gre:2`."""
    return parse_inside(record, *names_of(decapsulate))


def names_of(decapsulate: str) -> tuple[Collection[str], int]:
    """Which tunnels are opened, and how many of them."""
    names, _, depth = decapsulate.partition(":")
    return NAMES if names == "all" else names.split(","), int(depth or 4)


def parse_inside(record: Record, tunnels: Collection[str], depth: int) -> Layers | None:
    """Take a record apart down to what is in at most `depth` tunnels of these names."""
    outermost = innermost = parse(record)
    if outermost is None or innermost is None:
        return None
    for _ in range(depth):
        inner = opened(innermost, tunnels)
        if inner is None:
            break
        innermost = inner
    if innermost is outermost:
        return outermost
    return with_outer(innermost, outermost)


def with_outer(innermost: Layers, outermost: Layers) -> Layers:
    """The packet with the fields of the one that was captured."""
    own = outermost.as_protocol("DataProtocol") or outermost.as_protocol("IP")
    fields = own or outermost.packet
    outer = {f"outer_{name}": fields[name] for name in OF_LINK_NETWORK_AND_PORTS & fields.keys()}
    packet = innermost.packet | {"caplen": outermost.packet["caplen"]}
    return replace(innermost, packet=packet, outer=outer)


def opened(layers: Layers, tunnels: Collection[str]) -> Layers | None:
    """The packet in the tunnel that a packet is of, or None."""
    found = _tunnel(layers)
    if found is None or found[0] not in tunnels:
        return None
    _, open_, start, end = found
    data = layers.frame.data[start:end]
    frame = Frame(data, min(layers.frame.end, start + len(data)) - start)
    link = Link(fields={"vlan": 0, "inner_vlan": 0})
    open_(frame, link)
    inner = layers_of(layers.record, frame, link)
    return inner if inner.is_ethernet or inner.network is not None else None


def _tunnel(layers: Layers) -> tuple[str, Open, int, int] | None:
    """Its name, and from where to where it carries something."""
    network = layers.network
    if network is None:
        start = layers.behind_labels
        return None if start is None else ("pw", _pseudowire, start, len(layers.frame.data))
    if network.is_later_fragment:
        return None
    if network.protocol in BY_PROTOCOL:
        name, open_ = BY_PROTOCOL[network.protocol]
        return name, open_, network.payload_at, network.payload_end
    if layers.transport_name != "UDP":
        return None
    to, of = layers.transport["destPort"], layers.transport["srcPort"]
    port = to if to in BY_PORT else of if of == 3544 else None
    if port is None:
        return None
    start = network.payload_at + 8
    size = min(network.payload_end - start, layers.transport["data_length"])
    return *BY_PORT[port], start, start + size

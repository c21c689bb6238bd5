# SPDX-License-Identifier: Apache-2.0
"""One function for each link type: from the first byte of a packet to what follows the link."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tests.oracle import layouts
from tests.oracle.encapsulation import (
    walk_by_nibble,
    walk_ethertype,
    walk_llc,
    walk_ppp,
    walk_protocol,
    walk_snap,
)
from tests.oracle.frame import Frame, Link
from tests.oracle.values import Mac
from tests.oracle.wireless import walk_80211, walk_radiotap

AF_INET = 2
AF_INET6 = frozenset({10, 23, 24, 28, 30})
"""Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS."""

HARDWARE_WITHOUT_ETHERTYPE = frozenset({770, 803, 824})
"""ARPHRD of frame relay, radiotap and netlink: the protocol word means something else."""

LLC_PROTOCOL = 4
UNNUMBERED, NLPID_SNAP, NLPID_OF_IP = 3, 0x80, {0xCC: 4, 0x8E: 6}
NFLOG_PAYLOAD = 9


def ethernet(frame: Frame, link: Link) -> None:
    """The whole header makes it a frame of Ethernet."""
    if not frame.has(0, layouts.ETHERNET.size):
        return
    header = layouts.ETHERNET.read(frame.data, 0)
    link.is_ethernet = True
    link.fields["destMAC"] = Mac(int.from_bytes(header["dst"], "big"))
    link.fields["srcMAC"] = Mac(int.from_bytes(header["src"], "big"))
    walk_ethertype(frame, link, header["type"], layouts.ETHERNET.size)


def _raw(frame: Frame, link: Link) -> None:
    walk_by_nibble(frame, link, 0)


def _ipv4(frame: Frame, link: Link) -> None:
    link.found(4, 0)


def _ipv6(frame: Frame, link: Link) -> None:
    link.found(6, 0)


def _loopback(frame: Frame, link: Link) -> None:
    """NULL has the byte order of the host that captured, LOOP that of the network.

    Either is taken in both orders, for no address family is another one's mirror image.
    """
    if not frame.has(0, 4):
        return
    families = {struct.unpack_from(order + "I", frame.data, 0)[0] for order in "<>"}
    if AF_INET in families:
        link.found(4, 4)
    elif families & AF_INET6:
        link.found(6, 4)


def _linux_cooked(frame: Frame, link: Link) -> None:
    if frame.has(0, layouts.SLL.size):
        header = layouts.SLL.read(frame.data, 0)
        _cooked(frame, link, header["hrd"], header["ethtype"], layouts.SLL.size)


def _linux_cooked_2(frame: Frame, link: Link) -> None:
    if frame.has(0, layouts.SLL2.size):
        header = layouts.SLL2.read(frame.data, 0)
        _cooked(frame, link, header["hrd"], header["ethtype"], layouts.SLL2.size)


def _cooked(frame: Frame, link: Link, hardware: int, protocol: int, at: int) -> None:
    if hardware in HARDWARE_WITHOUT_ETHERTYPE:
        return
    if protocol == LLC_PROTOCOL:
        link.fields["etherType"] = protocol
        walk_llc(frame, link, at)
    else:
        walk_ethertype(frame, link, protocol, at)


def _ppp(frame: Frame, link: Link) -> None:
    walk_ppp(frame, link, 0)


def _cisco_hdlc(frame: Frame, link: Link) -> None:
    if frame.has(0, 4):
        walk_protocol(frame, link, frame.u16(2), 4)


def _frame_relay(frame: Frame, link: Link) -> None:
    """Q.922's address ends with its first odd byte, the second at the earliest."""
    address = next((n for n in range(1, 5) if frame.has(0, n) and frame.u8(n - 1) & 1), 1)
    if address == 1 or not frame.has(address, 1):
        return
    if frame.u8(address) != UNNUMBERED:
        if frame.has(address, 2):
            walk_protocol(frame, link, frame.u16(address), address + 2)
        return
    at = address + 1
    if frame.has(at, 1) and frame.u8(at) == 0:
        at += 1
    if frame.has(at, 1):
        _nlpid(frame, link, frame.u8(at), at + 1)


def _nlpid(frame: Frame, link: Link, nlpid: int, at: int) -> None:
    if nlpid in NLPID_OF_IP:
        link.found(NLPID_OF_IP[nlpid], at)
    elif nlpid == NLPID_SNAP:
        walk_snap(frame, link, at)


def _ppi(frame: Frame, link: Link) -> None:
    if frame.has(0, 8) and frame.u8(0) == 0:
        _, size, inner = struct.unpack_from("<HHI", frame.data, 0)
        if size >= 8 and frame.has(0, size):
            _inner_link(frame, link, inner, size)


def _pktap(frame: Frame, link: Link) -> None:
    if frame.has(0, 12):
        size, kind, inner = struct.unpack_from("<III", frame.data, 0)
        if kind == 1 and size >= 12 and frame.has(0, size):
            _inner_link(frame, link, inner, size)


def _inner_link(frame: Frame, link: Link, number: int, size: int) -> None:
    """What stands behind a header that names it: as a frame of its own, at another place."""
    if number not in NAMED_BY_OTHERS or (number == 1 and size > 0xFFFF):
        return
    walk_from(frame, link, size, LINK_TYPES[number])


def walk_from(frame: Frame, link: Link, at: int, walk: Callable[[Frame, Link], None]) -> None:
    """Read what begins at `at` as a frame of its own."""
    walk(Frame(frame.data[at:], frame.end - at), link)
    link.ip_at += at
    if link.behind_labels is not None:
        link.behind_labels += at


def _pflog(frame: Frame, link: Link) -> None:
    """The firewall's header, its length rounded up to words; older ones had no length."""
    if frame.has(0, 2) and frame.u8(0) >= 45:
        size = -(-frame.u8(0) // 4) * 4
        if frame.has(0, size):
            _address_family(link, frame.u8(1), size)


def _nflog(frame: Frame, link: Link) -> None:
    """Attributes in either byte order: the byte of the type that is not zero tells which."""
    if not frame.has(0, 4) or frame.u8(1) != 0:
        return
    at = 4
    while frame.has(at, 4):
        order = ">" if frame.u8(at + 2) == 0 else "<"
        size, kind = struct.unpack_from(order + "HH", frame.data, at)
        if size < 4:
            return
        if kind == NFLOG_PAYLOAD:
            _address_family(link, frame.u8(0), at + 4)
            return
        at += -(-size // 4) * 4


def _address_family(link: Link, family: int, at: int) -> None:
    if family == AF_INET:
        link.found(4, at)
    elif family in AF_INET6:
        link.found(6, at)


def _ip_over_infiniband(frame: Frame, link: Link) -> None:
    if frame.has(0, 44):
        walk_protocol(frame, link, frame.u16(40), 44)


def _sun_atm(frame: Frame, link: Link) -> None:
    """LAN emulation (1) is Ethernet behind two bytes; 2 is LLC."""
    if not frame.has(0, 4):
        return
    kind = frame.u8(0) & 15
    if kind == 2:
        walk_llc(frame, link, 4)
    elif kind == 1 and frame.has(4, 2) and frame.u16(4) != 0xFF00:
        _inner_link(frame, link, 1, 6)


def _token_ring(frame: Frame, link: Link) -> None:
    if not frame.has(0, 14) or frame.u8(1) & 0xC0 != 0x40:
        return
    route = 0
    if frame.u8(8) & 0x80:
        route = frame.u8(14) & 31 if frame.has(14, 2) else 0
        if route < 2 or not frame.has(14, route):
            return
    walk_llc(frame, link, 14 + route)


def _fddi(frame: Frame, link: Link) -> None:
    if frame.has(0, 13) and frame.u8(0) & 0xF0 == 0x50:
        walk_llc(frame, link, 13)


LINK_TYPES: dict[int, Callable[[Frame, Link], None]] = {
    0: _loopback,
    1: ethernet,
    9: _ppp,
    12: _raw,
    14: _raw,
    50: _ppp,
    101: _raw,
    105: lambda frame, link: walk_80211(frame, link, 0),
    108: _loopback,
    113: _linux_cooked,
    127: walk_radiotap,
    228: _ipv4,
    229: _ipv6,
    276: _linux_cooked_2,
    6: _token_ring,
    10: _fddi,
    104: _cisco_hdlc,
    107: _frame_relay,
    117: _pflog,
    123: _sun_atm,
    192: _ppi,
    239: _nflog,
    242: _ip_over_infiniband,
    258: _pktap,
}
"""The values of libpcap's registry (LINKTYPE_*); 12 and 14 are what some systems write for raw."""

SUPPORTED = frozenset(LINK_TYPES)
NAMED_BY_OTHERS = frozenset({0, 1, 6, 9, 10, 12, 14, 50, 101, 105, 108, 127})
"""What PPI and PKTAP may hold."""


def walk_link(frame: Frame, link_type: int) -> Link | None:
    """What lies before IP, or None for a link type that is not supported."""
    if link_type not in LINK_TYPES:
        return None
    link = Link(fields={"vlan": 0, "inner_vlan": 0})
    LINK_TYPES[link_type](frame, link)
    if link.fields.get("etherType") == 0 and not link.is_ethernet:
        del link.fields["etherType"]  # Linux writes 0 where no protocol is named
    return link

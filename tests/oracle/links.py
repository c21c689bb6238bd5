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


def _ethernet(frame: Frame, link: Link) -> None:
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


LINK_TYPES: dict[int, Callable[[Frame, Link], None]] = {
    0: _loopback,
    1: _ethernet,
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
}
"""The values of libpcap's registry (LINKTYPE_*); 12 and 14 are what some systems write for raw."""

SUPPORTED = frozenset(LINK_TYPES)


def walk_link(frame: Frame, link_type: int) -> Link | None:
    """What lies before IP, or None for a link type that is not supported."""
    if link_type not in LINK_TYPES:
        return None
    link = Link(fields={"vlan": 0, "inner_vlan": 0})
    LINK_TYPES[link_type](frame, link)
    if link.fields.get("etherType") == 0 and not link.is_ethernet:
        del link.fields["etherType"]  # Linux writes 0 where no protocol is named
    return link

# SPDX-License-Identifier: Apache-2.0
"""Header layouts as dpkt knows them.

dpkt's tables of fields are trusted and used; its walk from header to header is not. It stops at
lengths it does not believe, swallows errors (a TCP header that is cut short becomes a payload of
bytes), skips a VLAN tag inside a tag, knows no MPLS below PPP, and takes the payload's length from
the captured bytes. So each header is unpacked here from its table, and every step from one header
to the next is written out in this package.
"""

from __future__ import annotations

import struct
from typing import Any

import dpkt


class Layout:
    """The fixed part of a header: its size in bytes and its named fields."""

    def __init__(self, header: type[dpkt.Packet]) -> None:
        self.size: int = header.__hdr_len__
        self._struct = struct.Struct(header.__hdr_fmt__)
        self._names = tuple(name for name, *_ in header.__hdr__)

    def read(self, data: bytes, at: int) -> dict[str, Any]:
        """The fields of the header at `at`; the caller has checked that it is whole."""
        return dict(zip(self._names, self._struct.unpack_from(data, at), strict=True))


AH = Layout(dpkt.ah.AH)
ETHERNET = Layout(dpkt.ethernet.Ethernet)
ICMP = Layout(dpkt.icmp.ICMP)
IPV4 = Layout(dpkt.ip.IP)
IPV6 = Layout(dpkt.ip6.IP6)
IPV6_FRAGMENT = Layout(dpkt.ip6.IP6FragmentHeader)
LLC = Layout(dpkt.llc.LLC)
PPPOE = Layout(dpkt.pppoe.PPPoE)
SLL = Layout(dpkt.sll.SLL)
SLL2 = Layout(dpkt.sll2.SLL2)
TCP = Layout(dpkt.tcp.TCP)
UDP = Layout(dpkt.udp.UDP)

# SPDX-License-Identifier: Apache-2.0
"""What may stand between a link's header and IP: tags, MPLS, PPPoE, PPP, LLC with SNAP.

Pseudowires, VN-tag, E-tag, NSH and MACsec are not walked. Every step goes forward by at least one
byte, so none of this can loop.
"""

from __future__ import annotations

from tests.oracle import layouts
from tests.oracle.frame import Frame, Link

TAGS = frozenset({0x8100, 0x88A8, 0x9100, 0x9200})
TAG_NAMES = ("vlan", "inner_vlan")

IPV4, IPV6 = 0x0800, 0x86DD
MPLS = frozenset({0x8847, 0x8848})
PPPOE_SESSION = 0x8864
MAX_8023_LENGTH = 1500

MPLS_ENTRY_BYTES = 4
MPLS_BOTTOM = 0x100

PPP_IPV4, PPP_IPV6 = 0x0021, 0x0057
PPP_MPLS = frozenset({0x0281, 0x0283})
PPP_ADDRESS_CONTROL = 0xFF03

SNAP = (0xAA, 0xAA, 0x03)
SNAP_BYTES = 8
SNAP_ORGANISATIONS = frozenset({b"\0\0\0", b"\0\0\xf8"})
"""Ethernet's own (RFC 1042) and the one for bridged tunnels (802.1H)."""


def walk_ethertype(frame: Frame, link: Link, ethertype: int, at: int) -> None:
    """From an EtherType whose payload begins at `at`; it is the field if no tag follows."""
    link.fields["etherType"] = ethertype
    walk_tags(frame, link, ethertype, at)


def walk_tags(frame: Frame, link: Link, ethertype: int, at: int) -> None:
    """What an EtherType names, tags first.

    A tag that is not whole is no tag: what it should have held is not known.
    """
    while ethertype in TAGS and frame.has(at, 4):
        if link.tags < len(TAG_NAMES):
            link.fields[TAG_NAMES[link.tags]] = frame.u16(at) & 0x0FFF
        ethertype, at, link.tags = frame.u16(at + 2), at + 4, link.tags + 1
        link.fields["etherType"] = ethertype
    _walk_payload(frame, link, ethertype, at)


def _walk_payload(frame: Frame, link: Link, ethertype: int, at: int) -> None:
    if ethertype == IPV4:
        link.found(4, at)
    elif ethertype == IPV6:
        link.found(6, at)
    elif ethertype in MPLS:
        _walk_mpls(frame, link, at)
    elif ethertype == PPPOE_SESSION:
        _walk_pppoe(frame, link, at)
    elif ethertype <= MAX_8023_LENGTH:
        walk_llc(frame, link, at)


def _walk_mpls(frame: Frame, link: Link, at: int) -> None:
    """The stack down to its last entry; `mpls_label` is the label on top of it."""
    while frame.has(at, MPLS_ENTRY_BYTES):
        entry, at = frame.u32(at), at + MPLS_ENTRY_BYTES
        link.fields.setdefault("mpls_label", entry >> 12)
        if entry & MPLS_BOTTOM:
            link.behind_labels = at
            walk_by_nibble(frame, link, at)
            return


def walk_by_nibble(frame: Frame, link: Link, at: int) -> None:
    """IP of the version that its first four bits say."""
    if frame.has(at, 1) and frame.u8(at) >> 4 in (4, 6):
        link.found(frame.u8(at) >> 4, at)


def _walk_pppoe(frame: Frame, link: Link, at: int) -> None:
    if not frame.has(at, layouts.PPPOE.size):
        return
    if layouts.PPPOE.read(frame.data, at)["code"] == 0:
        walk_ppp(frame, link, at + layouts.PPPOE.size)


def walk_ppp(frame: Frame, link: Link, at: int) -> None:
    """PPP with or without address and control, its protocol in one byte or two (RFC 1661 §6.5)."""
    if frame.has(at, 2) and frame.u16(at) == PPP_ADDRESS_CONTROL:
        at += 2
    if frame.has(at, 1) and frame.u8(at) & 1:
        _walk_ppp_payload(frame, link, frame.u8(at), at + 1)
    elif frame.has(at, 2):
        _walk_ppp_payload(frame, link, frame.u16(at), at + 2)


def _walk_ppp_payload(frame: Frame, link: Link, protocol: int, at: int) -> None:
    if protocol == PPP_IPV4:
        link.found(4, at)
    elif protocol == PPP_IPV6:
        link.found(6, at)
    elif protocol in PPP_MPLS:
        _walk_mpls(frame, link, at)


def walk_llc(frame: Frame, link: Link, at: int) -> None:
    """LLC whose SNAP header names an EtherType; `etherType` stays what stood before it."""
    if not frame.has(at, SNAP_BYTES):
        return
    header = layouts.LLC.read(frame.data, at)
    if (header["dsap"], header["ssap"], header["ctl"]) != SNAP:
        return
    walk_snap(frame, link, at + 3)


def walk_snap(frame: Frame, link: Link, at: int) -> None:
    """Organisation and type."""
    if not frame.has(at, SNAP_BYTES - 3):
        return
    ethertype = frame.u16(at + 3)
    if frame.data[at : at + 3] in SNAP_ORGANISATIONS and ethertype > MAX_8023_LENGTH:
        walk_tags(frame, link, ethertype, at + SNAP_BYTES - 3)


def walk_protocol(frame: Frame, link: Link, ethertype: int, at: int) -> None:
    """From an EtherType that is never a length."""
    link.fields["etherType"] = ethertype
    if ethertype > MAX_8023_LENGTH:
        walk_tags(frame, link, ethertype, at)

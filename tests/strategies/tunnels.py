# SPDX-License-Identifier: Apache-2.0
"""Frames with tunnels, built by scapy, whose dissection says what is in them."""

from __future__ import annotations

from functools import cache
from ipaddress import ip_address
from typing import Any

from scapy.compat import raw
from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header, GTPEchoRequest, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import ARP, GRE, GRE_PPTP, Dot1Q, Ether
from scapy.layers.ppp import PPP
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet

GREY = {"src": "0a:00:00:00:00:01", "dst": "0a:00:00:00:00:02"}


def _outer(last: int = 1) -> Any:
    return Ether(**GREY) / IP(src=f"192.0.2.{last}", dst="192.0.2.99", ttl=33)


def _outer_6() -> Any:
    return Ether(**GREY) / IPv6(src="2001:db8:1::1", dst="2001:db8:1::2", hlim=44)


def _tcp(last: int = 1) -> Any:
    ends = {"src": f"10.0.0.{last}", "dst": "10.0.0.100"}
    return IP(**ends) / TCP(sport=4000 + last, dport=80, flags="PA") / (b"data" * last)


def _udp_6() -> Any:
    ends = {"src": "2001:db8::1", "dst": "2001:db8::2"}
    return IPv6(**ends) / UDP(sport=5353, dport=53) / b"question"


def _frame(inner: Any) -> Any:
    return Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / inner


def _udp(port: int) -> Any:
    return UDP(sport=50_000, dport=port)


def _teredo(head: bytes) -> Any:
    return _outer() / _udp(3544) / (head + raw(_udp_6()))


@cache
def tunnelled() -> dict[str, Any]:
    """Packets of scapy by what is shown; in each the inner packet can be read."""
    vxlan, geneve, gtp = VXLAN(vni=7, flags=8), GENEVE(vni=8), GTP_U_Header(teid=9)
    sequenced = GRE(proto=0x88BE, seqnum_present=1, sequence_number=1)
    container = GTPPDUSessionContainer(type=0, QFI=5)
    options = GENEVE(vni=8, options=b"\1\2\3\1\0\0\0\1")
    arp = ARP(hwsrc="02:00:00:00:00:0a", psrc="10.0.0.1", pdst="10.0.0.2")
    return {
        "vxlan": _outer() / _udp(4789) / vxlan / _frame(_tcp()),
        "vxlan at Linux' port, tagged": _outer() / _udp(8472) / vxlan
        / (Ether(**GREY) / Dot1Q(vlan=12) / _udp_6()),
        "vxlan over IPv6": _outer_6() / _udp(4789) / vxlan / _frame(_tcp(2)),
        "vxlan with ARP": _outer() / _udp(4789) / vxlan / _frame(arp),
        "geneve": _outer() / _udp(6081) / geneve / _frame(_tcp(3)),
        "geneve with options": _outer() / _udp(6081) / options / _frame(_tcp(3)),
        "geneve with IP": _outer() / _udp(6081) / GENEVE(proto=0x0800) / _tcp(4),
        "gre": _outer() / GRE() / _tcp(5),
        "gre with everything": _outer() / GRE(chksum_present=1, key_present=1, key=3,
                                              seqnum_present=1) / _udp_6(),
        "gre with Ethernet": _outer() / GRE(proto=0x6558, key_present=1, key=77) / _frame(_tcp(6)),
        "gre with MPLS": _outer() / GRE(proto=0x8847) / MPLS(label=21, s=1) / _tcp(7),
        "gre over IPv6 with options": _outer_6() / IPv6ExtHdrDestOpt(nh=47) / GRE() / _tcp(8),
        "pptp": _outer() / GRE_PPTP(seqnum_present=1, sequence_number=1) / PPP(proto=0x21)
        / _tcp(9),
        "erspan I": _outer() / GRE(proto=0x88BE) / _frame(_tcp(10)),
        "erspan II": _outer() / sequenced / ERSPAN_II(session_id=4) / _frame(_tcp(11)),
        "erspan III": _outer() / GRE(proto=0x22EB, seqnum_present=1) / ERSPAN_III(o=0)
        / _frame(_tcp(12)),
        "gtp": _outer() / _udp(2152) / gtp / _tcp(13),
        "gtp with a container": _outer() / _udp(2152) / GTP_U_Header(teid=9, E=1,
                                                                     next_ex=0x85)
        / container / _udp_6(),
        "ipip": _outer() / _tcp(14),
        "ip in IPv6": _outer_6() / _tcp(15),
        "6in4": _outer() / _udp_6(),
        "6in6": _outer_6() / _udp_6(),
        "teredo": _teredo(b""),
        "teredo with an origin": _teredo(bytes.fromhex("0000f227bffaeffd")),
        "teredo with both": _teredo(bytes.fromhex("00010000") + bytes(9)
                                    + bytes.fromhex("0000f227bffaeffd")),
        "pw": Ether(**GREY) / MPLS(label=16, s=0) / MPLS(label=17, s=1) / EoMCW()
        / _frame(_tcp(16)),
        "pw without a control word": Ether(**GREY) / MPLS(label=18, s=1) / _frame(_tcp(17)),
        "pw whose address looks like IP": Ether(**GREY) / MPLS(label=18, s=1)
        / (Ether(src="0a:00:00:00:00:03", dst="41:00:00:00:00:01") / _tcp(18)),
        "nested": _outer() / _udp(4789) / vxlan / _frame(_outer(2)[IP] / GRE() / _tcp(19)),
        "nested twice": _outer() / GRE() / _outer(2)[IP] / _outer(3)[IP] / _tcp(20),
        "icmp inside": _outer() / GRE() / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(),
    }  # fmt: skip


@cache
def closed() -> dict[str, Any]:
    """Those that hold nothing, or not yet, or are none."""
    vxlan = VXLAN(vni=7, flags=8)
    return {
        "vxlan without a number": _outer() / _udp(4789) / VXLAN(flags=0) / _frame(_tcp()),
        "vxlan that ends before the padding": _padded(_outer() / _udp(4789) / vxlan),
        "geneve control": _outer() / _udp(6081) / (bytes.fromhex("0080655800000100")
                                                    + raw(_frame(_tcp()))),
        "geneve of another version": _outer() / _udp(6081) / GENEVE(version=1) / _frame(_tcp()),
        "gre keepalive": _outer() / GRE(proto=0),
        "gre with a route": _outer() / GRE(routing_present=1) / _tcp(),
        "gtp echo": _outer() / _udp(2152) / GTP_U_Header(gtp_type=1) / GTPEchoRequest(),
        "gtp with an endless extension": _outer() / _udp(2152)
        / bytes.fromhex("34ff000c00000009 00000085 00000085 00000085".replace(" ", "")),
        "ipip in nothing": Ether(**GREY) / IP(src="192.0.2.1", dst="192.0.2.2", proto=4)
        / b"\x45\0",
        "a port that is no tunnel's": _outer() / UDP(sport=4789, dport=4000) / vxlan
        / _frame(_tcp()),
        "a later fragment": Ether(**GREY) / IP(src="192.0.2.1", dst="192.0.2.2", frag=100, proto=47)
        / (raw(GRE() / _tcp())),
        "a channel beside a pseudowire": Ether(**GREY) / MPLS(label=18, s=1)
        / bytes.fromhex("1000000000000000") / bytes(20),
        "nothing behind the labels": Ether(**GREY) / MPLS(label=18, s=1),
        "no tunnel": _frame(_tcp(21)),
    }  # fmt: skip


def as_bytes() -> dict[str, bytes]:
    """All of them."""
    return {name: raw(packet) for name, packet in (tunnelled() | closed()).items()}


def _padded(packet: Any) -> Any:
    return Ether(raw(packet) + bytes(18))


def innermost(packet: Packet) -> dict[str, str]:
    """The addresses and ports of the last header of IP that scapy finds in a frame's bytes."""
    network = None
    layer: Any = Ether(raw(packet))
    while layer:
        if type(layer) in (IP, IPv6):
            network = layer
        layer = layer.payload
    if network is None:
        return {}
    found = {"srcIP": str(ip_address(network.src)), "destIP": str(ip_address(network.dst))}
    ports = network.getlayer(TCP) or network.getlayer(UDP)
    if ports is not None:
        found |= {"srcPort": str(ports.sport), "destPort": str(ports.dport)}
    return found

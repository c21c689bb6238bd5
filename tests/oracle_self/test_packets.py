# SPDX-License-Identifier: Apache-2.0
"""The table of GSQL §8, row by row, on packets made for each."""

from __future__ import annotations

import struct

import pytest

from tests.oracle.packet import FieldAbsentError, Layers, parse
from tests.oracle.records import Record
from tests.oracle.values import Inet, Ip, Ipv6
from tests.strategies import frames

SOURCE, DESTINATION = 0x0A000001, 0xC0A80102
SOURCE_6, DESTINATION_6 = bytes(15) + b"\x01", bytes.fromhex("20010db8") + bytes(12)
TCP = frames.tcp(1234, 80, b"hello", flags=0x12)
UDP = frames.udp(53, 5353, b"answer")


def taken_apart(data: bytes, link_type: int = 1, length: int | None = None) -> Layers:
    wire = len(data) if length is None else length
    layers = parse(Record(0, 24, 61_000_000_001, len(data), wire, link_type, 0, data))
    assert layers is not None
    return layers


def v4(protocol: int = 6, payload: bytes = TCP, **fields: object) -> bytes:
    return frames.ipv4(SOURCE, DESTINATION, protocol, payload, **fields)


def v6(protocol: int = 6, payload: bytes = TCP, **fields: object) -> bytes:
    return frames.ipv6(SOURCE_6, DESTINATION_6, protocol, payload, **fields)


def of_protocols(layers: Layers) -> set[str]:
    names = ("ETH", "IPV4", "IPV6", "IP", "TCP", "UDP", "ICMP", "DataProtocol")
    return {name for name in names if layers.as_protocol(name) is not None}


def test_tcp_over_ethernet() -> None:
    layers = taken_apart(frames.ethernet(0x0800, v4()))
    packet = layers.as_protocol("TCP")
    assert packet["srcIP"] == Inet(bytes(10) + b"\xff\xff\x0a\0\0\x01")
    assert str(packet["srcIP"]) == "10.0.0.1"
    assert layers.as_protocol("IPV4")["destIP"] == Ip(DESTINATION)
    assert (packet["srcPort"], packet["dest_port"], packet["data_length"]) == (1234, 80, 5)
    assert (packet["syn"], packet["ack"], packet["fin"], packet["flags"]) == (1, 1, 0, 0x12)
    assert packet["TCP_data"] == b"hello"
    assert (packet["time"], packet["time_ms"], packet["timestamp"]) == (61, 61000, 61_000_000_001)
    assert str(packet["timestamp"]) == "1970-01-01T00:01:01.000000001Z"
    assert (packet["etherType"], packet["vlan"], packet["inner_vlan"]) == (0x0800, 0, 0)
    assert str(packet["srcMAC"]) == "02:00:00:00:00:02"
    assert of_protocols(layers) == {"ETH", "IPV4", "IP", "TCP", "DataProtocol"}


def test_a_field_may_be_absent_or_unknown() -> None:
    packet = taken_apart(frames.ethernet(0x0800, v4())).as_protocol("IPV4")
    with pytest.raises(FieldAbsentError):
        packet["mpls_label"]
    with pytest.raises(KeyError):
        packet["srcPort"]


def test_ipv6_and_inet() -> None:
    mapped = bytes(10) + b"\xff\xff\x0a\0\0\x01"
    data = frames.ethernet(0x86DD, frames.ipv6(mapped, DESTINATION_6, 17, UDP))
    layers = taken_apart(data)
    assert str(layers.as_protocol("UDP")["srcIP"]) == "10.0.0.1"
    assert layers.as_protocol("IPV6")["srcIP"] == Ipv6(mapped)
    assert str(layers.as_protocol("IPV6")["destIP"]) == "2001:db8::"
    assert layers.as_protocol("UDP")["data_length"] == 6


def test_tags() -> None:
    tags = ((0x88A8, 0x3001), (0x8100, 0x0002), (0x9100, 3), (0x9200, 4))
    packet = taken_apart(frames.ethernet(0x0800, v4(), tags)).as_protocol("TCP")
    assert (packet["vlan"], packet["inner_vlan"], packet["etherType"]) == (1, 2, 0x0800)


CARRIERS = {
    "mpls": frames.ethernet(0x8847, frames.mpls((17, 18, 19), v4())),
    "pppoe": frames.ethernet(0x8864, frames.pppoe(0x21, v4())),
    "snap": frames.ethernet(60, frames.snap(0x0800, v4())),
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_between_ethernet_and_ip(carrier: str) -> None:
    packet = taken_apart(CARRIERS[carrier]).as_protocol("TCP")
    assert packet["srcPort"] == 1234
    assert packet.get("mpls_label") == (17 if carrier == "mpls" else None)


NOT_WALKED = {
    "pseudowire": frames.ethernet(0x8847, frames.mpls((17,), bytes(4) + v4())),
    "pppoe discovery": frames.ethernet(0x8863, frames.pppoe(0x21, v4())),
    "macsec": frames.ethernet(0x88E5, v4()),
    "llc": frames.ethernet(60, b"\x42\x42\x03" + v4()),
    "arp": frames.ethernet(0x0806, v4()),
}


@pytest.mark.parametrize("carrier", NOT_WALKED)
def test_not_walked(carrier: str) -> None:
    assert of_protocols(taken_apart(NOT_WALKED[carrier])) == {"ETH"}


PPP_HDLC = b"\xff\x03\x00\x21"
WIRELESS = b"\x08\x02" + bytes(22) + frames.snap(0x0800, v4())
QOS = b"\x88\x02" + bytes(22) + b"\0\0" + frames.snap(0x0800, v4())
PADDED_QOS = b"\x88\x02" + bytes(22) + bytes(4) + frames.snap(0x0800, v4())
LINKS = {
    "raw": (101, v4()),
    "raw 12": (12, v4()),
    "raw 14": (14, v4()),
    "null": (0, b"\x02\0\0\0" + v4()),
    "null big-endian": (0, b"\0\0\0\x02" + v4()),
    "loop": (108, b"\0\0\0\x02" + v4()),
    "cooked": (113, struct.pack("!HHH8sH", 0, 1, 6, b"", 0x0800) + v4()),
    "cooked tagged": (113, struct.pack("!HHH8sHHH", 0, 1, 6, b"", 0x8100, 5, 0x0800) + v4()),
    "cooked 2": (276, struct.pack("!HHIHBB8s", 0x0800, 0, 1, 1, 0, 6, b"") + v4()),
    "ppp": (9, b"\x00\x21" + v4()),
    "ppp short": (9, b"\x21" + v4()),
    "ppp framed": (9, PPP_HDLC + v4()),
    "ppp serial": (50, PPP_HDLC + v4()),
    "ppp mpls": (9, b"\x02\x81" + frames.mpls((5,), v4())),
    "802.11": (105, WIRELESS),
    "802.11 quality of service": (105, QOS),
    "radiotap": (127, struct.pack("<BBHI", 0, 0, 8, 0) + WIRELESS),
    "radiotap padded": (
        127,
        struct.pack("<BBHIQB", 0, 0, 18, 3, 0, 0x20) + b"\0" + PADDED_QOS,
    ),
    "ipv4": (228, v4()),
}


@pytest.mark.parametrize("link", LINKS)
def test_links(link: str) -> None:
    link_type, data = LINKS[link]
    layers = taken_apart(data, link_type)
    assert layers.as_protocol("TCP")["destPort"] == 80
    assert layers.as_protocol("ETH") is None


@pytest.mark.parametrize(
    ("link_type", "data"),
    [(229, v6()), (0, b"\x1e\0\0\0" + v6()), (101, v6()), (9, b"\x00\x57" + v6())],
)
def test_links_with_ipv6(link_type: int, data: bytes) -> None:
    assert taken_apart(data, link_type).as_protocol("TCP")["ipversion"] == 6


def test_links_not_supported_are_undecodable() -> None:
    assert parse(Record(0, 24, 0, 4, 4, 147, 0, bytes(4))) is None
    assert parse(Record(0, 24, None, 4, 4, 1, 0, bytes(4))) is None


IS_NO_IPV4 = {
    "version": b"\x55" + v4()[1:],
    "header length": b"\x44" + v4()[1:],
    "total length": v4(total_length=19),
    "header cut": v4()[:19],
    "options cut": v4(options=bytes(8))[:27],
    "ipv6 under the ethertype of ipv4": v6(),
}


@pytest.mark.parametrize("name", IS_NO_IPV4)
def test_no_ipv4(name: str) -> None:
    assert of_protocols(taken_apart(frames.ethernet(0x0800, IS_NO_IPV4[name]))) == {"ETH"}


def test_ipv4_total_length() -> None:
    offload = taken_apart(frames.ethernet(0x0800, v4(total_length=0)), length=2000)
    assert offload.as_protocol("TCP")["data_length"] == 2000 - 14 - 20 - 20
    beyond = taken_apart(frames.ethernet(0x0800, v4(total_length=9000)))
    assert beyond.as_protocol("TCP")["data_length"] == 9000 - 20 - 20
    padded = taken_apart(frames.ethernet(0x0800, v4() + bytes(20)))
    assert padded.as_protocol("TCP")["data_length"] == 5
    assert padded.as_protocol("TCP")["TCP_data"] == b"hello"


def test_data_length_is_not_that_of_the_captured_bytes() -> None:
    data = frames.ethernet(0x0800, v4())
    assert taken_apart(data[:54], length=len(data)).as_protocol("TCP")["data_length"] == 5


def test_fragments() -> None:
    first = taken_apart(frames.ethernet(0x0800, v4(more=True)))
    assert first.as_protocol("TCP")["data_length"] == 5
    later = taken_apart(frames.ethernet(0x0800, v4(offset=1)))
    assert of_protocols(later) == {"ETH", "IPV4", "IP"}
    assert later.as_protocol("IPV4")["protocol"] == 6


def test_fragments_of_ipv6() -> None:
    first = frames.ipv6_fragment(6, 0, True) + TCP
    assert of_protocols(taken_apart(v6(44, first), 101)) >= {"TCP"}
    later = taken_apart(v6(44, frames.ipv6_fragment(60, 9, False) + TCP), 101)
    assert of_protocols(later) == {"IPV6", "IP"}
    assert later.as_protocol("IP")["protocol"] == 60


def test_ipv6_extension_headers() -> None:
    chain = frames.ipv6_options(43) + frames.ipv6_options(60, bytes(14)) + frames.ipv6_options(51)
    ah = bytes([6, 4]) + bytes(22)
    whole = taken_apart(v6(0, chain + ah + TCP), 101)
    assert (whole.as_protocol("TCP")["protocol"], whole.as_protocol("TCP")["data_length"]) == (6, 5)
    cut = taken_apart(v6(0, chain + ah + TCP)[: 40 + 8 + 10], 101)
    assert cut.as_protocol("IPV6")["protocol"] == 43
    beyond = taken_apart(v6(0, chain + ah + TCP, payload_length=8 + 10), 101)
    assert beyond.as_protocol("IPV6")["protocol"] == 43
    assert of_protocols(taken_apart(v6()[:39], 101)) == set()


def test_ipv6_payload_length_0() -> None:
    assert of_protocols(taken_apart(v6(payload_length=0), 101)) == {"IPV6", "IP"}
    jumbo = frames.ipv6_options(6, b"\xc2\x04\0\x01\0\0") + TCP
    packet = taken_apart(v6(0, jumbo, payload_length=0), 101).as_protocol("TCP")
    assert packet["data_length"] == 5


def test_ah_in_ipv4_is_not_walked() -> None:
    packet = taken_apart(v4(51, bytes([6, 4]) + bytes(22) + TCP), 101).as_protocol("IPV4")
    assert packet["protocol"] == 51


TRANSPORTS = {
    "tcp": (v4(6, TCP), True),
    "tcp captured": (v4(6, TCP)[:39], False),
    "tcp beyond the payload": (v4(6, TCP, total_length=39), False),
    "tcp offset": (v4(6, TCP[:12] + b"\x40" + TCP[13:]), False),
    "tcp options cut": (v4(6, TCP[:12] + b"\xf0" + TCP[13:]), False),
    "udp": (v4(17, UDP), True),
    "udp captured": (v4(17, UDP)[:27], False),
    "udp length 7": (v4(17, frames.udp(1, 2, b"", 7)), False),
    "udp length 0": (v4(17, frames.udp(1, 2, b"", 0)), False),
    "udp longer than the payload": (v4(17, frames.udp(1, 2, b"", 900)), True),
    "icmp": (v4(1, b"\x08\x00\0\0"), True),
    "icmp captured": (v4(1, b"\x08\x00\0\0")[:23], False),
    "icmpv6 in ipv4": (v4(58, b"\x08\x00\0\0"), False),
    "icmpv6": (v6(58, b"\x80\x00\0\0"), True),
    "icmp in ipv6": (v6(1, b"\x80\x00\0\0"), False),
    "sctp": (v4(132, bytes(40)), False),
}


@pytest.mark.parametrize("name", TRANSPORTS)
def test_transport(name: str) -> None:
    data, is_tuple = TRANSPORTS[name]
    assert bool(of_protocols(taken_apart(data, 101)) & {"TCP", "UDP", "ICMP"}) == is_tuple


def test_udp_data_length_is_its_length_field() -> None:
    packet = taken_apart(v4(17, frames.udp(1, 2, b"abc", 900)), 101).as_protocol("UDP")
    assert (packet["data_length"], packet["UDP_data"]) == (892, b"abc")


def test_community_id_of_the_specification() -> None:
    # The baseline of the specification: 128.232.110.120:34855 to 66.35.250.204:80.
    there = frames.ipv4(0x80E86E78, 0x4223FACC, 6, frames.tcp(34855, 80))
    back = frames.ipv4(0x4223FACC, 0x80E86E78, 6, frames.tcp(80, 34855))
    for data in (there, back):
        packet = taken_apart(data, 101).as_protocol("IPV4")
        assert packet["community_id"] == "1:LQU9qZlK+B5F3KDmev6m5PMibrg="

# SPDX-License-Identifier: Apache-2.0
"""Strategies: single packets of every kind, small captures fully drawn, large ones from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.strategies import frames
from tests.strategies.files import MICROSECONDS, NANOSECONDS, Packet, pcap, pcapng

EPOCH_SECONDS = 1_700_000_000
SECOND_NS = 1_000_000_000
SNAP_LENGTH = 96


def addresses(groups: int) -> st.SearchStrategy[int]:
    """IPv4 addresses of as many hosts."""
    return st.integers(0, groups - 1).map(lambda host: 0x0A000000 + host)


def addresses_6(groups: int) -> st.SearchStrategy[bytes]:
    """IPv6 addresses; every third is an IPv4 address in IPv6 form."""
    return st.integers(0, groups - 1).map(_address_6)


def _address_6(host: int) -> bytes:
    if host % 3 == 2:
        return bytes(10) + b"\xff\xff" + (0x0A000000 + host).to_bytes(4, "big")
    return bytes.fromhex("20010db8") + host.to_bytes(12, "big")


ports = st.sampled_from([22, 53, 80, 443, 5000, 65535])
payloads = st.integers(0, 60).map(bytes)


@st.composite
def transports(draw: st.DrawFn, icmp_protocol: int = frames.ICMP) -> tuple[int, bytes]:
    """(protocol, bytes) of TCP, UDP, ICMP, or of something else."""
    kind = draw(st.sampled_from([frames.TCP, frames.UDP, icmp_protocol, 132]))
    source, destination, payload = draw(ports), draw(ports), draw(payloads)
    if kind == frames.TCP:
        return kind, frames.tcp(source, destination, payload, draw(st.integers(0, 255)))
    if kind == frames.UDP:
        return kind, frames.udp(source, destination, payload)
    return kind, frames.icmp(draw(st.integers(0, 255)), draw(st.integers(0, 15))) + payload


@st.composite
def ipv4_packets(draw: st.DrawFn, groups: int) -> bytes:
    """IPv4: mostly plain, some with options, fragments, or a length that is 0 or wrong."""
    protocol, payload = draw(transports())
    form = draw(st.sampled_from(["plain"] * 5 + ["options", "first", "later", "zero", "odd"]))
    source, destination = draw(addresses(groups)), draw(addresses(groups))
    return frames.ipv4(
        source,
        destination,
        protocol,
        payload,
        options=bytes([1] * 8) if form == "options" else b"",
        offset=5 if form == "later" else 0,
        more=form == "first",
        total_length={"zero": 0, "odd": draw(st.sampled_from([10, 19, 21, 9000]))}.get(form),
    )


@st.composite
def ipv6_packets(draw: st.DrawFn, groups: int) -> bytes:
    """IPv6: plain, with extension headers, fragmented, with a payload length of 0."""
    protocol, payload = draw(transports(frames.ICMPV6))
    form = draw(st.sampled_from(["plain"] * 4 + ["options", "first", "later", "zero"]))
    if form == "options":
        payload = frames.ipv6_options(60) + frames.ipv6_options(protocol) + payload
        protocol = 0
    elif form in ("first", "later"):
        fragment = frames.ipv6_fragment(protocol, 9 if form == "later" else 0, form == "first")
        protocol, payload = frames.FRAGMENT, fragment + payload
    source, destination = draw(addresses_6(groups)), draw(addresses_6(groups))
    length = 0 if form == "zero" else None
    return frames.ipv6(source, destination, protocol, payload, payload_length=length)


@st.composite
def frame_bytes(draw: st.DrawFn, groups: int = 4) -> bytes:
    """An Ethernet frame of any kind: IP bare, tagged, under MPLS or PPPoE, in SNAP; odd ones."""
    kind = draw(st.sampled_from(["4"] * 4 + ["6"] * 2 + ["arp", "noise"]))
    if kind == "arp":
        return frames.ethernet(frames.ETHERTYPE_ARP, bytes(28))
    if kind == "noise":
        return draw(st.binary(max_size=80))
    is_4 = kind == "4"
    packet = draw(ipv4_packets(groups) if is_4 else ipv6_packets(groups))
    return draw(_carried(frames.ETHERTYPE_IPV4 if is_4 else frames.ETHERTYPE_IPV6, packet))


@st.composite
def _carried(draw: st.DrawFn, ethertype: int, packet: bytes) -> bytes:
    carrier = draw(st.sampled_from(["bare"] * 5 + ["vlan", "qinq", "mpls", "pppoe", "snap"]))
    vlan = draw(st.integers(0, 0xFFFF))
    if carrier == "vlan":
        return frames.ethernet(ethertype, packet, ((0x8100, vlan),))
    if carrier == "qinq":
        return frames.ethernet(ethertype, packet, ((0x88A8, vlan), (0x8100, 7)))
    if carrier == "mpls":
        return frames.ethernet(0x8847, frames.mpls((100, 200), packet))
    if carrier == "pppoe":
        protocol = 0x21 if ethertype == frames.ETHERTYPE_IPV4 else 0x57
        return frames.ethernet(0x8864, frames.pppoe(protocol, packet))
    if carrier == "snap":
        return frames.ethernet(8 + len(packet), frames.snap(ethertype, packet))
    return frames.ethernet(ethertype, packet)


@st.composite
def timestamps(draw: st.DrawFn, count: int) -> list[int]:
    """Times in nanoseconds over several minutes: mostly forward, with steps back and gaps."""
    now, times = EPOCH_SECONDS * SECOND_NS + draw(st.integers(0, 60 * SECOND_NS)), []
    for _ in range(count):
        step = draw(st.sampled_from([0, 1_000, 40_000_000, SECOND_NS, 25 * SECOND_NS]))
        now += step if draw(st.integers(0, 9)) else -draw(st.integers(0, 90)) * SECOND_NS
        times.append(max(now, 0))
    return times


@st.composite
def packet_lists(draw: st.DrawFn, max_packets: int = 30, interfaces: int = 1) -> list[Packet]:
    """A few packets with all their oddities, some cut short by a snap length."""
    groups = draw(st.sampled_from([1, 2, 5, 40]))
    count = draw(st.integers(0, max_packets))
    packets = []
    for timestamp in draw(timestamps(count)):
        data = draw(frame_bytes(groups))
        kept = draw(st.sampled_from([len(data)] * 6 + [20, 34, 40, 60]))
        interface_id = draw(st.integers(0, interfaces - 1))
        packets.append(Packet(timestamp, data[:kept], len(data), interface_id))
    return packets


@dataclass(frozen=True)
class CaptureFile:
    """A file's bytes and the packets that it was written from."""

    data: bytes
    packets: tuple[Packet, ...]


@st.composite
def capture_files(draw: st.DrawFn, max_packets: int = 30) -> CaptureFile:
    """A pcap or pcapng file of either byte order."""
    order = draw(st.sampled_from("<>"))
    if draw(st.booleans()):
        packets = draw(packet_lists(max_packets))
        magic = draw(st.sampled_from([MICROSECONDS, NANOSECONDS]))
        return CaptureFile(pcap(packets, order=order, magic=magic), tuple(packets))
    packets = draw(packet_lists(max_packets, interfaces=3))
    return CaptureFile(pcapng(packets, order=order), tuple(packets))


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """A capture cut anywhere, or with some of its bytes changed."""
    data = bytearray(draw(capture_files(8)).data)
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


@dataclass(frozen=True)
class Traffic:
    """What a large capture is like."""

    seed: int
    packets: int
    groups: int
    minutes: int
    steps_back: float
    """The part of the packets whose time steps back, by up to `step_back_seconds`."""
    step_back_seconds: int


traffics = st.builds(
    Traffic,
    seed=st.integers(0, 2**32),
    packets=st.integers(0, 3_000),
    groups=st.sampled_from([1, 3, 30, 700]),
    minutes=st.integers(1, 12),
    steps_back=st.sampled_from([0.0, 0.01, 0.3]),
    step_back_seconds=st.sampled_from([1, 30, 200]),
)
"""Several minutes of traffic, from a seed: cheap to draw however many packets."""


def generate(traffic: Traffic) -> list[Packet]:
    """The packets of a large capture; the same for the same description."""
    chance = random.Random(traffic.seed)
    return [
        Packet(_moment(traffic, chance, at), _plain_frame(traffic, chance))
        for at in range(traffic.packets)
    ]


def _moment(traffic: Traffic, chance: random.Random, at: int) -> int:
    span_ns = traffic.minutes * 60 * SECOND_NS
    moment = EPOCH_SECONDS * SECOND_NS + span_ns * at // max(1, traffic.packets)
    if chance.random() < traffic.steps_back:
        moment -= chance.randrange(traffic.step_back_seconds * SECOND_NS)
    return moment // 1_000 * 1_000


def _plain_frame(traffic: Traffic, chance: random.Random) -> bytes:
    source, destination = (chance.randrange(traffic.groups) for _ in range(2))
    payload = bytes(chance.randrange(SNAP_LENGTH))
    make = frames.tcp if chance.random() < 0.6 else frames.udp
    protocol = frames.TCP if make is frames.tcp else frames.UDP
    transport = make(chance.choice((53, 80, 443)), 1024 + chance.randrange(8), payload)
    if chance.random() < 0.3:
        addresses_of = _address_6(source), _address_6(destination)
        return frames.ethernet(0x86DD, frames.ipv6(*addresses_of, protocol, transport))
    packet = frames.ipv4(0x0A000000 + source, 0x0A000000 + destination, protocol, transport)
    return frames.ethernet(0x0800, packet)

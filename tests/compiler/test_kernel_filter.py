# SPDX-License-Identifier: Apache-2.0
"""The kernel's prefilter rejects no packet that a query accepts, and of plain ones all others.

Programs are run by libpcap's interpreter, which is not ours, over real captures; the queries by the
engine, over the packets that passed and over all of them. Packets get times of their own, a second
apart, so that each has one and none is late.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import dpkt
import libpcap
import pytest
from captures import DEMO_CAPTURE, capture_id, captures

import gigastream
from gigastream.codegen.kernel_filter import Instruction, kernel_filter
from tests.engine.stepping import plan_of
from tests.strategies import frames
from tests.strategies.fragments import honest
from tests.strategies.segments import Way
from tests.strategies.tunnels import as_bytes

Packet = tuple[float, bytes]
ETHERNET = 1
MOST_PACKETS = 20_000
EXACT = (
    "TCP WHERE destPort = 8080",
    "TCP WHERE srcPort > 1024 AND destPort <= 1024",
    "TCP WHERE destPort <> 80",
    "UDP WHERE srcPort = 53 OR destPort IN (53, 5353)",
    "DataProtocol WHERE srcPort BETWEEN 50 AND 90",
    "IPV4 WHERE protocol = 17",
    "IPV4 WHERE srcIP = IP_VAL'10.20.0.11'",
    "IPV4 WHERE destIP IN IP_VAL'10.20.0.0/16' AND ttl > 63",
    "IPV4 WHERE srcIP >= IP_VAL'10.20.0.80'",
    "IPV6 WHERE protocol = 6 AND hop_limit > 3",
    "IP WHERE protocol = 6",
    "TCP WHERE ipversion = 6",
)
"""Conditions that are translated whole."""
SUPERSET = (
    "TCP WHERE destPort = 443 AND len > 100",
    "TCP WHERE NOT (destPort = 443)",
    "TCP WHERE destPort + 1 = 444",
    "TCP WHERE syn = 1 OR destPort = 80",
    "UDP WHERE srcPort = 53 AND byte_match_offset[3, 131, UDP_data]",
    "IP WHERE srcIP IN IP_VAL'10.0.0.0/8'",
    "ICMP",
    "IP WHERE CASE WHEN protocol = 6 THEN TRUE ELSE ttl > 60 END",
)
EVERYTHING = (
    "SELECT time FROM PKT WHERE len > 100",
    "SELECT time, vlan FROM ETH WHERE vlan = 5",
    "SELECT time, packet_id FROM TCP WHERE destPort = 1",
    "SELECT time FROM TCP WHERE packet_id % 2 = 0",
)


def program_of(*conditions: str) -> tuple[Instruction, ...] | None:
    """The program of some conditions."""
    return kernel_filter([plan_of(f"SELECT timestamp FROM {c}", ("default",)) for c in conditions])


def passing(program: Sequence[Instruction], packets: Sequence[Packet]) -> list[Packet]:
    """The packets that libpcap's interpreter lets pass."""
    kind: Any = libpcap.bpf_insn * len(program)
    native = kind(*(libpcap.bpf_insn(*instruction) for instruction in program))
    run: Any = libpcap.bpf_filter
    found = []
    for packet in packets:
        bytes_ = (ctypes.c_ubyte * max(1, len(packet[1]))).from_buffer_copy(packet[1] or b"\0")
        if run(native, bytes_, len(packet[1]), len(packet[1])):
            found.append(packet)
    return found


@cache
def packets_of(capture: Path) -> tuple[Packet, ...]:
    """The Ethernet frames of a capture, a second apart; none where it is of another kind."""
    try:
        with capture.open("rb") as stream:
            reader = dpkt.pcap.UniversalReader(stream)
            if reader.datalink() != ETHERNET:
                return ()
            frames = [frame for _, (_, frame) in zip(range(MOST_PACKETS), reader, strict=False)]
    except (ValueError, dpkt.Error, OSError, EOFError):
        return ()
    return tuple((1_000_000_000.0 + at, bytes(frame)) for at, frame in enumerate(frames))


def accepted(condition: str, packets: Sequence[Packet]) -> list[object]:
    """The times of the packets that a query accepts."""
    return rows_of(f"SELECT timestamp FROM {condition}", packets)


def rows_of(question: str, packets: Sequence[Packet]) -> list[object]:
    with gigastream.run(question, list(packets)) as rows:
        return [row["timestamp"] for batch in rows for row in batch.to_pylist()]


@pytest.mark.parametrize("condition", EXACT)
def test_of_plain_packets_exactly_those_pass(condition: str) -> None:
    program = program_of(condition)
    assert program is not None
    packets = [p for p in packets_of(DEMO_CAPTURE) if is_plain(p[1])]
    passed = len(passing(program, packets))
    assert passed == len(accepted(condition, packets))
    assert 0 < passed < len(packets)


def is_plain(frame: bytes) -> bool:
    kind = int.from_bytes(frame[12:14], "big")
    if kind == dpkt.ethernet.ETH_TYPE_ARP:
        return True
    if kind not in (dpkt.ethernet.ETH_TYPE_IP, dpkt.ethernet.ETH_TYPE_IP6):
        return False
    return getattr(dpkt.ethernet.Ethernet(frame).data, "p", None) in (6, 17)


@pytest.mark.parametrize("condition", [*EXACT, *SUPERSET])
def test_no_packet_is_missed_in_the_demo(condition: str) -> None:
    check_superset(DEMO_CAPTURE, [condition])


@pytest.mark.long
@pytest.mark.parametrize("capture", captures("good", "hostile", "broken"), ids=capture_id)
def test_no_packet_is_missed(capture: Path) -> None:
    """All conditions together in one program, and some alone."""
    conditions = [*EXACT, *SUPERSET]
    at = sum(capture.name.encode()) % len(conditions)
    check_superset(capture, conditions[at : at + 1])
    check_superset(capture, [*conditions[at : at + 3]])


def check_superset(capture: Path, conditions: Sequence[str]) -> None:
    program = program_of(*conditions)
    assert program is not None
    packets = packets_of(capture)
    if not packets:
        pytest.skip("no frames of Ethernet are in it")
    passed = passing(program, packets)
    for condition in conditions:
        assert accepted(condition, passed) == accepted(condition, packets)


@pytest.mark.parametrize("question", EVERYTHING)
def test_what_may_need_any_packet_has_no_program(question: str) -> None:
    wants_all = plan_of(question, ("default",))
    others = plan_of("SELECT time FROM TCP WHERE destPort = 443", ("default",))
    assert kernel_filter([wants_all]) is None
    assert kernel_filter([others, wants_all]) is None


OPENED = "DEFINE {{ decapsulate '{}'; }} SELECT timestamp FROM {}"


@pytest.mark.parametrize("tunnels", ["all", "vxlan", "gre,ipip", "teredo,gtp:1", "pw"])
@pytest.mark.parametrize("condition", ["TCP WHERE destPort = 80", "UDP WHERE srcPort > 5000"])
def test_no_packet_in_a_tunnel_is_missed(tunnels: str, condition: str) -> None:
    question = OPENED.format(tunnels, condition)
    program = kernel_filter([plan_of(question, ("default",))])
    assert program is not None
    packets = [(1e9 + at, data) for at, data in enumerate(as_bytes().values())]
    packets += [(2e9, tcp_to(443))]
    passed = passing(program, packets)
    assert rows_of(question, passed) == rows_of(question, packets)
    assert packets[-1] not in passed


def test_no_fragment_is_missed() -> None:
    question = "DEFINE { defragment 'yes'; } SELECT timestamp FROM UDP WHERE destPort = 53"
    program = kernel_filter([plan_of(question, ("default",))])
    assert program is not None
    pieces = [frame for frames_ in honest().values() for frame in frames_]
    packets = [(1e9 + at, data) for at, data in enumerate(pieces)]
    assert len(rows_of(question, packets)) > 5
    assert rows_of(question, passing(program, packets)) == rows_of(question, packets)


def test_no_segment_is_missed_for_which_others_would_wait() -> None:
    """Of a direction all are rejected or none, whatever else is asked of each."""
    question = "SELECT timestamp FROM TCP WHERE srcPort = 4001 AND ttl > 64 AND data_length > 0"
    program = kernel_filter([plan_of(f"DEFINE {{ tcp_order; }} {question}", ("default",))])
    assert program is not None
    packets = [(1e9 + at, Way(1 + at % 2).frame(at)) for at in range(10)]
    assert passing(program, packets) == packets[::2]
    as_they_come = kernel_filter([plan_of(question, ("default",))])
    assert as_they_come is not None
    assert passing(as_they_come, packets) == []


def tcp_to(port: int) -> bytes:
    packet = frames.ipv4(1, 2, frames.TCP, frames.tcp(9, port))
    return frames.ethernet(frames.ETHERTYPE_IPV4, packet)


def test_nobody_needs_nothing_said() -> None:
    assert kernel_filter([]) is None


def test_a_program_that_is_too_long_is_none() -> None:
    ports = ", ".join(map(str, range(2000)))
    assert program_of(f"TCP WHERE destPort IN ({ports})") is None


def test_frames_that_are_cut_anywhere_pass_or_are_rejected_by_all() -> None:
    condition = "TCP WHERE destPort = 443 OR srcPort = 443"
    program = program_of(condition)
    assert program is not None
    for _, frame in packets_of(DEMO_CAPTURE)[:50]:
        cut = [(1e9 + n, frame[:n]) for n in range(len(frame))]
        assert accepted(condition, passing(program, cut)) == accepted(condition, cut)

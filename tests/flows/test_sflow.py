# SPDX-License-Identifier: Apache-2.0
"""sFlow v5: sampled packets as records."""

from __future__ import annotations

import struct

import dpkt
import pytest

from tests.flows.datagrams import (
    CAME_NS,
    bytes_of,
    decoded,
    expanded_sample,
    flow_sample,
    part,
    raw_header,
    sflow,
)


def frame(*, is_tagged: bool = False) -> bytes:
    tcp = dpkt.tcp.TCP(sport=4000, dport=443, flags=0x12)
    ip = dpkt.ip.IP(src=bytes([10, 0, 0, 1]), dst=bytes([10, 0, 0, 2]), p=6, data=tcp, tos=0x10)
    ip.len = len(ip)
    frame = bytes(dpkt.ethernet.Ethernet(src=b"\2\0\0\0\0\1", dst=b"\2\0\0\0\0\2", data=ip))
    return frame[:12] + b"\x81\0\x20\x05" + frame[12:] if is_tagged else frame


EXPECTED = {
    "timestamp": CAME_NS,
    "exporter": bytes_of("192.0.2.77"),
    "domain": 3,
    "format": "sflow5",
    "packets": 1,
    "bytes": 1500,
    "sampling_rate": 512,
    "ipversion": 4,
    "srcIP": bytes_of("10.0.0.1"),
    "destIP": bytes_of("10.0.0.2"),
    "srcPort": 4000,
    "destPort": 443,
    "protocol": 6,
    "flags": 0x12,
    "tos": 0x10,
    "etherType": 0x800,
    "srcMAC": 0x020000000001,
    "destMAC": 0x020000000002,
    "vlan": 0,
    "input_interface": 11,
    "output_interface": 12,
}


def test_a_sampledframe() -> None:
    (row,), account = decoded(sflow(flow_sample(raw_header(frame(), 1500))))
    assert row == EXPECTED
    assert account.damaged_sets == account.other_samples == 0


def test_what_stands_beside_theframe() -> None:
    switch = part(1001, struct.pack(">4I", 77, 0, 78, 0))
    router = part(1002, struct.pack(">I4sII", 1, bytes([10, 9, 9, 9]), 24, 16))
    path = struct.pack(">I4s4I", 1, bytes(4), 1, 65_001, 2, 1)
    path += struct.pack(">II2I", 2, 2, 5, 65_009)
    records = (raw_header(frame(is_tagged=True), 1500), switch, router, part(1003, path))
    (row,), _ = decoded(sflow(expanded_sample(*records)))
    assert row == {
        **EXPECTED,
        "vlan": 77,
        "next_hop": bytes_of("10.9.9.9"),
        "src_mask": 24,
        "dest_mask": 16,
        "src_as": 65_001,
        "dest_as": 65_009,
        "input_interface": 1 << 20,
    }


def test_sampled_addresses_of_a_switch_without_headers() -> None:
    four = struct.pack(">II4s4s4I", 90, 17, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), 1, 2, 0, 3)
    six = struct.pack(
        ">II16s16s4I", 91, 6, bytes_of("2001:db8::1"), bytes_of("2001:db8::2"), 1, 2, 4, 5
    )
    rows, _ = decoded(sflow(flow_sample(part(3, four)), flow_sample(part(4, six))))
    assert [(row["bytes"], row["ipversion"], row["destPort"]) for row in rows] == [
        (90, 4, 2),
        (91, 6, 2),
    ]


LONG_PATH = struct.pack(">I4s6I", 1, bytes(4), 1, 2, 3, 1, 2, 1 << 30)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(flow_sample(raw_header(frame(), 1500))[:-60], id="shorter than it says"),
        pytest.param(part(1, bytes(12)), id="no header"),
        pytest.param(flow_sample(part(1, struct.pack(">4I", 1, 9, 0, 999))), id="a long frame"),
        pytest.param(flow_sample(part(1003, LONG_PATH)), id="a long path"),
    ],
)
def test_a_bad_sample_leaves_those_behind_it(bad: bytes) -> None:
    body = bad[8:]
    bad = struct.pack(">II", 1, len(body)) + body
    good = flow_sample(raw_header(frame(), 1500))
    rows, account = decoded(sflow(good, bad, good))
    assert rows == [EXPECTED, EXPECTED]
    assert account.damaged_sets == 1


def test_samples_that_are_no_flows_are_counted() -> None:
    arp = b"\xff" * 12 + b"\x08\x06" + bytes(28)
    samples = (part(2, bytes(20)), part(4, b""), flow_sample(raw_header(arp, 64)))
    rows, account = decoded(sflow(*samples))
    assert not rows
    assert account.other_samples == 3


def test_a_datagram_that_is_cut_off() -> None:
    good = flow_sample(raw_header(frame(), 1500))
    rows, account = decoded(sflow(good, good)[:-1], sflow(good, count=9), sflow()[:20])
    assert len(rows) == 2
    assert (account.damaged_sets, account.damaged) == (2, 1)

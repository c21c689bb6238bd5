# SPDX-License-Identifier: Apache-2.0
"""Captures of exports: what is a datagram in them, and the rows of FLOW."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpkt
import pytest

import gigastream
from tests.captures import ROOT
from tests.cli.command import gigastream as command
from tests.flows.datagrams import v5, v5_record

EXPORTS = ROOT / "demo" / "exports.pcap"
QUERY = "SELECT timestamp, exporter, srcIP, packets, flow_start FROM FLOW"
RECORD = v5_record("10.0.0.1", "10.0.0.2", 7, 700)
TIME_NS = 1_700_000_000_123_456_000


def _packet(data: bytes) -> bytes:
    udp = dpkt.udp.UDP(sport=9, dport=2055, data=data)
    udp.ulen = len(udp)
    packet = dpkt.ip.IP(src=bytes([192, 0, 2, 1]), dst=bytes([192, 0, 2, 2]), p=17, data=udp)
    packet.len = len(packet)
    return bytes(packet)


def _ethernet(data: bytes) -> bytes:
    return bytes(12) + b"\x81\0\0\7\x08\0" + _packet(data)


def _pcap(order: str, unit_ns: int, link_type: int, *frames: bytes) -> bytes:
    magic = 0xA1B23C4D if unit_ns == 1 else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)]
    for frame in frames:
        seconds, fraction = divmod(TIME_NS, 10**9)
        out += [struct.pack(order + "IIII", seconds, fraction // unit_ns, len(frame), len(frame))]
        out += [frame]
    return b"".join(out)


def _pcapng(*frames: bytes) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + length + body + length

    out = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    out += [block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3x", 9, 1, 9))]
    for frame in frames:
        head = struct.pack("<5I", 0, TIME_NS >> 32, TIME_NS & 0xFFFFFFFF, len(frame), len(frame))
        out += [block(6, head + frame + bytes(-len(frame) % 4))]
    return b"".join(out)


MAKERS: dict[str, Callable[..., bytes]] = {
    "µs": lambda *data: _pcap("<", 1_000, 1, *map(_ethernet, data)),
    "big-endian ns": lambda *data: _pcap(">", 1, 101, *map(_packet, data)),
    "pcapng": lambda *data: _pcapng(*map(_ethernet, data)),
    "gzip": lambda *data: gzip.compress(_pcapng(*map(_ethernet, data))),
    "any device": lambda *data: _pcap("<", 1_000, 113, *(bytes(16) + _packet(d) for d in data)),
}


def _rows_of(path: Path) -> list[dict[str, Any]]:
    answer = gigastream.run(QUERY, streams={"FLOW": path})
    return [row for batch in answer for row in batch.to_pylist()]


def _source_of(place: str) -> dict[str, Any]:
    done = command("run", "-e", QUERY, "--stream", f"FLOW={place}", "--stats", "json", "-o", "csv")
    (source,) = json.loads(done.err.splitlines()[-1])["sources"]
    assert source["read"] == source["undecodable"] + source["decoded"]
    assert source["decoded"] == len(done.lines) - 1
    found: dict[str, Any] = source
    return found


@pytest.mark.parametrize("kind", MAKERS)
def test_kinds_of_captures(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "exports.pcap"
    path.write_bytes(MAKERS[kind](v5(RECORD), v5(RECORD, RECORD)))
    rows = _rows_of(path)
    assert [row["packets"] for row in rows] == [7, 7, 7]
    assert rows[0]["timestamp"].value == TIME_NS


@pytest.mark.parametrize("cut", [3, 30, 90, 200])
def test_a_capture_that_is_cut_off(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "exports.pcap"
    path.write_bytes(MAKERS["µs"](v5(RECORD), v5(RECORD))[:cut])
    source = _source_of(f"flows:{path}")
    assert (source["undecodable"], source["decoded"]) == (1, int(cut == 200))


def test_the_exports_of_the_demo_have_its_packets() -> None:
    exported = "SELECT sum(packets) AS packets FROM FLOW"
    (batch,) = gigastream.run(exported, streams={"FLOW": EXPORTS})
    (seen,) = gigastream.run("SELECT count(*) AS packets FROM IP", ROOT / "demo" / "demo.pcap")
    assert batch.to_pylist() == seen.to_pylist()


def test_other_packets_are_passed_over(tmp_path: Path) -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    path = tmp_path / "mixed.pcap"
    path.write_bytes(_pcap("<", 1_000, 1, arp, _ethernet(v5(RECORD)), _ethernet(b"no export")))
    source = _source_of(str(path))
    assert (source["undecodable"], source["decoded"]) == (1, 1)
    assert source["undecodable_first"].endswith("packet 3: it is of no exporter that is known")


def test_interfaces_without_end(tmp_path: Path) -> None:
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
    path = tmp_path / "many.pcapng"
    path.write_bytes(_pcapng() + interface * 70_000)
    source = _source_of(str(path))
    assert (source["undecodable"], source["decoded"]) == (1, 0)
    assert "more than 65,536 interfaces" in source["undecodable_first"]

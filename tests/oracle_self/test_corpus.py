# SPDX-License-Identifier: Apache-2.0
"""The oracle over real captures, against the corpus's own counts and against dpkt and tshark."""

from __future__ import annotations

import shutil
import subprocess

import dpkt
import pytest

from tests.oracle.packet import Layers
from tests.oracle.query import decode
from tests.oracle_self.corpus import Entry, entries

EXPECTED_EXIT_CODES = {
    "good": {0, 2},
    "large": {0},
    "empty": {0},
    "ng-odd": {0, 1},
    "broken": {0, 1, 2},
    "hostile": {0, 1, 2},
}

COUNTED_OTHERWISE = {
    # A section of pcapng 2.0 in mid-file: damage, as tshark has it; the manifest reads on.
    "google-le-test901-429b1c.pcapng": 1,
    # Reserved bits of the link type are set, so the records are not looked at.
    "seladb-regression_samples-clusterfuzz-testcase-minimized-FuzzTarget-5631583764873216-00fef6"
    ".pcap": 0,
}

MAX_TSHARK_FILES = 60
MAX_TSHARK_BYTES = 100_000
TSHARK_FIELDS = ("ip.src", "ipv6.src", "tcp.srcport", "udp.srcport", "frame.protocols")


@pytest.mark.long
def test_every_capture_is_read() -> None:
    for entry in entries():
        decoded = decode(entry.path)
        counts = decoded.accounting
        expected = COUNTED_OTHERWISE.get(entry.path.name, entry.packets)
        assert len(decoded.capture.records) == expected, entry.path.name
        assert decoded.capture.exit_code in EXPECTED_EXIT_CODES[entry.kind], entry.path.name
        assert counts.read == counts.undecodable + counts.late + counts.decoded
        assert counts.late == 0, "no file of the corpus has two blocks"


def test_dpkt_agrees_where_it_reads_a_packet() -> None:
    seen = sum(_compare_with_dpkt(entry) for entry in entries() if entry.kind in ("good", "empty"))
    assert seen > 10_000


def _compare_with_dpkt(entry: Entry) -> int:
    decoded = decode(entry.path)
    plain = [layers for layers in decoded.layers if _is_plain_ethernet(layers)]
    for layers in plain:
        ip = dpkt.ethernet.Ethernet(layers.record.data).data
        assert isinstance(ip, dpkt.ip.IP), entry.path.name
        assert ip.src == int(layers.network.addresses[0]).to_bytes(4, "big")
        assert (ip.p, ip.ttl) == (layers.network.protocol, layers.network.fields["ttl"])
        if layers.transport_name in ("TCP", "UDP") and not isinstance(ip.data, bytes):
            ports = layers.transport["srcPort"], layers.transport["destPort"]
            assert (ip.data.sport, ip.data.dport) == ports, entry.path.name
    return len(plain)


def _is_plain_ethernet(layers: Layers) -> bool:
    """IPv4 right behind an Ethernet header, with a length that dpkt does not read otherwise."""
    network = layers.network
    if network is None or network.version != 4 or layers.record.link_type != 1:
        return False
    return layers.packet["etherType"] == 0x0800 and layers.packet["vlan"] == 0


@pytest.mark.slow
def test_tshark_agrees_on_a_sample() -> None:
    if shutil.which("tshark") is None:
        pytest.skip("no tshark")
    chosen = [e for e in entries() if e.kind == "good" and 0 < e.size_bytes < MAX_TSHARK_BYTES]
    differing = [e.path.name for e in chosen[:MAX_TSHARK_FILES] if not _tshark_agrees(e)]
    assert set(differing) <= WALKED_BY_TSHARK, differing


WALKED_BY_TSHARK = {
    "appneta-test-test-03ab87.rewrite_mac",
    "ntop-tests-macsec-integonly-0f4c3d.pcap",
    "nfstream-pcaps-ajp-23bd44.pcap",
    "oisf-bug-6887-defrag-eth-vlan-ipv4-tcp-syn-frag-eth-vlan-ip-tcp-syn-026c13.pcap",
}
"""Pseudowires, MACsec, FabricPath and headers beyond the IP payload: tshark reads what §8 does
not."""


def _tshark_agrees(entry: Entry) -> bool:
    decoded = decode(entry.path)
    if decoded.capture.refusal is not None or decoded.accounting.undecodable:
        return True
    lines = _tshark(entry)
    assert len(lines) == len(decoded.layers), entry.path.name
    return all(map(_line_agrees, lines, decoded.layers))


def _tshark(entry: Entry) -> list[list[str]]:
    fields = [word for name in TSHARK_FIELDS for word in ("-e", name)]
    options = ["-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE"]
    options += ["-o", "tcp.desegment_tcp_streams:FALSE"]
    command = ["tshark", "-n", "-r", str(entry.path), *options, "-T", "fields", *fields]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.split("\t") for line in run.stdout.splitlines()]


def _line_agrees(line: list[str], layers: Layers) -> bool:
    """The outermost address, and the ports where the oracle has any."""
    ipv4, ipv6, tcp, udp, protocols = line
    names = protocols.split(":")
    first = next((name for name in names if name in ("ip", "ipv6")), "")
    outermost = {"ip": ipv4, "ipv6": ipv6, "": ""}[first].split(",")[0]
    own = str(layers.network.addresses[0]) if layers.network else ""
    port = {"TCP": tcp, "UDP": udp}.get(layers.transport_name or "", "").split(",")[0]
    return own == outermost and port == str(layers.transport.get("srcPort", ""))

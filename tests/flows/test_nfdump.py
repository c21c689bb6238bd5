# SPDX-License-Identifier: Apache-2.0
"""Flows of real exporters, equal to nfdump's reading of the same datagrams."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import dpkt
import pytest

from gigastream.records.flows.decoder import FlowDecoder
from tests.captures import captures_directory
from tests.flows.ports import free_port
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.skipif(
    shutil.which("nfcapd") is None, reason="nfdump is not installed: apt install nfdump"
)
EXPORTS = {
    "pmacct-100-IPFIXv10-CISCO-*": 9991,
    "pmacct-106-IPFIXv10-HUAWEI-*": 9991,
    "pmacct-403-IPFIXv10-BMP-*": 9991,
    "pmacct-500-IPFIXv10-BGP-CISCO-*": 9992,
}
"""Captures of routers' exports, and the port of the collector."""
FORMAT = "fmt:%sa|%da|%pr|%pkt|%byt|%in|%out"
Flow = tuple[str, ...]


def _datagrams(path: Path, port: int) -> Iterator[tuple[bytes, bytes]]:
    with path.open("rb") as file:
        for _, frame in dpkt.pcap.UniversalReader(file):
            packet = dpkt.ethernet.Ethernet(frame).data
            if isinstance(packet.data, dpkt.udp.UDP) and packet.data.dport == port:
                yield packet.src, bytes(packet.data.data)


def _ours(datagrams: list[tuple[bytes, bytes]]) -> list[Flow]:
    decoder = FlowDecoder()
    for source, data in datagrams:
        decoder.take(data, source.rjust(16, b"\0"), 0)
    account, columns = decoder.account, decoder.rows().columns
    assert account.damaged == account.unknown == account.damaged_sets == 0
    names = ("srcIP", "destIP", "protocol", "packets", "bytes")
    interfaces = ("input_interface", "output_interface")
    rows = zip(*(columns[name] for name in (*names, *interfaces)), strict=True)
    return [tuple(map(_text, row)) for row in rows]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        address = ip_address(value)
        return str(address.ipv4_mapped or address)  # type: ignore[union-attr]
    return str(value or 0)


@contextmanager
def _collector(folder: Path) -> Iterator[int]:
    """nfcapd; the port that it hears."""
    port = free_port(socket.AF_INET, "127.0.0.1")
    words = ["nfcapd", "-w", str(folder), "-b", "127.0.0.1", "-p", str(port), "-t", "86400"]
    with (folder.parent / "nfcapd.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        wait_until(lambda: _queued(port) is not None, "nfcapd to hear")
        yield port
        wait_until(lambda: _queued(port) == 0, "nfcapd to take what was sent")
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait(PATIENCE_S)


def _queued(port: int) -> int | None:
    """Bytes that a socket of that port has not read."""
    for line in Path("/proc/net/udp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1].endswith(f":{port:04X}"):
            return int(words[4].split(":")[1], 16)
    return None


def _theirs(datagrams: list[tuple[bytes, bytes]], folder: Path) -> list[Flow]:
    folder.mkdir()
    with _collector(folder) as port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _, data in datagrams:
            wait_until(lambda: _queued(port) == 0, "nfcapd to take what was sent")
            sender.sendto(data, ("127.0.0.1", port))
    words = ["nfdump", "-R", str(folder), "-q", "-N", "-6", "-o", FORMAT]
    shown = subprocess.run(
        words, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout
    cells = (line.split("|") for line in shown.splitlines() if "|" in line)
    return [tuple(cell.strip() for cell in row) for row in cells]


@pytest.mark.parametrize("name", EXPORTS)
def test_flows_of_real_exporters(name: str, tmp_path: Path) -> None:
    found = sorted((captures_directory() / "good").glob(name))
    if not found:
        pytest.skip("needs the captures of GIGASTREAM_PCAPS")
    datagrams = list(_datagrams(found[0], EXPORTS[name]))
    ours, theirs = Counter(_ours(datagrams)), Counter(_theirs(datagrams, tmp_path / "flows"))
    assert ours.total() == theirs.total() > 0
    assert {flow: n for flow, n in theirs.items() if not _has_both(flow)} == {
        flow: n for flow, n in ours.items() if flow in theirs
    }
    assert sum(theirs[flow] for flow in theirs if _has_both(flow)) == sum(
        n for flow, n in ours.items() if flow not in theirs
    )


def _has_both(flow: Flow) -> bool:
    """Whether nfdump has joined addresses of both families, which stood in one record."""
    return flow[0].startswith("::") and not flow[0].startswith("::ffff")

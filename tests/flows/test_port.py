# SPDX-License-Identifier: Apache-2.0
"""Exporters that send to a UDP port; a port at which nobody speaks any more."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import COMMAND
from tests.flows.datagrams import v5, v5_record
from tests.flows.ports import free_port
from tests.waiting import PATIENCE_S, wait_until

QUERY = """SELECT tb, count(*) AS flows, sum(packets) AS packets, max(packets) AS most
FROM FLOW GROUP BY time_bucket('1 sec', timestamp) AS tb"""


@contextmanager
def _running(place: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [*COMMAND, "run", "-e", QUERY, "--stream", f"FLOW={place}", "-o", "json"]
    with (folder / "rows").open("wb") as rows, (folder / "said").open("wb") as said:
        process = subprocess.Popen([*words, "--stats", "json"], stdout=rows, stderr=said)
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE_S)


def _is_heard(port: int) -> bool:
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("udp", "udp6")]
    lines = [line.split() for table in tables for line in table.splitlines()[1:]]
    return any(words[1].endswith(f":{port:04X}") for words in lines)


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_windows_end_by_the_clock(family: socket.AddressFamily, host: str, tmp_path: Path) -> None:
    begun = time.strftime("%Y-%m-", time.gmtime())
    port = free_port(family, host)
    shown = f"[{host}]" if family == socket.AF_INET6 else host
    record = v5_record("10.0.0.1", "10.0.0.2", 7, 700)
    with _running(f"udp://{shown}:{port}", tmp_path) as process:
        wait_until(lambda: _is_heard(port), "the port to be heard")
        with socket.socket(family, socket.SOCK_DGRAM) as exporter:
            exporter.sendto(v5(record, record), (host, port))
            exporter.sendto(b"\0\7 no export", (host, port))
            exporter.sendto(v5(record, sequence=5), (host, port))
        rows = tmp_path / "rows"
        wait_until(lambda: _flows(rows) == 3, "windows of silent exporters to end")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    account = json.loads((tmp_path / "said").read_text().splitlines()[-1])
    (source,) = account["sources"]
    assert (source["read"], source["undecodable"], source["decoded"]) == (4, 1, 3)
    assert source["notes"] == ["3 missing by the exporters' numbers"]
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert sum(row["packets"] for row in found) == 21
    assert found[0]["tb"][:8] in (begun, time.strftime("%Y-%m-", time.gmtime()))


def _flows(rows: Path) -> int:
    """So far, of the lines that are whole."""
    whole, _, _ = rows.read_text().rpartition("\n")
    return sum(json.loads(line)["flows"] for line in whole.splitlines())


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("udp://127.0.0.1", "is no address to listen on"),
        ("udp://127.0.0.1:99999", "is no address to listen on"),
        ("udp://a..b:2055", "is no address to listen on"),
        ("udp://203.0.113.9:2055", "Cannot assign requested address"),
        ("csv:udp://127.0.0.1:2055", "csv does not come by datagrams"),
    ],
)
def test_a_place_that_is_none(place: str, said: str, tmp_path: Path) -> None:
    with _running(place, tmp_path) as process:
        assert process.wait(PATIENCE_S) == 2
    assert said in (tmp_path / "said").read_text()

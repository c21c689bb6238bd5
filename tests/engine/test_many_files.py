# SPDX-License-Identifier: Apache-2.0
"""Thousands of rotated captures, some compressed: opened when they are due, closed at their end."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest

from tests.captures import ROOT
from tests.engine.traffic import packet
from tests.processes import program
from tests.sanitizers import not_sanitized
from tests.strategies.files import NANOSECONDS, pcap

PACKETS = 10


def zstd(content: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


FORMS: tuple[Callable[[bytes], bytes], ...] = (bytes, gzip.compress, zstd)


def write_files(folder: Path, count: int, seconds_apart: float) -> None:
    """Captures of ten seconds, each in another form than the one before."""
    folder.mkdir()
    for number in range(count):
        begin = number * seconds_apart
        packets = [packet(begin + at, at) for at in range(PACKETS)]
        content = FORMS[number % 3](pcap(packets, magic=NANOSECONDS))
        (folder / f"{number:05}.pcap").write_bytes(content)


def run(folder: Path, by_interface: bool = False, disorder: int = 16 << 20) -> dict[str, int]:
    """What the program says that it needed; it may have 64 files open."""
    words = [str(folder), "64", "yes" if by_interface else "no", str(disorder)]
    done = subprocess.run(
        [*program("tests.engine.many_files"), *words],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.long
@not_sanitized("what is freed is kept by AddressSanitizer, to see who touches it")
def test_thousands_of_rotated_files_need_what_a_few_need(tmp_path: Path) -> None:
    write_files(tmp_path / "many", 2_400, 10)
    write_files(tmp_path / "few", 24, 10)
    many, few = run(tmp_path / "many"), run(tmp_path / "few")
    assert many["packets"] == many["read"] == 2_400 * PACKETS
    assert few["packets"] == few["read"] == 24 * PACKETS
    assert many["descriptors"] <= few["descriptors"] + 2 < 20
    per_file = (many["memory"] - few["memory"]) * 1024 / 2_400
    assert per_file < 8_192, "a name and counters, no buffer, no mapping"


@pytest.mark.long
@pytest.mark.parametrize("disorder", [16 << 20, 0], ids=["blocks", "all"])
@pytest.mark.parametrize("by_interface", [False, True], ids=["one", "each"])
def test_more_files_of_one_time_than_may_be_open(
    tmp_path: Path, by_interface: bool, disorder: int
) -> None:
    """What finds no room waits until another file has ended, and its windows with it."""
    write_files(tmp_path / "files", 90, 0.01)
    done = run(tmp_path / "files", by_interface, disorder)
    assert done["packets"] == done["read"] == 90 * PACKETS
    assert done["descriptors"] <= 64
    assert done["openings"] <= 4 * 90, "where one finds no room, others are not tried in vain"


def test_rotated_files_of_unlimited_disorder_are_opened_in_turn(tmp_path: Path) -> None:
    write_files(tmp_path / "files", 150, 10)
    done = run(tmp_path / "files", disorder=0)
    assert done["packets"] == 150 * PACKETS
    assert done["descriptors"] < 20


MANY_IN_MEMORY = """
import itertools, resource, sys
import gigastream

QUERY = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"

def answered(sources):
    return sum(sum(b.column("n").to_pylist()) for b in gigastream.run(QUERY, sources))

a_list = [(second * 10**9, bytes(60)) for second in range(10)]
answered([gigastream.PacketSource(a_list)])  # what is imported late has its descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
print(answered([gigastream.PacketSource(a_list) for _ in range(100)]))
endless = [((second * 10**9, bytes(60)) for second in itertools.count()) for _ in range(100)]
try:
    answered([gigastream.PacketSource(packets) for packets in endless])
except gigastream.SourceError as error:
    print(error)
"""


def test_of_packets_from_memory_lists_wait_for_room_and_what_may_never_end_does_not() -> None:
    words = [sys.executable, "-c", MANY_IN_MEMORY]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.stdout.splitlines() == [
        "1000",
        "packets: this process may open no more files (ulimit -n)",
    ], done.stderr

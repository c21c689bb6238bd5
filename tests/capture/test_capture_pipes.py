# SPDX-License-Identifier: Apache-2.0
"""Pipes that are slow, silent or interrupted, blocks too large to hold, files that shrink."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.capture.capture_files import enhanced, interface, pcap, record, section
from tests.processes import catches
from tests.waiting import wait_until

FILE = pcap(record(1, data=b"first"), record(2, data=b"second"))


@contextmanager
def reading(driver: Path, *words: object, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(driver), "records", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def send(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()


def next_line(process: subprocess.Popen[bytes], skip_again: bool = True) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().decode().rstrip()
    while skip_again and line == "again":
        line = process.stdout.readline().decode().rstrip()
    return line


def test_record_by_record(driver_path: Path) -> None:
    """A packet is given as soon as it is whole, whatever is missing of the next one."""
    with reading(driver_path, "mmap", 256, 50, "-", stdin=subprocess.PIPE) as process:
        send(process, FILE[:45])
        assert next_line(process).startswith("0 24 1000000000 5 ")
        send(process, FILE[45:60])
        assert next_line(process, skip_again=False) == "again"
        send(process, FILE[60:])
        assert next_line(process).startswith("1 45 2000000000 6 ")


def test_byte_by_byte(driver_path: Path) -> None:
    with reading(driver_path, "mmap", 256, -1, "-", stdin=subprocess.PIPE) as process:
        for i in range(len(FILE)):
            send(process, FILE[i : i + 1])
        process.stdin.close()
        lines = process.stdout.read().decode().splitlines()
    assert [line.split()[0] for line in lines] == ["0", "1", "interface", "stats", "end"]


def test_named_pipe_without_a_writer(driver_path: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with reading(driver_path, "mmap", 256, 50, tmp_path / "pipe") as process:
        assert next_line(process, skip_again=False) == "again"
        with (tmp_path / "pipe").open("wb") as pipe:
            pipe.write(FILE)
        assert next_line(process).startswith("0 24 1000000000 5 ")
        assert process.stdout.read().decode().splitlines()[-1].startswith("end 1")


def test_silence_ends_at_the_timeout(driver_path: Path) -> None:
    """Also where bytes keep dripping that are no whole record."""
    with reading(driver_path, "mmap", 256, 200, "-", stdin=subprocess.PIPE) as process:
        for i in range(20):
            send(process, FILE[i : i + 1])
            time.sleep(0.02)
        assert next_line(process, skip_again=False) == "again"


@pytest.mark.parametrize("sent", [0, 10, 30, 50])
def test_signal_ends_the_wait(driver_path: Path, sent: int) -> None:
    with reading(driver_path, "mmap", 256, -1, "-", stdin=subprocess.PIPE) as process:
        send(process, FILE[:sent])
        lines: list[str] = []
        os.set_blocking(process.stdout.fileno(), False)
        wait_until(lambda: catches(process.pid, signal.SIGUSR1), "its handler")

        def is_woken() -> bool:
            """One that comes before it waits for bytes wakes nobody: another one is sent."""
            process.send_signal(signal.SIGUSR1)
            lines.extend((process.stdout.read() or b"").decode().split())
            return "again" in lines

        wait_until(is_woken, "the wait to end")
        send(process, FILE[sent:])
        process.stdin.close()
        os.set_blocking(process.stdout.fileno(), True)
        assert process.stdout.read().decode().splitlines()[-1].startswith("end 1")


def peak_memory_kib(process: subprocess.Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def test_large_blocks_are_not_held(driver_path: Path) -> None:
    """A block of 200 MB that is no packet goes by in a buffer of half a megabyte."""
    length = struct.pack("<I", 200_000_012)
    with reading(driver_path, "mmap", 256, -1, "-", stdin=subprocess.PIPE) as process:
        send(process, section() + interface() + b"\x78\x56\x34\x12" + length)
        for _ in range(200):
            send(process, bytes(1_000_000))
        send(process, length + enhanced(7))
        assert next_line(process).startswith("0 200000060 7000 ")
        assert peak_memory_kib(process) < 60_000  # the sanitizers' own included
        process.stdin.close()
        assert process.stdout.read().decode().splitlines()[-1].startswith("end 1")


def test_packet_block_of_16_mib(driver_path: Path, tmp_path: Path) -> None:
    """The buffer grows for what must lie in it whole, and no further than its bound."""
    options = b"".join(b"\1\0\xf8\xff" + bytes(65_528) for _ in range(255))
    data = section() + interface() + enhanced(1, options=options) + enhanced(2)
    (tmp_path / "file").write_bytes(data)
    with reading(driver_path, "read", 256, -1, tmp_path / "file") as process:
        lines = process.stdout.read().decode().splitlines()
    assert [line.split()[0] for line in lines] == ["0", "1", "interface", "stats", "end"]


def test_a_mapped_file_that_shrinks(driver_path: Path, tmp_path: Path) -> None:
    """It is damage with a message, not the end of the process.

    The driver is held up by its full output pipe while the file is cut.
    """
    path = tmp_path / "file"
    path.write_bytes(pcap(*(record(i, data=bytes(1000)) for i in range(8000))))
    with reading(driver_path, "mmap", 16, -1, path) as process:
        next_line(process)
        time.sleep(0.5)
        os.truncate(path, 3 << 20)
        lines = process.stdout.read().decode().splitlines()
        assert process.wait() == 0
    assert lines[-1].startswith("end 3 was cut short while it was read, at byte ")

# SPDX-License-Identifier: Apache-2.0
"""Files and pipes that somebody else has opened: the path only names them."""

from __future__ import annotations

import gzip
import os
import pty
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from tests.captures import DEMO_CAPTURE
from tests.engine.stepping import plan_of

QUERY = "SELECT tb, interface, count(*) AS n FROM ETH GROUP BY time AS tb, interface"


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor of a file that no path leads to any more, somewhere in its midst."""
    descriptor = os.open(path, os.O_RDONLY)
    path.unlink()
    os.lseek(descriptor, 1000, os.SEEK_SET)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def answer(*sources: FileSource, settings: Settings | None = None) -> bytes:
    names = sorted({source.interface for source in sources})
    with Session(plan_of(QUERY, names), sources, settings) as session:
        return b"".join(e.batch.csv() for e in session.batches() if e.batch.row_count)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("use_mmap", [False, True])
def test_a_file_is_read_by_its_descriptor(pack: type, use_mmap: bool, tmp_path: Path) -> None:
    path = tmp_path / "gone.pcap"
    path.write_bytes(pack(DEMO_CAPTURE.read_bytes()))
    settings = Settings(use_mmap=use_mmap)
    expected = answer(FileSource("default", str(DEMO_CAPTURE)))
    with opened(path) as descriptor:
        source = FileSource("default", "the one we were given", descriptor)
        source.check()
        assert source.is_file
        assert answer(source, settings=settings) == expected
        os.fstat(descriptor)  # the caller's still


def test_files_that_wait_for_each_other_are_looked_at_before(tmp_path: Path) -> None:
    """Their first blocks are read twice."""
    path = tmp_path / "gone.pcap"
    path.write_bytes(DEMO_CAPTURE.read_bytes())
    other = FileSource("there", str(DEMO_CAPTURE))
    expected = answer(FileSource("here", str(DEMO_CAPTURE)), other)
    with opened(path) as descriptor:
        assert answer(FileSource("here", "given", descriptor), other) == expected


def test_a_pipe_is_read_by_its_descriptor() -> None:
    reading, writing = os.pipe()
    data = DEMO_CAPTURE.read_bytes()[:4096]
    os.write(writing, data)
    os.close(writing)
    source = FileSource("default", "given", reading)
    assert not source.is_file
    found = answer(source)
    os.close(reading)
    assert sum(int(line.split(b",")[2]) for line in found.splitlines()) > 10


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(SourceError, match="given is a directory"):
        FileSource("default", "given", descriptor).check()
    os.close(descriptor)
    with pytest.raises(SourceError, match="given: Bad file descriptor"):
        FileSource("default", "given", descriptor).check()


def write_only() -> int:
    return os.open(os.devnull, os.O_WRONLY)


def write_end() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def listening() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return os.dup(server.fileno())


def poller() -> int:
    with select.epoll() as made:
        return os.dup(made.fileno())


def terminal() -> int:
    leader, follower = pty.openpty()
    os.close(follower)
    return leader


def only_named() -> int:
    return os.open(DEMO_CAPTURE, os.O_PATH)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (write_only, "given: the descriptor that was handed over is not for reading"),
        (write_end, "given: the descriptor that was handed over is not for reading"),
        (listening, "given: no bytes come of the descriptor that was handed over"),
        (poller, "given: no bytes come of the descriptor that was handed over"),
        (terminal, "given: no capture comes from a terminal"),
        (only_named, "given: the descriptor that was handed over is not for reading"),
        (lambda: -1, "'given': file descriptor cannot be a negative integer"),
        (lambda: 2**31, "'given': "),
    ],
)
def test_what_gives_nothing_is_refused_and_left_as_it_was(
    make: Callable[[], int], message: str
) -> None:
    """By whoever looks before, and by who does not: nobody waits for it."""
    descriptor = make()
    before = set(os.listdir("/proc/self/fd"))
    source = FileSource("default", "given", descriptor)
    for look in (source.check, lambda: answer(source)):
        with pytest.raises(SourceError) as refused:
            look()
        assert str(refused.value).startswith(message)
    # Others' descriptors may go meanwhile, with objects that nobody needs any more.
    assert set(os.listdir("/proc/self/fd")) <= before
    if 0 <= descriptor < 2**31:
        os.close(descriptor)  # it is there still


def test_a_descriptor_is_one_source(tmp_path: Path) -> None:
    """Its offset is: each of two would get what the other has not."""
    path = tmp_path / "gone.pcap.gz"
    path.write_bytes(gzip.compress(DEMO_CAPTURE.read_bytes()))
    with opened(path) as descriptor:
        sources = [FileSource("default", name, descriptor) for name in ("one", "other")]
        with pytest.raises(SourceError, match=f"other: descriptor {descriptor} is a source"):
            answer(*sources)

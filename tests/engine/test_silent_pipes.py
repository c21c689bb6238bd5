# SPDX-License-Identifier: Apache-2.0
"""A pipe that says nothing keeps no other from being read, wherever it stops."""

from __future__ import annotations

import gc
import gzip
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow
import pytest

from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.cli.command import COMMAND
from tests.engine.stepping import Stepper, plan_of
from tests.engine.traffic import packet
from tests.strategies.files import NANOSECONDS, pcap
from tests.waiting import PATIENCE_S, wait_until

EACH = """DEFINE { query_name east; } SELECT tb, count(*) AS n FROM east.PKT GROUP BY time/10 AS tb;
DEFINE { query_name west; } SELECT tb, count(*) AS n FROM west.PKT GROUP BY time/10 AS tb"""
PLAN = plan_of(EACH, ("east", "west"))
SETTINGS = Settings(slack_ns=0, hash_key=(1, 2))
PACKETS = [packet(at, at) for at in range(0, 100, 2)]
CAPTURE = pcap(PACKETS, magic=NANOSECONDS)


def zstd(content: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


FORMS: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd}


class Writer:
    """The other end of a FIFO; it is there when `write` is first called."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path, self._descriptor = path, -1

    def write(self, data: bytes) -> None:
        if self._descriptor < 0:
            self._descriptor = os.open(self.path, os.O_RDWR)
        assert os.write(self._descriptor, data) == len(data)

    def end(self) -> None:
        self.write(b"")
        os.close(self._descriptor)
        self._descriptor = -1


@contextmanager
def fifos(folder: Path) -> Iterator[tuple[Writer, Writer, Stepper]]:
    """East, west, and a session that has opened both."""
    east, west = Writer(folder / "east"), Writer(folder / "west")
    sources = [FileSource("west", str(west.path)), FileSource("east", str(east.path))]
    with Stepper(PLAN, sources, SETTINGS) as session:
        for _ in sources:
            session.step()
        yield east, west, session


class Reader:
    """The rows of a session, by query, as long as they come."""

    def __init__(self, session: Stepper) -> None:
        self._session = session
        self.rows: Counter[str] = Counter()
        self.is_over = False

    def until(self, query: str, count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self.rows[query] < count and not self.is_over:
            assert time.monotonic() < deadline, dict(self.rows)
            self.is_over, outs = self._session.step(timeout_ms=5)
            for out in outs:
                self.rows[out.node] += sum(n for _, n in out.rows)

    def to_the_end(self) -> None:
        self.until("nothing", 1)


@pytest.mark.parametrize("form", FORMS)
def test_a_fifo_that_nobody_writes_to_holds_up_its_own_interface_only(
    tmp_path: Path, form: str
) -> None:
    with fifos(tmp_path) as (east, west, session):
        reader = Reader(session)
        east.write(FORMS[form](CAPTURE))
        if form == "plain":
            reader.until("east", 45)
            assert reader.rows == {"east": 45}
        east.end()
        reader.until("east", len(PACKETS))
        assert reader.rows["west"] == 0
        west.write(CAPTURE)
        west.end()
        reader.to_the_end()
    assert reader.rows["east"] == reader.rows["west"] == len(PACKETS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stop", [1, 2, 3, 4, 10, 23, 24, 60])
def test_a_pipe_that_stops_in_its_beginning(tmp_path: Path, form: str, stop: int) -> None:
    """In the middle of its magic, of its header, of a record; plain or compressed."""
    data = FORMS[form](CAPTURE)
    with fifos(tmp_path) as (east, west, session):
        reader = Reader(session)
        west.write(data[:stop])
        east.write(CAPTURE)
        reader.until("east", 45)
        assert reader.rows["west"] == 0
        west.write(data[stop:])
        west.end()
        reader.until("west", len(PACKETS))
        east.end()
        reader.to_the_end()
    assert reader.rows["east"] == reader.rows["west"] == len(PACKETS)


def test_a_pipe_is_read_though_a_file_never_waits(tmp_path: Path) -> None:
    """What it says while a file is read comes before that file's end."""
    path = tmp_path / "large.pcap"
    path.write_bytes(pcap([packet(200 + at / 500, 1) for at in range(50_000)], magic=NANOSECONDS))
    west = Writer(tmp_path / "west")
    sources = [FileSource("west", str(west.path)), FileSource("east", str(path))]
    with Stepper(PLAN, sources, SETTINGS) as session:
        reader = Reader(session)
        for _ in range(10):
            session.step()
        west.write(CAPTURE)
        reader.until("west", 45)
        (_, is_west_over), (read, is_east_over) = session.progress()
        assert (is_west_over, is_east_over) == (False, False)
        assert read < 50_000
        west.end()
        reader.to_the_end()
    assert reader.rows == {"west": len(PACKETS), "east": 50_000}


def test_a_session_that_is_left_while_a_compressed_pipe_is_silent_keeps_nothing(
    tmp_path: Path,
) -> None:
    gc.collect()  # what an earlier test has left open would go meanwhile
    before = set(os.listdir("/proc/self/fd"))
    with fifos(tmp_path) as (east, west, session):
        west.write(gzip.compress(CAPTURE)[:100])
        east.write(CAPTURE)
        Reader(session).until("east", 45)
        west.end()
        east.end()
        os.close(os.open(west.path, os.O_RDWR))
    assert set(os.listdir("/proc/self/fd")) == before


def writing(fifo: Path, reader: subprocess.Popen[str]) -> int:
    """A descriptor to write to a FIFO by, once it is read."""
    found: list[int] = []

    def is_read() -> bool:
        with suppress(OSError):  # ENXIO: nobody reads it yet
            found.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(found) or reader.poll() is not None

    wait_until(is_read, "a reader")
    return found[0]


@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_while_all_are_silent(tmp_path: Path, count: int) -> None:
    """Nothing was opened that could not be left."""
    words = []
    for number in range(count):
        os.mkfifo(tmp_path / str(number))
        words += ["-r", f"i{number}={tmp_path / str(number)}"]
    query = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/10 AS tb"
    command = [*COMMAND, "run", "-e", query, *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        writers = [writing(tmp_path / str(n), process) for n in range(count)]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
        for writer in writers:
            os.close(writer)
    assert process.returncode == 0, said
    assert said.count("read 0 = decoded 0") == count

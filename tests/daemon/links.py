# SPDX-License-Identifier: Apache-2.0
"""Packets that carry their number over a daemon's link, and what its answers must say of them."""

from __future__ import annotations

import csv
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from gigastream.engine.statistics import SourceStatistics
from tests.daemon.resident import Daemon
from tests.live.namespace import Namespace, need, wait_for_delivery
from tests.processes import catches, holds_back
from tests.waiting import PATIENCE_S, wait_until

NUMBERS = """DEFINE { query_name numbers; } PARAM { least uint 0; }
    SELECT tb, count(*) AS n, sum(sequence_number) AS total, min(sequence_number) AS first,
        max(sequence_number) AS last
    FROM TCP WHERE data_length >= $least GROUP BY time AS tb"""
"""In windows of a second; every packet is longer than any value that tests give `least`."""
FLOWS = """DEFINE { query_name flows; }
    SELECT tb, srcIP, count(*) AS n, sum(sequence_number) AS total
    FROM TCP GROUP BY time AS tb, srcIP"""
EACH = "DEFINE { query_name each; } SELECT time, sequence_number FROM TCP"
GUESTS = tuple(
    f"DEFINE {{ query_name guest; }} SELECT tb, srcIP, count(*) AS n, max(len + {each}) AS most "
    "FROM IP WHERE len >= 40 GROUP BY time AS tb, srcIP"
    for each in range(3)
)
FAST = 100_000
_TERMS = ("undecodable", "filtered", "late", "skew", "sampled_out", "decoded")
_CHUNK = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"


@functools.cache
def _sender(name: str) -> Path:
    """A program, made once a session."""
    need("cc")
    folder = Path(tempfile.mkdtemp(prefix="gigastream-numbered-"))
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", "-o", folder / name, source], check=True)
    return folder / name


@dataclass
class Sender:
    """Sends from the far end of the cable until it is stopped, or has sent all.

    More than FAST packets a second do not pass a socket: they are put into the near end, whose own
    counters do not count them.
    """

    space: Namespace
    rate: int = 20_000
    flows: int = 64
    size: int = 100
    vlan: int = 0
    first: int = 0
    sent: int = 0
    seconds: float = 0
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self, count: int = 0) -> None:
        """Begin, with a second; 0: without an end.

        Windows that run while a daemon or a set begins are cut: in the next one nothing is.
        """
        words = (self.space.far, self.rate, count, self.flows, self.size, self.vlan, self.first)
        program: tuple[object, ...] = (_sender("numbered"), *words)
        if self.rate > FAST:
            program = (_sender("numbered_fast"), self.space.near, self.rate, self.flows)
        time.sleep(1 - time.time() % 1)
        self._process = self.space.start(*program, stdout=subprocess.PIPE)

    def stop(self) -> int:
        """End it, in good order; how many it has sent."""
        process = self._process
        assert process is not None
        minds = holds_back if self.rate > FAST else catches
        wait_until(lambda: minds(process.pid, signal.SIGTERM), "the sender to mind signals")
        process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Until it has sent all."""
        assert self._process is not None
        said, _ = self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == 0
        sent, seconds = said.split()
        self.sent, self.seconds = int(sent), float(seconds)
        wait_for_delivery()
        return self.sent

    def kill(self) -> None:
        """In any case."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)


@contextmanager
def sending(space: Namespace, **how: int) -> Iterator[Sender]:
    """Traffic while we do something; then all is sent and delivered."""
    sender = Sender(space, **how)
    sender.start()
    try:
        yield sender
        sender.stop()
    finally:
        sender.kill()


def send(space: Namespace, count: int, **how: int) -> int:
    """So many packets; how many were sent."""
    sender = Sender(space, **how)
    sender.start(count)
    try:
        return sender.wait()
    finally:
        sender.kill()


# ---- rows ----


def rows_of(daemon: Daemon, name: str) -> list[dict[str, int]]:
    """Of a set's CSV, but `srcIP`; a line that is not whole is one that is wrong."""
    path = daemon.folder / "out" / f"{name}.csv"
    text = path.read_text()
    assert text.endswith("\n") or not text, f"a row that is not whole: {text[-80:]!r}"
    return [
        {name: int(value) for name, value in row.items() if name != "srcIP"}
        for row in csv.DictReader(text.splitlines())
    ]


def check_whole(rows: list[dict[str, int]]) -> None:
    """Of NUMBERS: each window once, in order; in it no packet is missing or double."""
    windows = [row["tb"] for row in rows]
    assert windows == sorted(set(windows)), "a window twice, or one behind another"
    for row in rows:
        assert row["n"] == row["last"] - row["first"] + 1, row
        assert row["total"] == row["n"] * (row["first"] + row["last"]) // 2, row


def check_all(rows: list[dict[str, int]], sent: int, first: int = 0) -> None:
    """Every packet is in one window: none is missing or double."""
    check_whole(rows)
    ends = [first - 1, *(row["last"] for row in rows)]
    assert [row["first"] for row in rows] == [end + 1 for end in ends[:-1]]
    assert ends[-1] == first + sent - 1


def totals(rows: Iterable[dict[str, int]]) -> tuple[int, int]:
    """Packets, and the sum of their numbers."""
    found = list(rows)
    return sum(row["n"] for row in found), sum(row["total"] for row in found)


def sums(sent: int) -> tuple[int, int]:
    """What `totals` must be of so many packets from number 0 on."""
    return sent, sent * (sent - 1) // 2


# ---- the account ----


def wait_for_all(daemon: Daemon, sent: int) -> tuple[SourceStatistics, ...]:
    """Until so many were received, by the kernel's count, and read or dropped."""
    wait_until(lambda: _received(daemon) >= sent, f"{sent} packets")
    return check_account(daemon, sent)


def _received(daemon: Daemon) -> int:
    report = daemon.status().report
    sources = () if report is None else report.sources
    return sum(source.read + source.kernel_dropped for source in sources)


def check_account(daemon: Daemon, sent: int) -> tuple[SourceStatistics, ...]:
    """Sent = received = dropped + undecodable + filtered + late + skew + sampled out + decoded."""
    sources = daemon.report().sources
    check_sources(sources, sent)
    return sources


def check_sources(sources: tuple[SourceStatistics, ...], sent: int) -> None:
    """Of one incarnation whose links have had so many packets."""
    for source in sources:
        assert source.read == sum(getattr(source, term) for term in _TERMS)
        assert source.kernel_received == source.read + source.kernel_dropped
    assert sum(source.kernel_received for source in sources) == sent


def check_metrics(daemon: Daemon, address: str, sent: int) -> None:
    """The metrics say what the status says."""
    said = daemon.space.run(sys.executable, "-c", _CHUNK, f"http://{address}/metrics")
    lines = [line for line in said.splitlines() if not line.startswith("#")]
    by_name = {
        name: sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))
        for name in ("gigastream_received_packets_total{", "gigastream_packets_total{")
    }
    assert list(by_name.values()) == [sent, sent], said


def received_by_device(space: Namespace, device: str) -> tuple[int, int]:
    """Packets and drops, by /proc/net/dev."""
    for line in space.run("cat", "/proc/net/dev").splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == device:
            found = [int(count) for count in counts.split()]
            return found[1], found[3]
    raise AssertionError(f"no {device}")


# ---- the capture process ----


def capture_pid(daemon: Daemon) -> int:
    """Of the one that is there, or comes."""
    found: list[int] = []

    def is_there() -> bool:
        pid = daemon.status().capture_pid
        found[:] = [] if pid is None else [pid]
        return bool(found)

    wait_until(is_there, "a capture process")
    return found[0]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that does nothing meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def pulse_until(daemon: Daemon, is_so: Callable[[], bool], what: str) -> None:
    """Stop the capture process again and again, so that the ring fills, until it is so."""
    pid = capture_pid(daemon)

    def is_so_now() -> bool:
        with stopped(pid):
            wait_until(_fills(daemon), "the ring to fill")
        return is_so()

    wait_until(is_so_now, what)


def _fills(daemon: Daemon) -> Callable[[], bool]:
    """Whether as many packets have come since as its ring has place for."""
    begun, _ = received_by_device(daemon.space, daemon.space.near)
    return lambda: received_by_device(daemon.space, daemon.space.near)[0] - begun > RING_PACKETS


RING_PACKETS = 6000
"""More than a ring of 1 MiB has place for: each takes 184 bytes or more, headers among them."""

# SPDX-License-Identifier: Apache-2.0
"""A program: root keeps a link's packet sockets; readers, one after another, are killed at work.

    python -m tests.live.adopted DEVICE PEER RINGS KILLS SEED

Numbered packets go into PEER all the while, no more than the rings hold beyond those that were told
of. It says as JSON how many were sent, and of each reader the numbers that it told of and its
counters: when it had opened, and of the last, which is asked to end, at the end.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import socket
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.live import open_packet_sockets
from gigastream.plan import Plan
from gigastream.settings import Settings
from gigastream.sources.live import LiveSettings, LiveSource, adopted_rings
from tests.engine.stepping import plan_of
from tests.live.numbers import PACE_PACKETS, PACE_S, numbered, send_one
from tests.waiting import PATIENCE_S, wait_until

QUERY = "SELECT timestamp, srcMAC FROM ETH"
TURN_PACKETS = 16
"""What a reader reads before it tells of it."""
SETTINGS = Settings(burst=TURN_PACKETS, batch_rows=TURN_PACKETS, deliver_every_burst=True)
MOST_BYTES = 20000
"""Of rows of a reader that is killed, from which on it is."""
BLOCK_BYTES = 1 << 16
MOST_AHEAD = 20_000
"""Packets that may be sent beyond the last that was told of: more than all readers take along."""


def settings_of(rings: int) -> LiveSettings:
    """Blocks that are small, so that there are many, in a ring that holds all that is sent."""
    return LiveSettings(ring_bytes=32 << 20, block_bytes=BLOCK_BYTES, retire_ns=10**7, fanout=rings)


class Told:
    """The greatest number that a reader has told of: what processes that are forked share."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    @property
    def number(self) -> int:
        return int.from_bytes(self._memory[:], "little")

    def add(self, rows: bytes) -> None:
        """Take note of rows; readers come one after another."""
        numbers = (number_in(line) for line in rows.decode().splitlines())
        self._memory[:] = max(self.number, *numbers, 0).to_bytes(8, "little")


class _Child:
    """A forked process that runs a function until it is told to end."""

    def __init__(self, work: Any, *arguments: Any) -> None:
        self.is_to_end = False
        self.pid = os.fork()
        if self.pid == 0:
            signal.signal(signal.SIGTERM, self._mind)
            code = 1
            try:
                work(self, *arguments)
                code = 0
            finally:
                os._exit(code)

    def _mind(self, *_: object) -> None:
        self.is_to_end = True

    def end(self, number: signal.Signals) -> int:
        """Its status, as waitpid says it."""
        os.kill(self.pid, number)
        return os.waitpid(self.pid, 0)[1]


def send(child: _Child, device: str, said: Path, told: Told) -> None:
    """Send until told to end, then say how many."""
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((device, 0))
    sent = 0
    while not child.is_to_end:
        for _ in range(PACE_PACKETS if sent < told.number + MOST_AHEAD else 0):
            sent += send_one(link, numbered(sent))
        signal.sigtimedwait([], PACE_S)
    said.write_text(str(sent))


def counted(engine: Engine) -> bytes:
    """The counters, as a line."""
    return json.dumps([asdict(source) for source in engine.statistics()]).encode() + b"\n"


def read(
    child: _Child, plan: Plan, links: list[LiveSource], told: Told, rows: Path, counters: Path
) -> None:
    """Go on where the reader before was, and tell of each turn's packets."""
    out = os.open(rows, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with AttachedSet(plan, SETTINGS) as queries, Engine(SETTINGS) as engine:
        for link in links:
            engine.add_link(link)
        engine.attach(queries)
        engine.start()
        with counters.open("ab", buffering=0) as file:
            file.write(counted(engine))
            while engine.run(TURN_PACKETS, 10):
                tell(queries, out, told)
                if child.is_to_end:
                    engine.stop()
            tell(queries, out, told)
            file.write(counted(engine))


def tell(queries: AttachedSet, out: int, told: Told) -> None:
    """Write the rows there are."""
    rows = b"".join(event.batch.csv() for event in queries.taken() if event.batch.row_count)
    os.write(out, rows)
    told.add(rows)


def number_in(line: str) -> int:
    """Of a row."""
    return int(line.split(",")[1].replace(":", ""), 16)


def numbers_in(path: Path) -> list[int]:
    """Of a reader."""
    text = path.read_text() if path.exists() else ""
    lines = text.split("\n")[:-1]  # the last may be torn
    return [number_in(line) for line in lines]


def wait_for_rows(path: Path, size: int) -> None:
    """Until there are so many bytes of them; sees it soon, or the reader would be idle again."""
    ends = time.monotonic() + PATIENCE_S
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < ends, "no packets"
        os.sched_yield()


def account(rows: Path, counters: Path) -> dict[str, Any]:
    """Of a reader."""
    lines = counters.read_text().splitlines() if counters.exists() else []
    return {"numbers": numbers_in(rows), "counters": [json.loads(line) for line in lines]}


def main(device: str, peer: str, rings: str, kills: str, seed: str) -> None:
    """Run."""
    plan, rng = plan_of(QUERY, ("link",)), random.Random(int(seed))
    settings = settings_of(int(rings))
    sockets = open_packet_sockets(device, settings)
    links = adopted_rings("link", device, settings, sockets)
    found, told = [], Told()
    with tempfile.TemporaryDirectory(prefix="gigastream-test-") as name:
        folder = Path(name)
        sender: _Child | None = None
        for turn in range(int(kills) + 1):
            files = folder / f"rows.{turn}", folder / f"counters.{turn}"
            reader = _Child(read, plan, links, told, *files)
            if sender is None:  # what comes before the first reader is nobody's
                wait_until(files[1].exists, "the first reader")
                sender = _Child(send, peer, folder / "sent", told)
            is_last = turn == int(kills)
            if is_last or rng.random() < 0.8:
                wait_for_rows(files[0], rng.randrange(MOST_BYTES))
            if is_last:
                assert sender.end(signal.SIGTERM) == 0
            status = reader.end(signal.SIGTERM if is_last else signal.SIGKILL)
            assert status == (0 if is_last else signal.SIGKILL), status
            found.append(account(*files))
        sent = int((folder / "sent").read_text())
    print(json.dumps({"sent": sent, "readers": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])

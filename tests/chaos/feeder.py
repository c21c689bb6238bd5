# SPDX-License-Identifier: Apache-2.0
"""Packets into pipes at a pace, whoever reads: a reader that died gets nothing again."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator

from tests.engine.traffic import EPOCH_NS, HOST, SECOND_NS
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap, pcap_record

HEADER = pcap([], magic=NANOSECONDS)
PACKETS_PER_SECOND = 1_000
BURSTS_PER_SECOND = 20
TIME_FACTOR = 10
"""Packets' clocks go so much faster than ours: more windows end between two kills."""
GAP_NS = TIME_FACTOR * SECOND_NS // PACKETS_PER_SECOND
HOSTS = 40
MAX_PAYLOAD_BYTES = 1_000
STEP_BACK_NS = SECOND_NS // 2
MICROSECOND_NS = 1_000
NUMBER_BITS = 28


def packets(seed: int, interface: int) -> Iterator[Packet]:
    """An interface's traffic without end: several hosts, some packets a little out of order.

    The destination is the packet's number, so that no two packets of all interfaces are alike.
    """
    chance = random.Random(f"{seed}/{interface}")
    numbers = interface << NUMBER_BITS
    for number in range(1, 1 << NUMBER_BITS):
        at_ns = EPOCH_NS + number * GAP_NS
        if chance.random() < 0.05:
            at_ns -= chance.randrange(0, STEP_BACK_NS, MICROSECOND_NS)
        source = HOST + chance.randrange(HOSTS)
        payload = bytes(chance.randrange(MAX_PAYLOAD_BYTES))
        datagram = frames.udp(53, 5000, payload)
        content = frames.ipv4(source, numbers | number, frames.UDP, datagram)
        yield Packet(at_ns, frames.ethernet(frames.ETHERTYPE_IPV4, content))


class Feeder:
    """A thread that writes one interface's packets into the pipe that it was given last."""

    def __init__(self, seed: int, interface: int) -> None:
        self.sent = 0
        self._packets = packets(seed, interface)
        self._lock = threading.Lock()
        self._pipe: int | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def attach(self) -> int:
        """Return the reading end of a new pipe, which begins with a capture's header."""
        reading, writing = os.pipe()
        os.write(writing, HEADER)
        with self._lock:
            self._close()
            self._pipe = writing
        return reading

    def finish(self) -> None:
        """End the traffic and with it the pipe."""
        self._is_over.set()
        self._thread.join()
        with self._lock:
            self._close()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._is_over.wait(max(0.0, due - time.monotonic())):
            due += 1 / BURSTS_PER_SECOND
            burst = [next(self._packets) for _ in range(PACKETS_PER_SECOND // BURSTS_PER_SECOND)]
            with self._lock:
                self._write(b"".join(pcap_record(p, magic=NANOSECONDS) for p in burst))
            self.sent += len(burst)

    def _write(self, data: bytes) -> None:
        """To whoever reads; without one the packets have gone by."""
        if self._pipe is None:
            return
        try:
            while data:
                data = data[os.write(self._pipe, data) :]
        except BrokenPipeError:
            self._close()

    def _close(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

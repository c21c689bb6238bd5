# SPDX-License-Identifier: Apache-2.0
"""Live links without a kernel, and a session over them whose clock stands where it is put.

Rings, requests, heartbeats and operators are the product's own; only the kernel and the wall clock
are played, so that hours pass in seconds and every run is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from packets import SECOND_NS, START_S

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import check
from gigastream.engine.events import Event
from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.live import LiveSettings, LiveSource
from gigastream.timestamps import Timestamps

START_NS = START_S * SECOND_NS
_ETHERNET = 1
_BLOCK_BYTES, _BLOCKS = 1 << 12, 4
_BUDGET = 1 << 20


class Ring:
    """A ring that frames are written into as the kernel would."""

    def __init__(self) -> None:
        ring = lib.gs_mock_ring_new(_BLOCK_BYTES, _BLOCKS, _ETHERNET)
        self._ring = ffi.gc(ring, lib.gs_mock_ring_free)

    def receive(self, timestamp_ns: int, frame: bytes) -> None:
        """Let a frame come in, and be seen at once."""
        packet, data = ffi.new("struct gs_mock_packet *"), ffi.from_buffer(frame)
        packet.timestamp_ns, packet.bytes = timestamp_ns, ffi.cast("const uint8_t *", data)
        packet.caplen = packet.len = len(frame)
        if not lib.gs_mock_ring_receive(self._ring, packet):
            raise RuntimeError("the ring is full")
        lib.gs_mock_ring_retire(self._ring)

    def source(self, interface: str, timestamps: Timestamps) -> LiveSource:
        """It as the link of an interface."""
        device = lib.gs_mock_ring_device(self._ring)
        return LiveSource(interface, interface, LiveSettings(), device, timestamps=timestamps)


class VirtualSession(Session):
    """A session over rings."""

    def __init__(
        self, plan: Plan, rings: dict[str, Ring], timestamps: Timestamps, settings: Settings
    ) -> None:
        sources = [ring.source(name, timestamps) for name, ring in rings.items()]
        super().__init__(plan, sources, settings)

    def until_idle(self, now_ns: int) -> Iterator[Event]:
        """Let it be that time since START_NS; give all that comes before there is nothing to do."""
        lib.gs_engine_set_clock(self._engine.native, now_ns, START_NS + now_ns)
        error, status, new = ffi.new("struct gs_error *"), lib.GS_OK, [None]
        while new or status == lib.GS_OK:
            status = check(int(lib.gs_engine_run(self._engine.native, _BUDGET, 0, error)), error)
            yield from (new := list(self._queries.taken()))

# SPDX-License-Identifier: Apache-2.0
"""A link without a kernel, and a session whose clock stands where the test puts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import check
from gigastream.engine.events import Event
from gigastream.engine.statistics import SourceStatistics
from gigastream.sessions.session import Session
from gigastream.sources.live import LiveSettings, LiveSource
from tests.engine.stepping import Out, out_of

ETHERNET = 1
SECOND_NS = 10**9
MS_NS = 10**6
START_NS = 1_700_000_000 * SECOND_NS
BUDGET = 1 << 20


@dataclass(frozen=True)
class Frame:
    """A frame as the kernel gets it, its outer tag (type, control) apart."""

    timestamp_ns: int
    data: bytes
    length: int
    tag: tuple[int, int] | None = None

    @property
    def on_the_wire(self) -> bytes:
        """What was captured of it, the tag in its place."""
        if self.tag is None:
            return self.data
        tag = b"".join(part.to_bytes(2, "big") for part in self.tag)
        return self.data[:12] + tag + self.data[12:]


def frame(timestamp_ns: int, size: int = 60, fill: int = 0) -> Frame:
    """A frame of no protocol that we know."""
    data = bytes([fill % 256]) * 12 + b"\x88\xb5" + bytes(max(0, size - 14))
    return Frame(timestamp_ns, data, len(data))


class MockLink:
    """A ring that the test writes into as the kernel would."""

    def __init__(self, block_bytes: int = 1 << 12, block_count: int = 4) -> None:
        ring = lib.gs_mock_ring_new(block_bytes, block_count, ETHERNET)
        self.ring = ffi.gc(ring, lib.gs_mock_ring_free)

    def receive(self, *frames: Frame) -> int:
        """Let frames come in; return how many found room."""
        return sum(self._receive(one) for one in frames)

    def retire(self) -> None:
        """Let the retire timeout pass."""
        lib.gs_mock_ring_retire(self.ring)

    def set_state(self, state: int) -> None:
        """Let the link go up (1), down (2), or be removed (3)."""
        lib.gs_mock_ring_set_link_state(self.ring, state)

    def open_block(self, size: int) -> Any:
        """The memory of the block that is written."""
        return ffi.buffer(lib.gs_mock_ring_open_block(self.ring), size)

    def source(self, interface: str = "link", **settings: Any) -> LiveSource:
        """The link as a source of an interface."""
        return LiveSource(
            interface, interface, LiveSettings(**settings), lib.gs_mock_ring_device(self.ring)
        )

    def _receive(self, one: Frame) -> bool:
        packet, data = ffi.new("struct gs_mock_packet *"), ffi.from_buffer(one.data)
        packet.timestamp_ns, packet.bytes = one.timestamp_ns, ffi.cast("const uint8_t *", data)
        packet.caplen, packet.len = len(one.data), one.length
        if one.tag is not None:
            packet.has_tag, (packet.tag_type, packet.tag_control) = True, one.tag
        return bool(lib.gs_mock_ring_receive(self.ring, packet))


class MockSession(Session):
    """A session whose clocks, both of them unless `wall_ns` says else, stand at `set_clock`."""

    def set_clock(self, monotonic_ns: int, wall_ns: int | None = None) -> None:
        """Let it be that time; START_NS is when the monotonic clock is 0 and all is well."""
        wall = START_NS + monotonic_ns if wall_ns is None else wall_ns
        lib.gs_engine_set_clock(self._engine.native, monotonic_ns, wall)

    def read(self, packets: int) -> None:
        """Read so many packets at most, as long as nothing is put out."""
        error = ffi.new("struct gs_error *")
        check(int(lib.gs_engine_run(self._engine.native, packets, 0, error)), error)

    def events(self) -> Iterator[Event]:
        """All that is put out before the engine has nothing more to do at this time."""
        error = ffi.new("struct gs_error *")
        status, new = lib.GS_OK, []
        while new or status == lib.GS_OK:
            status = check(int(lib.gs_engine_run(self._engine.native, BUDGET, 0, error)), error)
            yield from (new := list(self._queries.taken()))

    def outs(self) -> list[Out]:
        """The same, copied out of the engine."""
        return [out_of(event.query, event.batch) for event in self.events()]

    def csv(self) -> bytes:
        """The same, rows only, as csv."""
        return b"".join(event.batch.csv() for event in self.events() if event.batch.row_count)

    def rows(self) -> list[tuple[Any, ...]]:
        """The same, rows only."""
        return [row for out in self.outs() for row in out.rows]

    def finish(self) -> None:
        """The input ends here."""
        self._engine.stop()

    def end(self) -> list[tuple[Any, ...]]:
        """The input ends here; the rows that this brings."""
        self.finish()
        return self.rows()

    def source(self, index: int = 0) -> SourceStatistics:
        """The counters of a source."""
        return self.statistics().sources[index]


def seconds(rows: Sequence[tuple[Any, ...]]) -> dict[int, int]:
    """Rows (time, count) with time counted from START_NS."""
    return {time - START_NS // SECOND_NS: count for time, count in rows}

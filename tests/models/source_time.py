# SPDX-License-Identifier: Apache-2.0
"""Time at a source: H, the promise W, and which packets are late (OPERATORS §2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.models.bounds import END, NEVER, Bound

DEFAULT_DISORDER_BYTES = 16 << 20
DEFAULT_SLACK_NS = 1_000_000_000


@dataclass(frozen=True)
class Reading:
    """What a source knows as a packet is read, before the packet enters."""

    high: Bound
    promise: Bound
    late: bool


class HighTimestamp:
    """H: the greatest timestamp that two consecutive packets have both reached."""

    def __init__(self) -> None:
        self.value: Bound = NEVER
        self._previous: int | None = None

    def observe(self, timestamp: int | None) -> None:
        """Count a packet; one without a usable timestamp does not count."""
        if timestamp is None:
            return
        if self._previous is not None:
            self.value = max(self.value, min(self._previous, timestamp))
        self._previous = timestamp


class FileTime:
    """A capture file: W follows from the bytes, block by block.

    The file is cut into blocks of `disorder_bytes`; a record belongs to the block in which it
    begins, and a block in which none begins is not counted. None is `--disorder all`.
    """

    def __init__(self, disorder_bytes: int | None = DEFAULT_DISORDER_BYTES) -> None:
        self._disorder_bytes = disorder_bytes
        self._high = HighTimestamp()
        self._promise: Bound = NEVER
        self._block = 0
        self._least_before: Bound | None = None
        self._least: Bound | None = None

    def read(self, timestamp: int | None, file_offset: int = 0) -> Reading:
        """The next packet of the file, which begins at this byte of its uncompressed content."""
        if self._disorder_bytes is not None:
            self._enter_block(file_offset // self._disorder_bytes)
        self._high.observe(timestamp)
        if self._least is None:
            self._least = END
        if timestamp is not None:
            self._least = min(self._least, timestamp)
        late = timestamp is not None and timestamp < self._promise
        return Reading(self._high.value, self._promise, late)

    def _enter_block(self, block: int) -> None:
        if block == self._block:
            return
        self._block = block
        if self._least is not None:
            self._end_block(self._least)

    def _end_block(self, least_in_block: Bound) -> None:
        if self._least_before is not None:
            least = min(self._least_before, least_in_block)
            self._promise = max(self._promise, NEVER if least == END else least)
        self._least_before, self._least = least_in_block, None


class PipeTime:
    """A pipe or record stream, or a file under `--slack` or `--speed`: W = H - slack."""

    def __init__(self, slack_ns: int = DEFAULT_SLACK_NS) -> None:
        self._slack_ns = slack_ns
        self._high = HighTimestamp()

    def read(self, timestamp: int | None, file_offset: int = 0) -> Reading:
        """The next packet of the stream; where it begins does not matter."""
        self._high.observe(timestamp)
        promise = self._high.value - self._slack_ns
        late = timestamp is not None and timestamp < promise
        return Reading(self._high.value, promise, late)


SourceTime = FileTime | PipeTime


@dataclass(frozen=True)
class BeforeOpening:
    """What is known of a file that is not yet opened, from its first two blocks."""

    least: Bound
    """Timestamp; END: it has no records."""
    high: Bound
    """H behind them; END: nothing is behind them."""

    def promise(self, slack_ns: int | None) -> Bound:
        """By blocks the least timestamp; by slack no more than W will be behind these blocks."""
        return self.least if slack_ns is None else min(self.least, self.high - slack_ns)


def before_opening(records: Iterable[tuple[int | None, int]], disorder_bytes: int) -> BeforeOpening:
    """See a file's first two blocks; `records` are (timestamp, file offset) in the file's order."""
    blocks: list[int] = []
    least: Bound = END
    high = HighTimestamp()
    goes_on = False
    for timestamp, offset in records:
        block = offset // disorder_bytes
        if block not in blocks:
            blocks.append(block)
        if len(blocks) > 2:
            goes_on = True
            break
        high.observe(timestamp)
        least = least if timestamp is None else min(least, timestamp)
    least = NEVER if least == END and blocks else least
    return BeforeOpening(least, high.value if goes_on else END)


class InterfaceTime:
    """The union of an interface's sources: the least H and the least W of those not yet ended.

    A source that is still to come stands with the promise that its headers gave, for both.
    """

    def __init__(self, promises: dict[str, Bound]) -> None:
        self._kept = dict(promises)
        self._high = dict(promises)
        self._promise = dict(promises)
        self._highest: tuple[Bound, Bound] = (NEVER, NEVER)

    def read(self, source: str, reading: Reading) -> tuple[Bound, Bound]:
        """(H, W) of the interface after a packet of one source was read."""
        self._high[source] = max(self._high[source], reading.high)
        self._promise[source] = max(self._kept[source], reading.promise)
        return self._least()

    def end(self, source: str) -> tuple[Bound, Bound]:
        """(H, W) of the interface after a source ended."""
        self._high[source] = self._promise[source] = END
        return self._least()

    def _least(self) -> tuple[Bound, Bound]:
        high, promise = min(self._high.values()), min(self._promise.values())
        self._highest = max(self._highest[0], high), max(self._highest[1], promise)
        return self._highest


class HeartbeatTimer:
    """In replay a heartbeat fires when floor(H / period) grows, once however large the jump."""

    def __init__(self, period_ns: int = 1_000_000_000) -> None:
        self._period_ns = period_ns
        self._beat: Bound = NEVER

    def due(self, high: Bound) -> bool:
        """Whether a heartbeat fires before the packet that brought H to this value enters."""
        beat = high if high in (NEVER, END) else high // self._period_ns
        due = beat > self._beat
        self._beat = max(self._beat, beat)
        return due

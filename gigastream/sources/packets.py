# SPDX-License-Identifier: Apache-2.0
"""Packets from memory as a source: pairs of time and bytes, scapy's packets, a dpkt reader.

A thread takes them and writes a pcapng into a pipe, which the engine reads as any other: so their
answer is that of a capture with the same packets, an endless iterable is read as its answer is
taken, and what is wrong with one of them ends the source like damage in a file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite
from operator import index
from typing import Any, NamedTuple

from gigastream.late_dataclass import dataclass
from gigastream.link_types import LINK_TYPES, known_names
from gigastream.sources.files import DEFAULT_INTERFACE, SourceError, telling
from gigastream.sources.pipes import fed_pipe
from gigastream.timestamps import Timestamps, whole_units
from gigastream.words import counted, kind_of

_RAW_OF_LIBPCAP = (12, 14)
"""What libpcap calls raw IP, whose number in files is another."""
_SCAPY_LINK_TYPES = {
    "Ether": 1,
    "Dot3": 1,
    "Loopback": 0,
    "PPP": 9,
    "IP": 101,
    "IPv6": 101,
    "Dot11": 105,
    "CookedLinux": 113,
    "RadioTap": 127,
    "CookedLinuxV2": 276,
}
"""By the name of a packet's outermost layer."""
_LONGEST = 262_144
_MOST_DIGITS = 20
_SECOND_NS = 10**9
_MOST_NS = (1 << 63) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BUFFER_BYTES = 1 << 16
_WHAT = "a packet is a pair (time, bytes) or a packet of scapy's"


class PacketError(SourceError):
    """A packet from memory that is none."""


class _ReaderLeftError(Exception):
    """Nobody wants more packets."""


@dataclass(frozen=True, slots=True)
class PacketSource:
    """Packets and the interface whose they are.

    `packets` is an iterable of pairs (time, bytes) or of scapy's packets, or a reader of dpkt's. A
    time is seconds as a float (taken to the microsecond) or a Decimal, nanoseconds as an int, or a
    datetime with a time zone. What has a length (a list, a PacketList) follows a file's rule of
    time, so that a list in any order loses nothing; anything else a pipe's: it may step back by
    `Settings.slack_ns`, a second by default.
    """

    packets: Iterable[Any]
    interface: str = DEFAULT_INTERFACE
    link_type: int | str | None = None
    """A number or name of LINK_TYPES; None: what the packets say themselves, else Ethernet."""
    timestamps: Timestamps | None = None
    """Whose time its packets have; None: what the settings say."""

    @property
    def label(self) -> str:
        """Its name in messages."""
        return "packets"

    @property
    def is_file(self) -> bool:
        """Nothing of it can be read before it is its turn."""
        return False

    @property
    def is_finite(self) -> bool:
        """Whether it has an end, and follows a file's rule of time."""
        return hasattr(self.packets, "__len__")

    def check(self) -> None:
        """Raise SourceError where it is no source, or its link type none."""
        if not hasattr(self.packets, "__iter__") and not hasattr(self.packets, "__getitem__"):
            raise SourceError(
                f"packets of {kind_of(self.packets)}: {_WHAT}", "give an iterable of them"
            )
        self.known_link_type()

    def known_link_type(self) -> int | None:
        """The number that is given, or that the packets' reader says; None: each packet does."""
        given: Any = self.link_type
        if given is None and callable(getattr(self.packets, "datalink", None)):
            given = self.packets.datalink()  # type: ignore[attr-defined]
        if given is None:
            given = getattr(self.packets, "linktype", None)
        return None if given is None else _link_type(given)

    def opening(self) -> OpenPackets:
        """Get ready to read it."""
        return OpenPackets(self)


def _link_type(given: int | str) -> int:
    number = LINK_TYPES.get(given.upper()) if isinstance(given, str) else given
    number = LINK_TYPES["RAW"] if number in _RAW_OF_LIBPCAP else number
    if number is None or number not in LINK_TYPES.values():
        raise SourceError(f"link type {given!r} is not supported", f"one of {known_names()}")
    return number


class OpenPackets:
    """Packets on their way into a pipe; like an OpenSource."""

    first_bytes = b""
    compressed_bytes = None
    total_bytes = 0

    def __init__(self, source: PacketSource) -> None:
        """Nothing is taken before it is this source's turn."""
        self._source = source
        self.is_pipe = not source.is_finite
        self.descriptor = -1
        self.damage: str | None = None
        self.failure: BaseException | None = None
        """What an iterable raised, or was found wrong with a packet."""

    def advance(self) -> bool:
        """Start the thread. SourceError; NoRoomError: not now."""
        if self.descriptor < 0:
            with telling(self._source.label):
                self.descriptor, _ = fed_pipe(self._run)
        return True

    def close(self) -> None:
        """Close the descriptor; the thread ends when it has its next packet."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _run(self, writer: int) -> None:
        """Deliver everything; what is wrong is known before the pipe ends."""
        blocks = _Blocks(self._source.known_link_type())
        # what may wait for its next packet must not keep the last one back
        pending = _Pending(writer, 0 if self.is_pipe else _BUFFER_BYTES)
        try:
            with suppress(_ReaderLeftError):
                pending.add(_SECTION)
                self._deliver(blocks, pending)
                pending.flush()
        finally:
            os.close(writer)

    def _deliver(self, blocks: _Blocks, pending: _Pending) -> None:
        """Write packets until they end, or one is none."""
        try:
            for packet in self._source.packets:
                pending.add(blocks.of(packet))
        except _ReaderLeftError:
            raise
        except PacketError as problem:
            self.damage, self.failure = f"packet {blocks.count + 1:,}: {problem}", problem
        except BaseException as problem:
            what = f"{type(problem).__name__}: {problem}"
            self.damage = f"the iterable failed after {counted(blocks.count, 'packet')}: {what}"
            self.failure = problem


class _Pending:
    """What is written when there is enough of it."""

    def __init__(self, descriptor: int, enough: int) -> None:
        self._descriptor, self._enough = descriptor, enough
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        self._data += data
        if len(self._data) >= self._enough:
            self.flush()

    def flush(self) -> None:
        view = memoryview(bytes(self._data))
        self._data.clear()
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except BrokenPipeError:
            raise _ReaderLeftError from None


class _Packet(NamedTuple):
    time_ns: int
    data: bytes
    length: int
    link_type: int


class _Blocks:
    """Packets as blocks of a pcapng, each link type an interface that is described once."""

    def __init__(self, link_type: int | None) -> None:
        self._link_type = link_type
        self._interfaces: dict[int, int] = {}
        self.count = 0

    def of(self, packet: Any) -> bytes:
        """The blocks of one more packet."""
        read = _read_packet(packet, self._link_type)
        head = b""
        if read.link_type not in self._interfaces:
            self._interfaces[read.link_type] = len(self._interfaces)
            head += _block(1, struct.pack("=HHI", read.link_type, 0, 0) + _NANOSECONDS)
        self.count += 1
        high, low = divmod(read.time_ns, 1 << 32)
        number, captured = self._interfaces[read.link_type], len(read.data)
        words = struct.pack("=IIIII", number, high, low, captured, read.length)
        return head + _block(6, words + read.data + bytes(-captured % 4))


_NANOSECONDS = struct.pack("=HHB3xHH", 9, 1, 9, 0, 0)
"""Options of an interface: if_tsresol 10^-9."""


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("=I", len(body) + 12)
    return struct.pack("=I", kind) + length + body + length


_SECTION = _block(0x0A0D0D0A, struct.pack("=IHHq", 0x1A2B3C4D, 1, 0, -1))


def _read_packet(packet: Any, link_type: int | None) -> _Packet:
    """Raise PacketError where it is none."""
    if isinstance(packet, tuple | list) and len(packet) == 2:
        time, data = packet
        if not isinstance(data, bytes | bytearray | memoryview):
            raise PacketError(f"its second part is {kind_of(data)}, not bytes; {_WHAT}")
        content = bytes(data)
        length, own_type = len(content), LINK_TYPES["ETHERNET"]
    elif hasattr(packet, "time") and hasattr(type(packet), "__bytes__"):
        time, content = packet.time, bytes(packet)
        length = max(len(content), getattr(packet, "wirelen", None) or 0)
        own_type = _layer_link_type(packet) if link_type is None else link_type
    else:
        raise PacketError(f"it is {kind_of(packet)}; {_WHAT}{_hint_for(packet)}")
    if len(content) > _LONGEST:
        raise PacketError(f"it has {len(content):,} bytes; {_LONGEST:,} are the most")
    return _Packet(nanoseconds(time), content, length, own_type if link_type is None else link_type)


def _hint_for(packet: Any) -> str:
    is_path = isinstance(packet, str | os.PathLike)
    return "; captures are named in a list" if is_path else ""


def _layer_link_type(packet: Any) -> int:
    for kind in type(packet).__mro__:
        if kind.__name__ in _SCAPY_LINK_TYPES:
            return _SCAPY_LINK_TYPES[kind.__name__]
    raise PacketError(
        f"its outermost layer is {type(packet).__name__}, whose link type is not known: "
        "give link_type"
    )


def nanoseconds(time: Any) -> int:
    """Nanoseconds since 1970 of a packet's time; PacketError where it is none."""
    found = next((read(time) for kind, read in _TIMES if isinstance(time, kind)), None)
    if found is None:
        found = _whole(time)
    if not 0 <= found <= _MOST_NS:
        raise PacketError(f"its time {time!r} is not between 1970 and 2262")
    return found


def _of_datetime(time: datetime) -> int:
    if time.tzinfo is None:
        raise PacketError(f"its time {time} has no time zone: replace(tzinfo=UTC) gives it one")
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * _SECOND_NS + since.microseconds * 1000


def _of_decimal(time: Decimal) -> int:
    if not time.is_finite():
        raise PacketError(f"its time {time} is not finite")
    if time.adjusted() > _MOST_DIGITS:
        raise PacketError(f"its time {time} is not between 1970 and 2262")
    return whole_units(time, _SECOND_NS)


def _of_float(time: float) -> int:
    """A float of today has digits for microseconds, and some that mean nothing."""
    if not isfinite(time):
        raise PacketError(f"its time {time} is not finite")
    return round(time * 1_000_000) * 1000


def _whole(time: Any) -> int:
    try:
        if not isinstance(time, bool):
            return index(time)
    except TypeError:
        pass
    raise PacketError(
        f"its time is {kind_of(time)}: seconds as a float or Decimal, nanoseconds as an "
        "int, or a datetime"
    )


_TIMES: tuple[tuple[type, Callable[[Any], int]], ...] = (
    (datetime, _of_datetime),
    (Decimal, _of_decimal),
    (float, _of_float),
)

# SPDX-License-Identifier: Apache-2.0
"""Records as frames: the blocks of a pcapng that the engine reads (csrc/abi/gs_fields_record.h).

Every field has its place, in this host's byte order; strings follow behind, and their places say
where. A record that is none is a frame whose time no clock has, which the engine counts as
undecodable and gives to nobody.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gigastream.gsql.catalog.catalog import RecordField, RecordLayout
from gigastream.gsql.types import Type
from gigastream.records.values import UNIT_NS, converter

MAX_RECORD_BYTES = 262_144
"""As of a packet."""
_CODES = {
    Type.BOOL: "B7x",
    Type.USHORT: "H6x",
    Type.UINT: "I4x",
    Type.INT: "i4x",
    Type.ULLONG: "Q",
    Type.LLONG: "q",
    Type.FLOAT: "d",
    Type.STRING: "II",
    Type.IP: "I4x",
    Type.IPV6: "16s",
    Type.INET: "16s",
    Type.TIMESTAMP: "q",
}
_PACKET = struct.Struct("=IIIIIII")
_LENGTH = struct.Struct("=I")
_OVERHEAD = _PACKET.size + _LENGTH.size
_MOST_NS = (1 << 63) - 1


def _block(kind: int, body: bytes) -> bytes:
    length = _LENGTH.pack(len(body) + 12)
    return _LENGTH.pack(kind) + length + body + length


_USER0 = 147
_NANOSECONDS = struct.pack("=HHB3xHH", 9, 1, 9, 0, 0)
"""Options of an interface: if_tsresol 10^-9."""
HEADER = _block(0x0A0D0D0A, struct.pack("=IHHq", 0x1A2B3C4D, 1, 0, -1)) + _block(
    1, struct.pack("=HHI", _USER0, 0, 0) + _NANOSECONDS
)
"""What stands before the first frame."""


def _frame(time_ns: int, body: bytes) -> bytes:
    size, padding = len(body), -len(body) % 4
    total = _OVERHEAD + size + padding
    head = _PACKET.pack(6, total, 0, time_ns >> 32, time_ns & 0xFFFFFFFF, size, size)
    return b"".join((head, body, b"\0" * padding, _LENGTH.pack(total)))


UNDECODABLE = _frame((1 << 64) - 1, b"")


def clock_frame(time_ns: int) -> bytes:
    """Return what tells the engine the time, and is no record."""
    return _frame(time_ns, b"")


class FrameEncoder:
    """Makes frames of a STREAM's records."""

    def __init__(self, stream: RecordLayout) -> None:
        self._size = stream.size
        self._converters = [
            (converter(field), field.type is Type.STRING) for field in stream.fields
        ]
        self._packer = struct.Struct("=" + "".join(_CODES[field.type] for field in stream.fields))
        self._time = next(n for n, field in enumerate(stream.fields) if field.is_time)
        self._tick = _tick(stream.fields[self._time])

    def frame(self, values: Sequence[object]) -> bytes:
        """Return the frame of a record, with its fields as they arrived. ValueError: it is none."""
        places: list[object] = []
        strings: list[bytes] = []
        end, time = self._size, 0
        for number, ((convert, is_string), value) in enumerate(
            zip(self._converters, values, strict=True)
        ):
            found = convert(value)
            if is_string:
                places += (end, len(found))
                strings.append(found)
                end += len(found)
            else:
                places.append(found)
            if number == self._time:
                time = found * self._tick
        if end > MAX_RECORD_BYTES:
            raise ValueError(f"its {end:,} bytes are more than {MAX_RECORD_BYTES:,}")

        if not 0 <= time <= _MOST_NS:
            raise ValueError("its time is not between 1970 and 2262")
        return _frame(time, self._packer.pack(*places) + b"".join(strings))


def _tick(field: RecordField) -> int:
    """Nanoseconds of one of its values."""
    return 1 if field.type is Type.TIMESTAMP else UNIT_NS[field.unit]

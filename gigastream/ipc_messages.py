# SPDX-License-Identifier: Apache-2.0
"""Arrow's messages looked at before Arrow does: none may unpack to more than it is.

A compressed buffer says itself how large it becomes, and Arrow takes that much memory: two
megabytes may ask for the machine's. Nobody who writes a spool compresses, so none is read. pyarrow
does not tell a message's codec, which stands in a table of FlatBuffers: a table begins with the
distance back to its vtable, which has its own size and then where each field lies, 0 for none.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress

import pyarrow
from pyarrow import ipc

_V5 = 4
"""Format/Schema.fbs, MetadataVersion: before it, a codec could stand in the custom metadata."""
_VERSION, _HEADER = 0, 2
"""Fields of a Message (Format/Message.fbs)."""
_COMPRESSION = 3
"""Field of a RecordBatch."""


def check_uncompressed(stream: pyarrow.Buffer) -> None:
    """Raise pyarrow.ArrowInvalid for an IPC stream of anything but plain record batches."""
    kinds = [checked_message(message).type for message in _messages(stream)]
    if kinds and (kinds[0] != "schema" or set(kinds[1:]) - {"record batch"}):
        raise pyarrow.ArrowInvalid("it has messages that no segment has")


def _messages(stream: pyarrow.Buffer) -> Iterator[ipc.Message]:
    reader = ipc.MessageReader.open_stream(stream)
    with suppress(StopIteration):
        while True:
            yield reader.read_next_message()


def checked_message(message: ipc.Message) -> ipc.Message:
    """Return a message that is not compressed. Raises pyarrow.ArrowInvalid."""
    try:
        if message.type != "schema" and _is_compressed(message.metadata):
            raise pyarrow.ArrowInvalid("it is compressed: how much it becomes is not known before")
    except struct.error:
        raise pyarrow.ArrowInvalid("a message says nothing of itself") from None
    return message


def _is_compressed(metadata: pyarrow.Buffer) -> bool:
    """Whether a codec is named, or an old version leaves that open."""
    (message,) = struct.unpack_from("<I", metadata, 0)
    version = _field(metadata, message, _VERSION)
    if not version or struct.unpack_from("<h", metadata, version) != (_V5,):
        return True
    header = _field(metadata, message, _HEADER)
    (distance,) = struct.unpack_from("<I", metadata, header)
    return bool(_field(metadata, header + distance, _COMPRESSION))


def _field(metadata: pyarrow.Buffer, table: int, number: int) -> int:
    """Where a table's field lies, 0 where it has none."""
    (back,) = struct.unpack_from("<i", metadata, table)
    vtable, entry = table - back, 4 + 2 * number
    if vtable < 0:
        raise struct.error("it lies before the message")
    (size,) = struct.unpack_from("<H", metadata, vtable)
    if entry + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", metadata, vtable + entry)
    return table + offset if offset else 0

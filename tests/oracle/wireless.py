# SPDX-License-Identifier: Apache-2.0
"""IEEE 802.11 data frames, with and without a radiotap header (radiotap.org)."""

from __future__ import annotations

import struct

from tests.oracle.encapsulation import walk_llc
from tests.oracle.frame import Frame, Link

TYPE_DATA = 2
SUBTYPE_NO_DATA = 0x4
SUBTYPE_QOS = 0x8
TO_AND_FROM_DS = 0x03
PROTECTED = 0x40
ORDER = 0x80
AGGREGATE = 0x80

BASE_HEADER_BYTES = 24
ADDRESS_BYTES = 6
QOS_BYTES = 2
HT_CONTROL_BYTES = 4

RADIOTAP_TIME = 0x1
RADIOTAP_FLAGS = 0x2
RADIOTAP_MORE = 0x8000_0000
RADIOTAP_DATA_PAD = 0x20


def walk_80211(frame: Frame, link: Link, at: int, padded: bool = False) -> None:
    """A data frame that is neither encrypted, nor a later fragment, nor an aggregate (A-MSDU)."""
    if not frame.has(at, BASE_HEADER_BYTES):
        return
    kind, subtype, flags = _frame_control(frame, at)
    later_fragment = frame.u8(at + 22) & 0x0F
    if kind != TYPE_DATA or subtype & SUBTYPE_NO_DATA or flags & PROTECTED or later_fragment:
        return
    size = BASE_HEADER_BYTES
    if flags & TO_AND_FROM_DS == TO_AND_FROM_DS:
        size += ADDRESS_BYTES
    if subtype & SUBTYPE_QOS:
        if not frame.has(at + size, QOS_BYTES) or frame.u8(at + size) & AGGREGATE:
            return
        size += QOS_BYTES + (HT_CONTROL_BYTES if flags & ORDER else 0)
    walk_llc(frame, link, at + (_pad(size) if padded else size))


def _frame_control(frame: Frame, at: int) -> tuple[int, int, int]:
    """Type, subtype and flags; protocol versions other than 0 are of no type."""
    control = frame.u8(at)
    kind = control >> 2 & 3 if control & 3 == 0 else -1
    return kind, control >> 4, frame.u8(at + 1)


def _pad(size: int) -> int:
    return (size + 3) // 4 * 4


def walk_radiotap(frame: Frame, link: Link) -> None:
    """The radiotap header says its length; one of its flags says that the next header is padded."""
    if not frame.has(0, 8):
        return
    (size,) = struct.unpack_from("<H", frame.data, 2)
    if size >= 8 and frame.has(0, size):
        walk_80211(frame, link, size, bool(_radiotap_flags(frame, size) & RADIOTAP_DATA_PAD))


def _radiotap_flags(frame: Frame, size: int) -> int:
    """The flags byte, which stands behind the bitmaps and, where present, the 8-byte time."""
    at = 4
    (present,) = struct.unpack_from("<I", frame.data, at)
    more = present
    while more & RADIOTAP_MORE and at + 8 <= size:
        at += 4
        (more,) = struct.unpack_from("<I", frame.data, at)
    at += 4
    if present & RADIOTAP_TIME:
        at = (at + 7) // 8 * 8 + 8
    return frame.u8(at) if present & RADIOTAP_FLAGS and at < size else 0

# SPDX-License-Identifier: Apache-2.0
"""The bytes of a packet as a parser sees them, and what it has found so far."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True)
class Frame:
    """Captured bytes, and where the packet ended on the wire (before or after them)."""

    data: bytes
    end: int

    def has(self, at: int, size: int) -> bool:
        """Whether `size` bytes at `at` were captured."""
        return at + size <= len(self.data)

    def u8(self, at: int) -> int:
        """The byte at `at`."""
        return self.data[at]

    def u16(self, at: int) -> int:
        """The number of 16 bits at `at`, in network order."""
        return int(struct.unpack_from(">H", self.data, at)[0])

    def u32(self, at: int) -> int:
        """The number of 32 bits at `at`, in network order."""
        return int(struct.unpack_from(">I", self.data, at)[0])


@dataclass
class Link:
    """What lies between the start of a frame and its IP header.

    `version` is 4 or 6 where something below said which IP follows at `ip_at`, and None where
    nothing of IP was reached. `tags` counts the VLAN tags walked.
    """

    fields: Fields = field(default_factory=dict)
    is_ethernet: bool = False
    tags: int = 0
    version: int | None = None
    ip_at: int = 0
    behind_labels: int | None = None

    def found(self, version: int, at: int) -> None:
        """An IP header of this version should begin at `at`."""
        self.version, self.ip_at = version, at

# SPDX-License-Identifier: Apache-2.0
"""How much one numbered object tells of, so that readers see a long way in steps."""

from __future__ import annotations

from gigastream.late_dataclass import dataclass
from gigastream.spool import Entry


@dataclass(slots=True)
class Room:
    """What is left of it; a little passed, by whole lines."""

    segments: int = 256
    size_bytes: int = 256 << 20
    """Of segments."""
    text_bytes: int = 8 << 20
    """Of lines."""

    @property
    def is_full(self) -> bool:
        return min(self.segments, self.size_bytes, self.text_bytes) <= 0

    def take(self, entry: Entry) -> None:
        """Count a line of the manifest."""
        if entry.is_segment:
            self.segments -= 1
            self.size_bytes -= entry.size_bytes

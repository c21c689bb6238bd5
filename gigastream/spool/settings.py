# SPDX-License-Identifier: Apache-2.0
"""When segments are cut, made durable and deleted."""

from __future__ import annotations

from typing import Literal

from gigastream.late_dataclass import dataclass
from gigastream.spool.errors import SpoolError

SECOND_NS = 1_000_000_000
MAX_SEGMENT_BYTES = 4 << 30
"""A reader holds a whole segment; one that is listed as larger is damage."""


@dataclass(frozen=True, slots=True)
class SpoolSettings:
    """How a spool is written; every limit is reached by whole batches, so a little passed.

    `segment_rows`, `segment_bytes`, `segment_age_ns`: a segment is cut at the first of the three.
    `sync`: "segment" makes each segment durable before it is listed; a number of nanoseconds lists
    it at once and makes everything durable every so often, so that a crash of the machine (not of
    the process) loses at most that much.
    `keep_bytes`, `keep_age_ns`: a track's segments beyond either may be deleted, the oldest first.
    `keep_margin_ns`: what a reader has committed is kept this much longer, because the reader's
    own checkpoint may not yet be durable.
    """

    segment_rows: int = 1 << 20
    segment_bytes: int = 64 << 20
    segment_age_ns: int = SECOND_NS
    sync: Literal["segment"] | int = "segment"
    keep_bytes: int | None = None
    keep_age_ns: int | None = None
    keep_margin_ns: int = 60 * SECOND_NS

    def __post_init__(self) -> None:
        for name in ("segment_rows", "segment_bytes", "segment_age_ns"):
            _check(name, getattr(self, name), 1)
        for name in ("keep_bytes", "keep_age_ns", "keep_margin_ns"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), 0)
        if self.sync != "segment":
            _check("sync", self.sync, 1)

    @property
    def sync_period_ns(self) -> int | None:
        """The time between two syncs, or None: each segment is synced before it is listed."""
        return None if self.sync == "segment" else int(self.sync)

    @property
    def deletes(self) -> bool:
        """Whether anything is ever deleted."""
        return self.keep_bytes is not None or self.keep_age_ns is not None


def _check(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SpoolError(f"spool setting {name} is {value!r}: want a number of at least {least}")

# SPDX-License-Identifier: Apache-2.0
"""How far a query has read, and the heartbeat that says so to Spark.

A position is, per track (one interface's segments), the next segment *and* the punctuation that has
been reached. What a micro-batch contains, its heartbeat included, is a function of its two offsets
alone: the same rows and the same watermark when it is run again after a failure ("Johnson et al.,
VLDB 2005" send heartbeats for inputs that fall silent; Spark's watermark takes their minimum).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gigastream.spool import END, NOTHING

END_MS = 253_402_300_799_000
"""9999-12-31T23:59:59Z, after which no event time comes: the end of a stream."""
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Position:
    """Where a track is read on: `segment` is the next one, `heartbeat_ns` the punctuation so far.

    Generation 0: an interface that is expected and has not yet begun.
    """

    generation: int = 0
    segment: int = 0
    heartbeat_ns: int = NOTHING


Offsets = Mapping[str, Position]
"""One position a track, by its key."""


_RETURNS = ""
"""Not the key of a track: behind it is how often the query has come back to its checkpoint."""


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> dict[str, Position]:
    """Read the positions that `to_json` was given."""
    return {
        key: Position(value["generation"], value["seq"], value["hb"])
        for key, value in offsets.items()
        if key != _RETURNS
    }


def returns(offsets: Mapping[str, Mapping[str, int]]) -> int:
    """Read how often the query had come back."""
    return offsets.get(_RETURNS, {}).get("returns", 0)


def to_json(offsets: Offsets, returns: int = 0) -> dict[str, Any]:
    """What Spark keeps in its checkpoint, and compares as text: equal ones are written alike."""
    positions: dict[str, Any] = {
        key: {
            "generation": offsets[key].generation,
            "seq": offsets[key].segment,
            "hb": offsets[key].heartbeat_ns,
        }
        for key in sorted(offsets)
    }
    return positions | ({_RETURNS: {"returns": returns}} if returns else {})


def heartbeat_ms(offsets: Offsets) -> int | None:
    """The punctuation of all tracks together, rounded down as watermarks are; None: nothing yet."""
    least = min((position.heartbeat_ns for position in offsets.values()), default=NOTHING)
    if least == NOTHING:
        return None
    return END_MS if least == END else least // _NS_PER_MS


def heartbeat_between(start: Offsets, end: Offsets) -> int | None:
    """The heartbeat of the micro-batch from `start` to `end`: its end's, if that is news."""
    before, after = heartbeat_ms(start), heartbeat_ms(end)
    return None if after is None or (before is not None and after <= before) else after


def heartbeat_of(start: Mapping[str, Any], end: Mapping[str, Any]) -> int | None:
    """The same of offsets as Spark keeps them: one that has come back repeats its own."""
    before, after = from_json(start), from_json(end)
    is_back = returns(start) < returns(end)
    return heartbeat_ms(after) if is_back else heartbeat_between(before, after)

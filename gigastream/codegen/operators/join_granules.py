# SPDX-License-Identifier: Apache-2.0
"""Granules of time: how rows of a band are found without looking at all of a key's, or at all.

A row is in the chain of its keys and the granule of its time; one that looks for it looks into the
few granules that its reach overlaps. Where times are equated they are hashed themselves, and there
is one granule.
"""

from __future__ import annotations

from gigastream.late_dataclass import dataclass
from gigastream.plan.operators.join import Join

_SHORTER, _LONGER = 2, 3
"""Without keys every row of a granule is looked at: granules are shorter by so many bits than the
band, so that most of the rows that are looked at match. With keys they are longer, so that mostly
one is looked into: of a key there are few rows, none of them far older than the band."""
_SHORTEST, _LONGEST = 1, 62
"""So that the number of the last granule has a next one."""


@dataclass(frozen=True, slots=True)
class Granules:
    """Of one pair of times; `pair` is None where there is one granule alone."""

    pair: int | None
    shift: int
    """A granule is 2^shift of the time's units."""

    @classmethod
    def of(cls, node: Join) -> Granules:
        if any(pair.is_equality for pair in node.pairs):
            return cls(None, 0)
        lengths = [max(1, sum(pair.reach) + 1) for pair in node.pairs]
        pair = lengths.index(min(lengths))
        bits = (lengths[pair] - 1).bit_length() + (_LONGER if node.keys else -_SHORTER)
        return cls(pair, min(max(_SHORTEST, bits), _LONGEST))

    def loop(self, port: int) -> str:
        """Head of a loop over the granules that the row `r` reaches."""
        if self.pair is None:
            return ""
        low, high = (f"r->{end}[{self.pair}] >> {self.shift}" for end in ("low", "high"))
        return f"for (gs_bound granule = {low}; granule <= {high}; granule++)"

    def of_value(self, values: str) -> str:
        """C expression: the granule of a row with these values."""
        return "0" if self.pair is None else f"({values}[{self.pair}] >> {self.shift})"

    def hash(self, granule: str) -> str:
        """C expression: the hash of the row `r`, or one like it, in a granule."""
        if self.pair is None:
            return "r->hash"
        return f"gs_hash_word(r->hash, (uint64_t)({granule}), hash_key)"

# SPDX-License-Identifier: Apache-2.0
"""How many slots an LFTA's table should have had, by what it has counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gigastream.engine.statistics import LftaStatistics

_WORTH_A_WORD = 8
"""One packet in so many that collides is."""
_SLOTS_A_GROUP = 4
"""With as many, of uniform traffic one packet in nine collides where each group has one slot."""
_FLOOD = 63 / 64
"""So much of the packets colliding in a full table, hardly any meets its group."""
_SLOTS_MOST = 1 << 26


def collides(lfta: LftaStatistics) -> bool:
    """Return True where so many groups were pushed out that it is worth a word."""
    return lfta.evicted * _WORTH_A_WORD > lfta.accepted


def wanted_slots(lfta: LftaStatistics) -> int | None:
    """Return the slots that would keep the groups in; None: no number would, it is a flood.

    How many groups there are follows from how many slots they have taken (linear counting), which
    no skew of the traffic changes; of a full table that is a lower bound.
    """
    empty = max(lfta.slots - lfta.groups_most, 0.5)
    if empty < 1 and lfta.evicted > _FLOOD * lfta.accepted:
        return None
    groups = _groups(lfta.slots, lfta.slots - empty, lfta.ways)
    wanted = 1 << math.ceil(math.log2(max(1.0, _SLOTS_A_GROUP * groups)))
    return min(max(wanted, lfta.slots), _SLOTS_MOST)


def _groups(slots: int, taken: float, ways: int) -> float:
    """How many groups take so many slots, each one of the `ways` slots of a bucket."""
    buckets = slots / ways
    few, many = 0.0, 64.0
    for _ in range(64):
        middle = (few + many) / 2
        if buckets * _taken(middle, ways) < taken:
            few = middle
        else:
            many = middle
    return buckets * few


def _taken(groups: float, ways: int) -> float:
    """Slots that are taken of a bucket of so many groups on average (Poisson)."""
    left, chance = 0.0, math.exp(-groups)
    for found in range(ways):
        left += (ways - found) * chance
        chance *= groups / (found + 1)
    return ways - left

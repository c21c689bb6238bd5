# SPDX-License-Identifier: Apache-2.0
"""A FILTER_JOIN in words: what lets which packets through, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

from gigastream.gsql.queries import BloomOptions, FilterJoin
from gigastream.plan.text import expression_text

MOST_ENTRIES = 1 << 19
"""MOST_ENTRIES of csrc/lfta/join_filter.c: half of them are always free for what is alive."""
_BITS, _HASHES, _FULL = 448, 6, 32
"""Of a block of a Bloom filter: its bits, those of a pair, and how many pairs it has on average
when its filter is full (csrc/abi/gs_join_filter.h)."""
_ASKED = 6
"""Pairs that a packet asks for at most: of the granules that its window touches; one of them in two
filters."""


def filter_texts(join: FilterJoin | None) -> Iterator[str]:
    """The lines of explain."""
    if join is None:
        return
    keys = (f"{expression_text(r)} of R = {expression_text(s)} of S" for r, s in join.keys)
    ticks = "1 tick" if join.ticks == 1 else f"{join.ticks:,} ticks"
    time = expression_text(join.times[0])
    yield f"an S packet came before, at most {ticks} of {time}: {', '.join(keys)}"
    conditions = " AND ".join(map(expression_text, join.where))
    yield f"S is every packet with {conditions}" if conditions else "S is every packet"
    yield _kept(join.bloom)


def _kept(bloom: BloomOptions | None) -> str:
    if bloom is None:
        half = f"{MOST_ENTRIES // 2:,}"
        return f"by hash, exact while at most {half} pairs of a key and a window may be matched yet"
    blocks = -(-bloom.bits // 512)
    return (
        f"by {bloom.filters} Bloom filters of {blocks * 512:,} bits: none is lost; "
        f"{added_rate():.2%} at most are added while none has more than {blocks * _FULL:,} pairs "
        "of a key and a quarter of the window"
    )


def added_rate() -> float:
    """The part of packets that are let through though nothing came before, of full filters."""
    one, weight = 0.0, exp(-_FULL)
    for pairs in range(1, 8 * _FULL):
        weight *= _FULL / pairs
        one += weight * (1 - (1 - 1 / _BITS) ** (_HASHES * pairs)) ** _HASHES
    return 1 - (1 - one) ** _ASKED

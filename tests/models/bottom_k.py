# SPDX-License-Identifier: Apache-2.0
"""Reservoirs and min-hashes: the k least of numbers that are drawn by a value."""

from __future__ import annotations

from bisect import bisect_left

from tests.models.subset_sum import mix

Hashed = int | bytes


class BottomK:
    """The state of a supergroup; its functions by the names that queries call."""

    def __init__(self, _before: BottomK | None, _number: int) -> None:
        self.seed = self.wanted = 0
        self.least: list[int] = []

    def end(self) -> None:
        """Nothing changes."""

    def rsample(self, value: int, wanted: int, seed: int = 0) -> bool:
        self.seed = mix(seed)
        return self._take(mix(value ^ self.seed), wanted)

    def rsdo_clean(self, count: int) -> bool:
        return self.wanted > 0 and count >= 2 * self.wanted

    def rsclean_with(self, value: int) -> bool:
        return self._has(mix(value ^ self.seed))

    def mhsample(self, value: Hashed, wanted: int) -> bool:
        return self._take(_number_of(value), wanted)

    mhdo_clean = rsdo_clean

    def mhclean_with(self, value: Hashed) -> bool:
        return self._has(_number_of(value))

    def mhcount(self) -> float:
        if len(self.least) < max(self.wanted, 2):
            return float(len(self.least))
        return (len(self.least) - 1) / ((float(self.least[-1]) + 1) * 2.0**-64)

    def _take(self, number: int, wanted: int) -> bool:
        self.wanted = wanted
        del self.least[wanted:]
        place = bisect_left(self.least, number)
        if place == wanted:
            return False
        if self.least[place : place + 1] != [number]:
            self.least.insert(place, number)
            del self.least[wanted:]
        return True

    def _has(self, number: int) -> bool:
        return bool(self.least) and number <= self.least[-1]


def _number_of(value: Hashed) -> int:
    """An address by both of its halves, as words of the machine."""
    if isinstance(value, int):
        return mix(value)
    first, second = (int.from_bytes(value[at : at + 8], "little") for at in (0, 8))
    return mix(mix(first) ^ second)

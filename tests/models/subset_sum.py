# SPDX-License-Identifier: Apache-2.0
"""Dynamic subset-sum sampling as configs/sampling.gsql has it, the numbers drawn by splitmix64."""

from __future__ import annotations

import math
from math import frexp

WORD = (1 << 64) - 1
_GREATEST = 1.7976931348623157e308
_RISE = 1 + 2.0**-40


def mix(x: int) -> int:
    """splitmix64."""
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & WORD
    return x ^ x >> 31


class SubsetSum:
    """The state of a supergroup; its functions by the names that queries call."""

    def __init__(self, before: SubsetSum | None, number: int) -> None:
        self.threshold = self.before = 0.0
        self.random, self.is_seeded = number, False
        self.wanted = 0
        self.is_of_flows = self.is_ending = self.is_cleaned = False
        if before is not None:
            self.random, self.is_seeded = before.random, before.is_seeded
            self.wanted = before.wanted
            self.threshold = 0.0 if before.is_of_flows else before.threshold / 10
        self._forget()

    def end(self) -> None:
        self.is_ending = True

    def ssample(self, weight: float, wanted: int, seed: int = 0) -> bool:
        return self._opens(weight, wanted, seed) and self._stays(weight)

    def ssthreshold(self) -> float:
        return self.threshold

    def ssdo_clean(self, count: int) -> bool:
        is_known = not self.is_of_flows or self.rows <= 1
        many = 2 * self.wanted - (self.wanted // 2 if self.is_of_flows and is_known else 0)
        if self.wanted == 0 or count < many:
            return False
        self._guess(count)
        self._raise(self._solved() if is_known else 0.0)
        return True

    def ssclean_with(self, weight: float) -> bool:
        return self._stays(max(weight, self.before))

    def ssfinal_clean(self, weight: float, count: int) -> bool:
        return not self._ends(count) or self.ssclean_with(weight)

    def fssample(self, weight: float, wanted: int, seed: int = 0) -> bool:
        self.is_of_flows = True
        if not self._opens(weight, wanted, seed):
            return False
        self.weight, self.rows = self.weight + weight, self.rows + 1
        return True

    def fsclean_with(self, weight: float, seen: float) -> bool:
        return self._stays(lifted(weight, seen, self.before))

    def fsfinal_clean(self, weight: float, seen: float, count: int) -> bool:
        return not self._ends(count) or self.fsclean_with(weight, seen)

    def fsweight(self, weight: float, seen: float) -> float:
        return lifted(weight, seen, self.threshold)

    def _opens(self, weight: float, wanted: int, seed: int) -> bool:
        self.wanted = max(wanted, 1)
        if not self.is_seeded:
            self.random, self.is_seeded = mix(mix(seed) ^ self.random), True
        return weight > 0 and math.isfinite(weight)

    def _stays(self, weight: float) -> bool:
        if weight <= self.threshold:
            self.random = (self.random + 1) & WORD
            if (mix(self.random) >> 11) * 2.0**-53 * self.threshold >= weight:
                return False
        self._note(max(weight, self.threshold), 1)
        return True

    def _ends(self, count: int) -> bool:
        if self.is_ending:
            self.is_ending = False
            self.is_cleaned = count > self.wanted
            if self.is_cleaned:
                self._guess(count)
                self._raise(self._solved())
        return self.is_cleaned

    # What is known of the groups: the weight and number of those that stand for from 2^at on

    def _forget(self) -> None:
        self._known = [(0.0, 0)] * 64
        self.weight, self.rows = 0.0, 0

    def _note(self, weight: float, count: int) -> None:
        at = min(max(frexp(weight)[1] - 1, 0), 63)
        total, before = self._known[at]
        self._known[at] = total + weight * count, before + count

    def _guess(self, count: int) -> None:
        missing = count - sum(known for _, known in self._known)
        if missing > 0 and self.rows:
            self._note(self.weight / self.rows, missing)

    def _raise(self, wanted: float) -> None:
        self.before = self.threshold
        self.threshold = min(max(wanted, self.threshold * _RISE), _GREATEST)
        self._forget()

    def _solved(self) -> float:
        left, places = 0.0, float(self.wanted)
        for total, _ in self._known:
            left += total
        for total, count in reversed([known for known in self._known if known[1]]):
            if places <= count or total * places <= left * count:
                break
            left, places = left - total, places - count
        return left / places


def lifted(weight: float, seen: float, threshold: float) -> float:
    """What a flow stands for at this threshold that stood for so much at another."""
    return threshold if seen < threshold and weight < threshold else weight


def flow_weight(rows: list[tuple[float, float]]) -> float:
    """What a flow has come to, of (weight, threshold by then)."""
    total = seen = 0.0
    for weight, threshold in rows:
        total = lifted(total, seen, threshold) if total > 0 else total
        total, seen = total + weight, threshold
    return total

# SPDX-License-Identifier: Apache-2.0
"""Lengths of time as queries write them: `1 min`."""

from __future__ import annotations

NANOSECONDS_OF_UNIT = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "hour": 3_600_000_000_000,
    "day": 86_400_000_000_000,
}

_SPELLINGS = {
    "sec": "s",
    "second": "s",
    "minute": "min",
    "h": "hour",
    "d": "day",
}


def duration_ns(text: str) -> int | None:
    """The nanoseconds of `1 min`, `5 minutes` or `250ms`; None if it is no length above 0."""
    digits = text.strip()
    unit = digits.lstrip("0123456789")
    number = digits[: len(digits) - len(unit)]
    word = unit.strip().lower()
    unit_ns = _unit_ns(word) or _unit_ns(word.removesuffix("s"))
    if not number or unit_ns is None or len(number) > 18:
        return None
    length = int(number) * unit_ns
    return length if 0 < length < 1 << 63 else None


def _unit_ns(word: str) -> int | None:
    return NANOSECONDS_OF_UNIT.get(_SPELLINGS.get(word, word))

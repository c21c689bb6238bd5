# SPDX-License-Identifier: Apache-2.0
"""Lengths of time as queries write them: `1 min`."""

from __future__ import annotations

from gigastream.gsql.diagnostics import printable

NANOSECONDS_OF_UNIT = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "hour": 3_600_000_000_000,
    "day": 86_400_000_000_000,
}

MAX_DIGITS = 30
"""Of a number that is read: more are too much, and int() refuses thousands."""

_SPELLINGS = {
    "sec": "s",
    "second": "s",
    "minute": "min",
    "h": "hour",
    "d": "day",
}


def duration_ns(text: str) -> int:
    """The nanoseconds of `1 min`, `5 minutes` or `250ms`; ValueError says what is wrong."""
    shown = printable(text, 40)
    digits = text.strip()
    unit = digits.lstrip("0123456789")
    number = digits[: len(digits) - len(unit)]
    word = unit.strip().lower()
    if not number or unit[:1] == ".":
        raise ValueError(f"'{shown}' begins with no whole number")
    if not word:
        raise ValueError(f"'{shown}' has no unit")
    unit_ns = _unit_ns(word) or _unit_ns(word.removesuffix("s"))
    if unit_ns is None:
        raise ValueError(f"'{printable(unit.strip(), 40)}' is no unit of time")
    length = int(number[:MAX_DIGITS]) * unit_ns
    if length == 0:
        raise ValueError(f"'{shown}' is no time at all: it would hold nothing")
    if length >= 1 << 63:
        raise ValueError(f"'{shown}' is longer than 292 years")
    return length


def _unit_ns(word: str) -> int | None:
    return NANOSECONDS_OF_UNIT.get(_SPELLINGS.get(word, word))

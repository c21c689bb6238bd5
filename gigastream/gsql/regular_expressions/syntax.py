# SPDX-License-Identifier: Apache-2.0
"""What a pattern is made of."""

from __future__ import annotations

from gigastream.late_dataclass import dataclass

ALL_BYTES = (1 << 256) - 1


@dataclass(frozen=True, slots=True)
class Byte:
    """One byte of a set: bit b stands for byte b."""

    members: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """The beginning of the text, or its end."""

    is_end: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part behind the other; none is the empty text."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `least` to `most` times; None is any number."""

    part: Part
    least: int
    most: int | None


Part = Byte | Anchor | Sequence | Choice | Repeat


def members_of(*ranges: tuple[int, int]) -> int:
    """The set of the bytes of inclusive ranges."""
    found = 0
    for first, last in ranges:
        found |= (1 << (last + 1)) - (1 << first)
    return found


def caseless(members: int) -> int:
    """The set with the other case of each ASCII letter in it."""
    upper = members & members_of((0x41, 0x5A))
    lower = members & members_of((0x61, 0x7A))
    return members | upper << 32 | lower >> 32


DIGITS = members_of((0x30, 0x39))
LETTERS = members_of((0x41, 0x5A), (0x61, 0x7A))
SPACES = members_of((9, 13), (0x20, 0x20))
WORD = DIGITS | LETTERS | 1 << ord("_")
NAMED_CLASSES = {
    "alnum": DIGITS | LETTERS,
    "alpha": LETTERS,
    "blank": members_of((9, 9), (0x20, 0x20)),
    "cntrl": members_of((0, 31), (127, 127)),
    "digit": DIGITS,
    "graph": members_of((0x21, 0x7E)),
    "lower": members_of((0x61, 0x7A)),
    "print": members_of((0x20, 0x7E)),
    "punct": members_of((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": SPACES,
    "upper": members_of((0x41, 0x5A)),
    "xdigit": DIGITS | members_of((0x41, 0x46), (0x61, 0x66)),
}
"""POSIX's, of ASCII alone."""
ESCAPED_CLASSES = {
    "d": DIGITS,
    "D": ALL_BYTES ^ DIGITS,
    "w": WORD,
    "W": ALL_BYTES ^ WORD,
    "s": SPACES,
    "S": ALL_BYTES ^ SPACES,
}
ESCAPED_BYTES = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}

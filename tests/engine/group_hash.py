# SPDX-License-Identifier: Apache-2.0
"""The hash of groups as csrc/abi/gs_hash.h says it, written a second time.

With the key of a run the models can tell which slot a group takes. Small values go in pairs into
one word, before the wide ones; the temporal group variables are no part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.models.bounds import Vector

MASK = (1 << 64) - 1
PAIRED_BYTES = 32
"""Slots of at most so many are pairs, in either of which a group may lie."""
Key = tuple[int, int]
Group = tuple[int | bytes, ...]


@dataclass(frozen=True)
class KeyColumn:
    """A group variable that is hashed: of 32 bits or fewer, or of as many words."""

    words: int = 0


SMALL, WORD, ADDRESS = KeyColumn(), KeyColumn(1), KeyColumn(2)


def group_hash(group: Group, columns: Sequence[KeyColumn], key: Key) -> int:
    """64 bits; the low ones say the slot."""
    state = key[0]
    for word in _words(group, columns):
        state = _fold(state ^ word, key[1])
    return state


def hash_with(columns: Sequence[KeyColumn], key: Key) -> Callable[[Vector, Group], int]:
    """What `tests.models.lfta.direct_mapped` asks for; the window is not hashed."""
    return lambda window, group: group_hash(group, columns, key)


def slot_bytes(columns: Sequence[KeyColumn], state_bytes: int) -> int:
    """Of a slot with these group variables, of which those that are small have 32 bits."""
    small = sum(column.words == 0 for column in columns)
    wide = sum(column.words for column in columns)
    return (4 + 4 * small + 7) // 8 * 8 + 8 * wide + state_bytes


def _words(group: Group, columns: Sequence[KeyColumn]) -> list[int]:
    typed = list(zip(group, columns, strict=True))
    small = [_number(value) & 0xFFFF_FFFF for value, column in typed if column.words == 0]
    pairs = [small[at : at + 2] for at in range(0, len(small), 2)]
    words = [pair[0] << 32 | pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    for value, column in typed:
        words += _wide(value) if column.words else []
    return words


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise TypeError(f"a small group variable is a number, not {value!r}")
    return value


def _wide(value: int | bytes) -> list[int]:
    """Bytes are loaded as they lie in memory, eight at a time."""
    if isinstance(value, int):
        return [value & MASK]
    return [int.from_bytes(value[at : at + 8], "little") for at in range(0, len(value), 8)]


def _fold(a: int, b: int) -> int:
    product = a * b
    return product & MASK ^ product >> 64

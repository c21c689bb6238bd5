# SPDX-License-Identifier: Apache-2.0
"""A pattern as a program (Thompson's automaton), forwards and backwards, and as bytes for C.

The bytes, all numbers of 16 bits, least byte first, but for classes and members:

    classes     the class of each of the 256 bytes, a byte each
    set count, class count
    members     for each set a byte for each class: 1 if it is in the set
    programs    forwards, then backwards: the number of steps, the first one, the steps

A step is three numbers: its kind, and
    BYTE        a set, and the step behind a byte of it
    SPLIT       two steps
    BEGIN, END  the step behind, where the text begins or ends, and 0
    MATCH       0, 0
"""

from __future__ import annotations

import struct
from functools import lru_cache

from gigastream.gsql.regular_expressions.parser import parse
from gigastream.gsql.regular_expressions.syntax import (
    Anchor,
    Byte,
    Choice,
    Part,
    Repeat,
)
from gigastream.late_dataclass import dataclass

BYTE, SPLIT, BEGIN, END, MATCH = range(5)
Step = tuple[int, int, int]


@dataclass(frozen=True)
class Program:
    """Steps, and which is the first."""

    steps: tuple[Step, ...]
    start: int

    def encoded(self) -> bytes:
        """As csrc/abi/gs_regex.h reads it."""
        numbers = [number for step in self.steps for number in step]
        return struct.pack(f"<{2 + len(numbers)}H", len(self.steps), self.start, *numbers)


@dataclass(frozen=True)
class CompiledPattern:
    """A pattern that was read; `backward` matches the reversed text."""

    forward: Program
    backward: Program
    sets: tuple[int, ...]

    @property
    def classes(self) -> bytes:
        """The class of each byte: bytes of one class are in the same sets."""
        found: dict[tuple[int, ...], int] = {}
        keys = (tuple(s >> byte & 1 for s in self.sets) for byte in range(256))
        return bytes(found.setdefault(key, len(found)) for key in keys)

    @property
    def members(self) -> list[bytes]:
        """For each set whether a class is in it."""
        classes = self.classes
        examples = [classes.index(number) for number in range(max(classes) + 1)]
        return [bytes(s >> byte & 1 for byte in examples) for s in self.sets]

    def encoded(self) -> bytes:
        """As csrc/abi/gs_regex.h reads it."""
        classes = self.classes
        counts = struct.pack("<HH", len(self.sets), max(classes) + 1)
        programs = self.forward.encoded() + self.backward.encoded()
        return classes + counts + b"".join(self.members) + programs


@lru_cache(maxsize=64)
def compiled(pattern: bytes) -> CompiledPattern:
    """The programs of a pattern. Raises PatternError."""
    tree = parse(pattern)
    sets: dict[int, int] = {}
    forward = _StepWriter(sets, is_backward=False).program(tree)
    backward = _StepWriter(sets, is_backward=True).program(tree)
    return CompiledPattern(forward, backward, tuple(sets))


class _StepWriter:
    """Writes steps from the last to the first: each knows the step that it leads to."""

    def __init__(self, sets: dict[int, int], *, is_backward: bool) -> None:
        self._sets = sets
        self._is_backward = is_backward
        self._steps: list[Step] = []

    def program(self, tree: Part) -> Program:
        start = self._part(tree, self._step(MATCH, 0, 0))
        return Program(tuple(self._steps), start)

    def _step(self, kind: int, one: int, other: int) -> int:
        self._steps.append((kind, one, other))
        return len(self._steps) - 1

    def _part(self, part: Part, to: int) -> int:
        """The first step of a part that leads to `to`."""
        if isinstance(part, Byte):
            members = self._sets.setdefault(part.members, len(self._sets))
            return self._step(BYTE, members, to)
        if isinstance(part, Anchor):
            return self._step(END if part.is_end != self._is_backward else BEGIN, to, 0)
        if isinstance(part, Repeat):
            return self._repeat(part, to)
        if isinstance(part, Choice):
            return self._choice(part, to)
        for inner in part.parts if self._is_backward else reversed(part.parts):
            to = self._part(inner, to)
        return to

    def _choice(self, choice: Choice, to: int) -> int:
        first, *others = (self._part(inner, to) for inner in choice.parts)
        for other in others:
            first = self._step(SPLIT, first, other)
        return first

    def _repeat(self, repeat: Repeat, to: int) -> int:
        must = repeat.least
        if repeat.most is None:
            again = self._step(SPLIT, to, to)
            first = self._part(repeat.part, again)
            self._steps[again] = (SPLIT, first, to)
            to, must = (again, 0) if must == 0 else (first, must - 1)
        else:
            end = to
            for _ in range(repeat.most - must):
                to = self._step(SPLIT, self._part(repeat.part, to), end)
        for _ in range(must):
            to = self._part(repeat.part, to)
        return to

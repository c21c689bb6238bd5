# SPDX-License-Identifier: Apache-2.0
"""Programs run over texts, as csrc/abi/gs_regex.h does it: the leftmost longest match.

Sets of steps are states, made when they are first met and kept up to a number; a byte is a look
into a list. A match begins at the least place at which the reversed text, read from its end, has
one; from there the forward program goes as far as it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gigastream.gsql.regular_expressions.program import (
    BEGIN,
    BYTE,
    END,
    MATCH,
    SPLIT,
    CompiledPattern,
    Program,
)

MOST_STATES = 2000
Steps = frozenset[int]


class _State:
    """A set of steps, whether a match ends here, and where each class of bytes leads."""

    __slots__ = ("is_match", "is_match_at_end", "next", "steps")

    def __init__(self, steps: Steps, classes: int, *, is_match: bool, at_end: bool) -> None:
        self.steps = steps
        self.is_match = is_match
        self.is_match_at_end = is_match or at_end
        self.next: list[_State | None] = [None] * classes


class _Automaton:
    """A program; `anywhere` begins a match at every place."""

    def __init__(self, program: Program, members: list[bytes], *, anywhere: bool) -> None:
        self._steps = program.steps
        self._members = members
        self._classes = len(members[0]) if members else 1
        self._inner = self._reached([program.start])
        self._anywhere = anywhere
        self._known: dict[Steps, _State] = {}
        self.edge = self._made(self._reached([program.start], begin=True), begin=True)
        self.inside = self._state(self._inner)

    def after(self, state: _State, class_: int) -> _State:
        """The state behind a byte."""
        if len(self._known) > MOST_STATES:
            self._known.clear()
        steps = (self._steps[at] for at in state.steps)
        reached = self._reached(
            [to for kind, one, to in steps if kind == BYTE and self._members[one][class_]]
        )
        found = self._state(reached | self._inner if self._anywhere else reached)
        state.next[class_] = found
        return found

    def _state(self, steps: Steps) -> _State:
        found = self._known.get(steps)
        if found is None:
            found = self._known[steps] = self._made(steps)
        return found

    def _made(self, steps: Steps, *, begin: bool = False) -> _State:
        behind = [self._steps[at][1] for at in steps if self._steps[at][0] == END]
        at_end = self._has_match(self._reached(behind, begin=begin, end=True))
        return _State(steps, self._classes, is_match=self._has_match(steps), at_end=at_end)

    def _has_match(self, steps: Steps) -> bool:
        return any(self._steps[at][0] == MATCH for at in steps)

    def _reached(self, first: Iterable[int], *, begin: bool = False, end: bool = False) -> Steps:
        """The steps that are reached without a byte."""
        found: set[int] = set()
        ahead = list(first)
        while ahead:
            at = ahead.pop()
            if at in found:
                continue
            found.add(at)
            kind, one, other = self._steps[at]
            if kind == SPLIT:
                ahead += [one, other]
            elif (kind == BEGIN and begin) or (kind == END and end):
                ahead.append(one)
        return frozenset(found)


class Matcher:
    """An expression, ready to be asked; for one thread."""

    def __init__(self, expression: CompiledPattern) -> None:
        self._classes = expression.classes
        members = expression.members
        self._search = _Automaton(expression.forward, members, anywhere=True)
        self._longest = _Automaton(expression.forward, members, anywhere=False)
        self._starts = _Automaton(expression.backward, members, anywhere=True)

    def matches(self, text: bytes) -> bool:
        """Whether the pattern matches anywhere."""
        state = self._search.edge
        for state in self._states(self._search, self._search.edge, text):
            if state.is_match:
                return True
        return state.is_match_at_end

    def search(self, text: bytes) -> tuple[int, int] | None:
        """Where the leftmost longest match begins and ends."""
        start = self._start(text)
        if start is None:
            return None
        automaton, end = self._longest, start
        state = first = automaton.inside if start else automaton.edge
        for at, state in enumerate(self._states(automaton, first, text[start:]), start):
            if state.is_match:
                end = at
            if not state.steps:
                return start, end
        return start, len(text) if state.is_match_at_end else end

    def _start(self, text: bytes) -> int | None:
        found, state = None, self._starts.edge
        for at, state in enumerate(self._states(self._starts, self._starts.edge, text[::-1])):
            if state.is_match:
                found = len(text) - at
        return 0 if state.is_match_at_end else found

    def _states(self, automaton: _Automaton, state: _State, text: bytes) -> Iterator[_State]:
        """The state before each byte, and that behind the last one."""
        yield state
        for class_ in text.translate(self._classes):
            state = state.next[class_] or automaton.after(state, class_)
            yield state

# SPDX-License-Identifier: Apache-2.0
"""Groups that go on from window to window (GSQL §6, item 4): a group remembers all of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

from tests.answers.reference.aggregates import Aggregate, Positioned
from tests.answers.reference.syntax import Call, Cast, Literal, Node, Operation
from tests.answers.reference.types import NoValueError

Window = Sequence[Positioned]
History = list[Window]
Members = list[tuple[Any, tuple[Any, ...]]]
Row = tuple[Any, ...]


def over(name: str, windows: int, aggregate: Aggregate) -> Aggregate:
    """The aggregate of a call with what it gives of a group that goes on."""
    result = aggregate.result

    def moving(history: Sequence[Window]) -> Any:
        return result(_all(history[-windows:]))

    def greatest(history: Sequence[Window]) -> Any:
        sums = (result(_all(history[:end])) for end in range(1, len(history) + 1))
        return max((found for found in sums if found is not None), default=None)

    if name == "time_avg":
        return replace(aggregate, over=_time_average)
    if name == "running_sum_max":
        return replace(aggregate, over=greatest)
    if name in _MOVED:
        return replace(aggregate, over=lambda history: _state(name, map(result, history)))
    if name in ("first", "last", "any_value", "running_sum"):
        return replace(aggregate, over=lambda history: result(_all(history)))
    return replace(aggregate, over=moving)


_MOVED: dict[str, Callable[[int], int]] = {
    "fading": lambda left: left // 2,
    "idle": lambda windows: windows + 1,
}
"""RUNNING UDAFs: what is left of a state when the window moves."""


def _state(name: str, windows: Iterable[int | None]) -> int | None:
    """Of what each window has seen; NULL before the first row."""
    state: int | None = None
    for seen in windows:
        state = None if state is None else _MOVED[name](state)
        if seen is not None:
            state = seen if name == "idle" else (state or 0) + seen
    return state


def _time_average(history: Sequence[Window]) -> float:
    """Each (value, from, to) by how long it held; before the first one the last of before did."""
    held: list[tuple[Fraction, int]] = []
    carried: tuple[Fraction, int] | None = None
    for window in history:
        rows = [(Fraction(value), begin, end) for _, (value, begin, end) in window]
        held = [(value, max(0, end - begin)) for value, begin, end in rows]
        if not rows:
            continue
        first = min(begin for _, begin, _ in rows)
        if carried is not None and first > carried[1]:
            held.append((carried[0], first - carried[1]))
        until, last = max((end, value) for value, _, end in rows)
        carried = last, until
    assert carried is not None
    length = sum(time for _, time in held)
    return float(sum(value * time for value, time in held) / length if length else carried[0])


def _all(windows: Sequence[Window]) -> list[Positioned]:
    return [pair for window in windows for pair in window]


def step_of(node: Node) -> int:
    """How far two values of a window's variable are apart at least."""
    if isinstance(node, Cast):
        return step_of(node.operand)
    if isinstance(node, Call) and node.name == "time_bucket":
        return _nanoseconds(node.arguments[0])
    if not isinstance(node, Operation) or not isinstance(node.operands[-1], Literal):
        return 1
    inner, constant = step_of(node.operands[0]), node.operands[-1].value
    assert isinstance(constant, int)
    if node.operator == "*":
        return inner * abs(constant)
    if node.operator == "/":
        return max(1, inner // constant)
    if node.operator == "&":
        return max(inner, constant & -constant)
    return inner if node.operator in ("+", "-") else 1


def _nanoseconds(length: Node) -> int:
    assert isinstance(length, Literal)
    assert isinstance(length.value, bytes)
    number, unit = length.value.decode().split()
    seconds = {"s": 1, "sec": 1, "min": 60, "hour": 3_600, "day": 86_400}[unit]
    return int(number) * seconds * 1_000_000_000


MAX_SILENCE = 100_000
"""Silent windows that are put out, one after the other, where DEFINE says nothing."""


def going_on(
    members: Mapping[Row, Members],
    place: int,
    steps: int,
    most: int,
    results: Callable[[list[Members]], Row],
    closes: Callable[[Row], bool],
) -> Iterator[Row]:
    """A row for each group and window from its first one to that in which it closes.

    `members` are the rows of (group, window), whose window stands at `place` of the key; `steps` is
    how far the next one is, below 0 where they fall; `most` how many silent ones follow each other.
    """
    windows: dict[int, dict[Row, Members]] = {}
    for key, rows in members.items():
        windows.setdefault(key[place], {})[(*key[:place], *key[place + 1 :])] = rows
    standing: dict[Row, list[Members]] = {}
    for window in _each(sorted(windows, reverse=steps < 0), steps, most):
        found = windows.get(window, {})
        for group in dict.fromkeys((*standing, *found)):
            history = standing.setdefault(group, [])
            history.append(found.get(group, []))
            try:
                row = (*group[:place], window, *group[place:], *results(history))
                is_closed = closes(row)
            except NoValueError:
                continue
            yield row
            if is_closed:
                del standing[group]


def _each(windows: Sequence[int], steps: int, most: int) -> Iterator[int]:
    """Every window from the first one that was seen to the last; of a silence `most`."""
    for window, following in pairwise(windows):
        yield from islice(range(window, following, steps), most + 1)
    yield from windows[-1:]

# SPDX-License-Identifier: Apache-2.0
"""Groups that go on from window to window (GSQL §6, item 4): a group remembers all of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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

    if name == "running_sum_max":
        return replace(aggregate, over=greatest)
    if name in ("first", "last", "running_sum"):
        return replace(aggregate, over=lambda history: result(_all(history)))
    return replace(aggregate, over=moving)


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


def going_on(
    members: Mapping[Row, Members],
    place: int,
    steps: int,
    results: Callable[[list[Members]], Row],
    closes: Callable[[Row], bool],
) -> Iterator[Row]:
    """A row for each group and window from its first one to that in which it closes.

    `members` are the rows of (group, window), whose window stands at `place` of the key; `steps` is
    how far the next one is, below 0 where they fall.
    """
    windows: dict[int, dict[Row, Members]] = {}
    for key, rows in members.items():
        windows.setdefault(key[place], {})[(*key[:place], *key[place + 1 :])] = rows
    standing: dict[Row, list[Members]] = {}
    for window in _each(sorted(windows, reverse=steps < 0), steps):
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


def _each(windows: Sequence[int], steps: int) -> Iterator[int]:
    """Every window from the first one that was seen to the last."""
    if windows:
        yield from range(windows[0], windows[-1], steps)
        yield windows[-1]

# SPDX-License-Identifier: Apache-2.0
"""Sampling (GSQL section 6.5): supergroups, who comes in, and who stays; rows come in order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Groups = dict[Hashable, list[Any]]
"""The rows of each group, in the order in which the groups came."""


@dataclass
class Supergroup:
    """What is kept of one: its state, and its groups."""

    state: Any
    groups: Groups = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.groups)

    def sift(self, keeps: Callable[[Supergroup, Hashable, list[Any]], bool]) -> None:
        """Groups leave, each asked while all are still there."""
        self.groups = {key: rows for key, rows in self.groups.items() if keeps(self, key, rows)}


@dataclass(frozen=True)
class Rules:
    """A query's: its state, and the conditions that are asked with it."""

    begin: Callable[[Any, int], Any]
    """Of the state before, None where there was none, and the number of supergroups so far."""
    end: Callable[[Any], None]
    admits: Callable[[Supergroup, Any], bool]
    cleans: Callable[[Supergroup], bool]
    keeps: Callable[[Supergroup, Hashable, list[Any]], bool]
    passes: Callable[[Supergroup, Hashable, list[Any]], bool]


def sample(
    rows: Iterable[tuple[Hashable, Hashable, Hashable, Any]], rules: Rules
) -> Iterator[tuple[Hashable, Hashable, Supergroup]]:
    """The supergroups of each window, of rows (window, supergroup, group, row)."""
    open_: dict[Hashable, Supergroup] = {}
    before: dict[Hashable, Supergroup] = {}
    now: Hashable = None
    number = 0
    for window, name, group, row in rows:
        if window != now and now is not None:
            yield from _ended(now, open_, rules)
            open_, before = {}, open_
        now = window
        if name not in open_:
            last = before.get(name)
            open_[name] = Supergroup(rules.begin(last and last.state, number))
            number += 1
        each = open_[name]
        if not rules.admits(each, row):
            continue
        each.groups.setdefault(group, []).append(row)
        if rules.cleans(each):
            each.sift(rules.keeps)
    if now is not None:
        yield from _ended(now, open_, rules)


def _ended(
    window: Hashable, open_: dict[Hashable, Supergroup], rules: Rules
) -> Iterator[tuple[Hashable, Hashable, Supergroup]]:
    for name, each in open_.items():
        rules.end(each.state)
        each.sift(rules.passes)
        yield window, name, each

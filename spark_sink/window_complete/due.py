# SPDX-License-Identifier: Apache-2.0
"""What an output needs of the spools between two punctuations, found without Spark.

Of the functions of base time that the plan's columns are (lateness.py) follow
whether a window closes at all, and how far back the rows of what closes lie.
"""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.gsql.order.bounds import NONE
from gigastream.plan.base_time import Alternatives
from gigastream.plan.nodes import Node, topological
from gigastream.plan.operators.output import Output
from gigastream.plan.plan import Plan
from gigastream.spool import Entry
from spark_sink.lateness import Late
from spark_sink.offsets import END_MS
from spark_sink.operators import lateness, operator_of

NS_PER_MS = 1_000_000


def can_answer(plan: Plan, output: Output) -> bool:
    """Whether all rows of an output wait for time: what leaves at once is no window's."""
    return Due(plan, output).waits


class Due:
    """An output, its last operators that wait for time, and the streams below them."""

    def __init__(self, plan: Plan, output: Output) -> None:
        self._late = lateness(plan)
        self._nodes = topological((output,))
        self._last = tuple(last_to_wait(output))
        reached = set(map(id, self._nodes))
        self.streams = tuple(stream for stream in plan.low if id(stream) in reached)

    @property
    def waits(self) -> bool:
        """Whether all its rows leave with the end of something, made of what ends with it."""
        are_of_windows = (operator_of(n).is_of_windows(n, self._inputs(n)) for n in self._nodes)
        return all(are_of_windows) and not any(node.is_low for node in self._last)

    @property
    def leaves_early(self) -> bool:
        """Whether rows leave Spark's store before a punctuation says that they may."""
        return any(operator_of(node).leaves_early for node in self._last)

    def closes(self, after_ms: int | None, until_ms: int) -> bool:
        """Whether a window may close between two punctuations."""
        if until_ms >= END_MS or after_ms is None:
            return True
        after, until = after_ms * NS_PER_MS, until_ms * NS_PER_MS
        last = ((operator_of(node), node, self._inputs(node)) for node in self._last)
        return any(o.closes(node, inputs, after, until) for o, node, inputs in last)

    def needed_from(self, after_ms: int | None) -> dict[str, int]:
        """By stream, the least base time (ns) of its rows in what closes after a punctuation."""
        after = NONE if after_ms is None else after_ms * NS_PER_MS
        needed: dict[int, int] = {}
        for node in reversed(self._nodes):  # consumers before their inputs
            own = needed.get(id(node), after)
            begins = own if own == NONE else self._begins(node, own)
            for child in node.inputs:
                needed[id(child)] = min(begins, needed.get(id(child), begins))
        return {stream.name: needed[id(stream)] for stream in self.streams}

    def _begins(self, node: Node, base_ns: int) -> int:
        return operator_of(node).begins(node, self._inputs(node), base_ns)

    def _inputs(self, node: Node) -> list[Late]:
        return [self._late[child.name] for child in node.inputs]

    def has_rows(self, stream: Node, entry: Entry, since_ns: int, until_ms: int) -> bool:
        """Whether a segment may hold rows of that base time; one that does not say so may."""
        return self.has_rows_from(stream, entry, since_ns) and not self._is_later(
            stream, entry, until_ms
        )

    def has_rows_from(self, stream: Node, entry: Entry, since_ns: int) -> bool:
        """The same, from a base time on."""
        known = self._known(stream, entry)
        return all(greatest >= f.forward(since_ns) for (_, greatest), ways in known for f in ways)

    def least_values(self, stream: Node, since_ns: int) -> dict[int, int]:
        """By place, the least value of a temporal column, as held, in a row of that base time."""
        times = enumerate(self._late[stream.name].times)
        return {at: max(f.forward(since_ns) for f in ways) for at, ways in times if ways}

    def _is_later(self, stream: Node, entry: Entry, until_ms: int) -> bool:
        if until_ms >= END_MS:
            return False
        until, known = until_ms * NS_PER_MS, self._known(stream, entry)
        return any(f.inverse(least) > until for (least, _), ways in known for f in ways)

    def _known(self, stream: Node, entry: Entry) -> list[tuple[tuple[int, int], Alternatives]]:
        """The ranges of its columns that are functions of base time."""
        pairs = zip(entry.ranges or (), self._late[stream.name].times, strict=False)
        return [(ends, ways) for ends, ways in pairs if ends is not None and ways]


def last_to_wait(output: Output) -> Iterator[Node]:
    """The first that wait, or are a stream from below, on every way down."""
    seen: set[int] = set()
    found: list[Node] = [output]
    while found:  # no recursion: a chain of queries may be of any length
        node = found.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.is_low or operator_of(node).waits:
            yield node
        else:
            found += node.inputs

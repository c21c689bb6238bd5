# SPDX-License-Identifier: Apache-2.0
"""A plan cut in two: what each thread answers for its part of the groups, and what needs them all.

Below the cut are the low nodes, and the operators whose answer is what they answer to each part,
together; what they put out is put together window by window (csrc/runtime/part_order.c). Above it
are those that need all groups in one place: ORDER BY … LIMIT, groups of groups, unions.
"""

from __future__ import annotations

from gigastream.gsql.types import Order
from gigastream.late_dataclass import dataclass
from gigastream.plan.named_windows import names_windows
from gigastream.plan.nodes import Node
from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class PlanParts:
    """The numbers of a plan's nodes, in its order."""

    below: tuple[int, ...]
    """Each part has them."""
    crossing: tuple[int, ...]
    """Those of them that are read above."""
    above: tuple[int, ...]
    have_groups: bool
    """Whether each part completes groups; else only low nodes are below."""
    is_light_above: bool
    """Whether what is above is little: no groups are made there but of what is a row a window."""


def parts_of_plan(plan: Plan) -> PlanParts:
    """Cut a plan as far above as can be."""
    cut = _Cut(plan)
    numbers = range(len(plan.nodes))
    crossing = tuple(at for at in numbers if at in cut.below and cut.is_read_above(at))
    return PlanParts(
        below=tuple(at for at in numbers if at in cut.below),
        crossing=crossing,
        above=tuple(at for at in numbers if at not in cut.below),
        have_groups=any(not plan.nodes[at].is_low for at in cut.below),
        is_light_above=all(_is_light(plan.nodes[at]) for at in numbers if at not in cut.below),
    )


def columns_in_order(node: Node) -> list[int]:
    """The columns in whose order a node's rows are."""
    return [at for at, order in enumerate(node.order) if order is Order.ORDERED]


def _is_light(node: Node) -> bool:
    """One thread has time for it beside several that fill tables."""
    return node.is_light or all(child.has_few_rows for child in node.inputs)


class _Cut:
    """Where it goes through a plan."""

    def __init__(self, plan: Plan) -> None:
        self._nodes = plan.nodes
        numbers = {id(node): at for at, node in enumerate(plan.nodes)}
        self._inputs = [[numbers[id(child)] for child in node.inputs] for node in plan.nodes]
        self._readers: list[list[int]] = [[] for _ in plan.nodes]
        for at, inputs in enumerate(self._inputs):
            for child in inputs:
                self._readers[child].append(at)
        self._names_windows = names_windows(plan.nodes)
        self.below = self._of_parts()
        self._lower()

    def is_read_above(self, at: int) -> bool:
        return any(reader not in self.below for reader in self._readers[at])

    def _of_parts(self) -> set[int]:
        """What is of parts down to the packets."""
        parted: set[int] = set()
        for at, node in enumerate(self._nodes):
            if node.is_of_parts and parted.issuperset(self._inputs[at]):
                parted.add(at)
        return parted | {at for at, node in enumerate(self._nodes) if node.is_low}

    def _lower(self) -> None:
        """Leave above what cannot be put together behind the parts."""
        while wrong := [at for at in self.below if self._is_wrong(at)]:
            for at in wrong:
                self._raise(at)

    def _raise(self, at: int) -> None:
        """And all that reads it."""
        waiting = [at]
        while waiting:
            at = waiting.pop()
            if at in self.below:
                self.below.remove(at)
                waiting += self._readers[at]

    def _is_wrong(self, at: int) -> bool:
        """A query that others read above is read there by its output, too: its rows leave once."""
        node = self._nodes[at]
        if node.is_output:
            (made,) = self._inputs[at]
            return self.is_read_above(made) or not self._has_windows_in_order(at)
        if node.is_low or not self.is_read_above(at):
            return False
        is_all_in_order = Order.PROGRESSING not in node.order
        return not (is_all_in_order and self._has_windows_in_order(at))

    def _has_windows_in_order(self, at: int) -> bool:
        """Which bounds name; or one for all time."""
        if columns_in_order(self._nodes[at]):
            return self._names_windows[at]
        return not self._has_time(at)

    def _has_time(self, at: int) -> bool:
        """Whether its groups below are of windows."""
        waiting, seen = [at], {at}
        while waiting:
            at = waiting.pop()
            node = self._nodes[at]
            if node.is_low and any(c.temporal.is_temporal for c in node.schema.columns):
                return True
            found = set(self._inputs[at]) - seen
            waiting += found
            seen |= found
        return False

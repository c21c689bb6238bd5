# SPDX-License-Identifier: Apache-2.0
"""Functions of bounds that never fall, as trees of steps: they compute, and print as text and C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gigastream.gsql.order import bounds


@dataclass(frozen=True, slots=True)
class FunctionTree:
    """A function of the bounds of the inputs that never falls in any of them."""

    def forward(self, given: Sequence[int]) -> int:
        raise NotImplementedError

    def text(self, names: Sequence[str]) -> str:
        raise NotImplementedError

    def c(self, names: Sequence[str]) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Leaf(FunctionTree):
    position: int

    def forward(self, given: Sequence[int]) -> int:
        return given[self.position]

    def text(self, names: Sequence[str]) -> str:
        return names[self.position]

    c = text


@dataclass(frozen=True, slots=True)
class Stepped(FunctionTree):
    step: bounds.Step
    inner: FunctionTree

    def forward(self, given: Sequence[int]) -> int:
        return self.step.forward(self.inner.forward(given))

    def text(self, names: Sequence[str]) -> str:
        return self.step.text(self.inner.text(names))

    def c(self, names: Sequence[str]) -> str:
        return self.step.c(self.inner.c(names))


@dataclass(frozen=True, slots=True)
class Sum(FunctionTree):
    left: FunctionTree
    right: FunctionTree

    def forward(self, given: Sequence[int]) -> int:
        return bounds.total(self.left.forward(given), self.right.forward(given))

    def text(self, names: Sequence[str]) -> str:
        return f"{self.left.text(names)} + {self.right.text(names)}"

    def c(self, names: Sequence[str]) -> str:
        return f"gs_bound_sum({self.left.c(names)}, {self.right.c(names)})"


@dataclass(frozen=True, slots=True)
class Extreme(FunctionTree):
    """The lesser or the greater of two."""

    greatest: bool
    left: FunctionTree
    right: FunctionTree

    @property
    def name(self) -> str:
        return "max" if self.greatest else "min"

    def forward(self, given: Sequence[int]) -> int:
        pair = (self.left.forward(given), self.right.forward(given))
        return max(pair) if self.greatest else min(pair)

    def text(self, names: Sequence[str]) -> str:
        return f"{self.name}({self.left.text(names)}, {self.right.text(names)})"

    def c(self, names: Sequence[str]) -> str:
        return f"gs_bound_{self.name}({self.left.c(names)}, {self.right.c(names)})"


def substituted(node: FunctionTree, leaves: Sequence[FunctionTree]) -> FunctionTree:
    """The function with each of its inputs replaced by another function."""
    if isinstance(node, Leaf):
        return leaves[node.position]
    if isinstance(node, Stepped):
        return Stepped(node.step, substituted(node.inner, leaves))
    if isinstance(node, Sum):
        return Sum(substituted(node.left, leaves), substituted(node.right, leaves))
    assert isinstance(node, Extreme)
    left, right = substituted(node.left, leaves), substituted(node.right, leaves)
    return Extreme(node.greatest, left, right)


def inverse_of(node: FunctionTree, value: int) -> int:
    """The least bound of the only input with forward(bound) >= value."""
    rest, wanted = node, value
    while isinstance(rest, Stepped):
        wanted, rest = rest.step.inverse(wanted), rest.inner
    return wanted if isinstance(rest, Leaf) else _inverse_by_search(node, value)


def _inverse_by_search(node: FunctionTree, value: int) -> int:
    """The inverse of a function that reads its input twice: `time + time/60`."""
    if node.forward((bounds.NONE,)) >= value:
        return bounds.NONE
    low, high = bounds.NONE, bounds.END
    while high - low > 1:
        middle = (low + high) // 2
        if node.forward((middle,)) >= value:
            high = middle
        else:
            low = middle
    return high


def inverse_text(node: FunctionTree, text: str) -> str | None:
    """The inverse for people; None where the input is read twice."""
    while isinstance(node, Stepped):
        text, node = node.step.inverse_text(text), node.inner
    return text if isinstance(node, Leaf) else None

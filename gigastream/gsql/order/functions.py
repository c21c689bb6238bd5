# SPDX-License-Identifier: Apache-2.0
"""Functions of bounds that never fall: they compute, and print as text and C.

A function is a list of parts, each over earlier ones, and no part stands there twice. So `max(t,
t - 1)` of a column that is made like that itself grows by two parts; as a tree it would double, and
a chain of forty such queries would outlast everybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gigastream.gsql.order import bounds
from gigastream.late_dataclass import dataclass, field

LONG = 80
"""Characters from which on a text that is wanted twice is written once, under a name."""
Declare = Callable[[str], str]
"""Puts a text where it is computed once, and gives its name."""


# Parts


@dataclass(frozen=True, slots=True)
class Part:
    """A step of a function; what it is over are numbers of earlier parts."""

    @property
    def over(self) -> tuple[int, ...]:
        return ()

    def moved(self, numbers: Sequence[int]) -> Part:
        """The same where the parts that it is over have other numbers."""
        return self

    def value(self, values: Sequence[int], given: Sequence[int]) -> int:
        """Its bound, of those of earlier parts and of the inputs."""
        raise NotImplementedError

    def text(self, texts: Sequence[str], names: Sequence[str]) -> str:
        """For people."""
        raise NotImplementedError

    def c(self, texts: Sequence[str], names: Sequence[str]) -> str:
        """In C, over a gs_bound of each input."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Leaf(Part):
    """An input as it is."""

    position: int

    def value(self, values: Sequence[int], given: Sequence[int]) -> int:
        return given[self.position]

    def text(self, texts: Sequence[str], names: Sequence[str]) -> str:
        return names[self.position]

    c = text


@dataclass(frozen=True, slots=True)
class Stepped(Part):
    step: bounds.Step
    inner: int

    @property
    def over(self) -> tuple[int, ...]:
        return (self.inner,)

    def moved(self, numbers: Sequence[int]) -> Part:
        return Stepped(self.step, numbers[self.inner])

    def value(self, values: Sequence[int], given: Sequence[int]) -> int:
        return self.step.forward(values[self.inner])

    def text(self, texts: Sequence[str], names: Sequence[str]) -> str:
        return self.step.text(texts[self.inner])

    def c(self, texts: Sequence[str], names: Sequence[str]) -> str:
        return self.step.c(texts[self.inner])


@dataclass(frozen=True, slots=True)
class Sum(Part):
    left: int
    right: int

    @property
    def over(self) -> tuple[int, ...]:
        return self.left, self.right

    def moved(self, numbers: Sequence[int]) -> Part:
        return Sum(numbers[self.left], numbers[self.right])

    def value(self, values: Sequence[int], given: Sequence[int]) -> int:
        return bounds.total(values[self.left], values[self.right])

    def text(self, texts: Sequence[str], names: Sequence[str]) -> str:
        return f"{texts[self.left]} + {texts[self.right]}"

    def c(self, texts: Sequence[str], names: Sequence[str]) -> str:
        return f"gs_bound_sum({texts[self.left]}, {texts[self.right]})"


@dataclass(frozen=True, slots=True)
class Extreme(Part):
    """The lesser or the greater of two."""

    greatest: bool
    left: int
    right: int

    @property
    def name(self) -> str:
        return "max" if self.greatest else "min"

    @property
    def over(self) -> tuple[int, ...]:
        return self.left, self.right

    def moved(self, numbers: Sequence[int]) -> Part:
        return Extreme(self.greatest, numbers[self.left], numbers[self.right])

    def value(self, values: Sequence[int], given: Sequence[int]) -> int:
        pair = values[self.left], values[self.right]
        return max(pair) if self.greatest else min(pair)

    def text(self, texts: Sequence[str], names: Sequence[str]) -> str:
        return f"{self.name}({texts[self.left]}, {texts[self.right]})"

    def c(self, texts: Sequence[str], names: Sequence[str]) -> str:
        return f"gs_bound_{self.name}({texts[self.left]}, {texts[self.right]})"


# Functions


@dataclass(frozen=True, slots=True)
class BoundFunction:
    """A function of the bounds of the inputs that never falls in any of them."""

    parts: tuple[Part, ...]
    """What each is over stands before it; the last is the function."""

    @property
    def is_identity(self) -> bool:
        """True if it is an input, unchanged."""
        return isinstance(self.parts[-1], Leaf)

    def forward(self, given: Sequence[int]) -> int:
        return self.values(given)[-1]

    def values(self, given: Sequence[int]) -> list[int]:
        """What each part is of these bounds."""
        found: list[int] = []
        for part in self.parts:
            found.append(part.value(found, given))
        return found

    def over(self, inner: BoundFunction) -> BoundFunction:
        """Of one input, the function of what another gives.

        None of its parts can be there already: nothing there is over the last.
        """
        numbers: list[int] = []
        parts = list(inner.parts)
        whole = len(parts) - 1
        for part in self.parts:
            if isinstance(part, Leaf):
                numbers.append(whole)
            else:
                numbers.append(len(parts))
                parts.append(part.moved(numbers))
        return BoundFunction(tuple(parts))

    def text(self, names: Sequence[str]) -> str:
        shared: list[str] = []

        def declare(text: str) -> str:
            shared.append(f"#{len(shared) + 1} = {text}")
            return f"#{len(shared)}"

        text = self._spelled(lambda part, texts: part.text(texts, names), declare)
        return ", where ".join([text, ", ".join(shared)]) if shared else text

    def c(self, names: Sequence[str], declare: Declare) -> str:
        """An expression; `declare` makes a variable of what is long and wanted more than once."""
        return self._spelled(lambda part, texts: part.c(texts, names), declare)

    def _spelled(self, spell: Callable[[Part, Sequence[str]], str], declare: Declare) -> str:
        wanted = Counter(number for part in self.parts for number in part.over)
        texts: list[str] = []
        for number, part in enumerate(self.parts):
            text = spell(part, texts)
            is_repeated = wanted[number] > 1 and len(text) > LONG
            texts.append(declare(text) if is_repeated else text)
        return texts[-1]


@dataclass(slots=True)
class Parts:
    """A function in the making."""

    _numbers: dict[Part, int] = field(default_factory=dict)

    def add(self, part: Part) -> int:
        """The number of a part, which may be there already."""
        return self._numbers.setdefault(part, len(self._numbers))

    def place(self, function: BoundFunction, leaves: Sequence[int]) -> int:
        """The number of a function whose inputs are parts that are there."""
        numbers: list[int] = []
        for part in function.parts:
            if isinstance(part, Leaf):
                numbers.append(leaves[part.position])
            else:
                numbers.append(self.add(part.moved(numbers)))
        return numbers[-1]

    def function(self) -> BoundFunction:
        """The function; the part that was needed last is the whole of it."""
        return BoundFunction(tuple(self._numbers))


# Inverses


def inverse_of(function: BoundFunction, value: int) -> int:
    """The least bound of the only input with forward(bound) >= value."""
    wanted = value
    for part in reversed(function.parts):
        if isinstance(part, Stepped):
            wanted = part.step.inverse(wanted)
        elif not isinstance(part, Leaf):
            return _inverse_by_search(function, value)
    return wanted


def _inverse_by_search(function: BoundFunction, value: int) -> int:
    """The inverse of a function that reads its input twice: `time + time/60`."""
    if function.forward((bounds.NONE,)) >= value:
        return bounds.NONE
    low, high = bounds.NONE, bounds.END
    while high - low > 1:
        middle = (low + high) // 2
        if function.forward((middle,)) >= value:
            high = middle
        else:
            low = middle
    return high


def inverse_text(function: BoundFunction, text: str) -> str | None:
    """The inverse for people; None where the input is read twice."""
    for part in reversed(function.parts):
        if isinstance(part, Stepped):
            text = part.step.inverse_text(text)
        elif not isinstance(part, Leaf):
            return None
    return text

# SPDX-License-Identifier: Apache-2.0
"""Bounds of punctuation and the steps that carry them (OPERATORS section 1).

A bound b says "no later row has a value below b". It is 64 bits wide, whatever the column's type;
a decreasing column is held as its negative, so that every bound only grows and every step here is
a function that never falls. NONE (nothing is promised) and END (the stream has ended) pass every
step unchanged; what leaves the range between them saturates to the side that promises less.

Each step has its inverse, the least x with f(x) >= v, and its spelling in C: csrc/abi/gs_bounds.h
has the same functions, and a test holds the two together.
"""

from __future__ import annotations

from gigastream.late_dataclass import dataclass

NONE = -(1 << 63)
END = (1 << 63) - 1


def saturated(bound: int) -> int:
    """The greatest promise that 64 bits can hold and that is no greater than `bound`."""
    if bound <= NONE:
        return NONE
    return min(bound, END - 1)


def reached(value: int) -> int:
    """A request for `value`: END where no bound before the end of the stream can be as great."""
    if value <= NONE:
        return NONE
    return min(value, END)


def divided(value: int, divisor: int) -> int:
    """The quotient, truncated towards zero as GSQL section 3 has it; the divisor is not 0."""
    quotient = abs(value) // abs(divisor)
    return quotient if (value < 0) == (divisor < 0) else -quotient


def _ceiling(value: int, divisor: int) -> int:
    return -(-value // divisor)


@dataclass(frozen=True, slots=True)
class Step:
    """A function of one bound that never falls, with a constant of its own."""

    constant: int

    def forward(self, bound: int) -> int:
        """f(bound), saturated: no later row's f is below it."""
        return bound if bound in (NONE, END) else saturated(self._apply(bound))

    def inverse(self, value: int) -> int:
        """The least x with f(x) >= value; NONE where every x does, END where no x does."""
        return value if value in (NONE, END) else reached(self._invert(value))

    def _apply(self, x: int) -> int:
        raise NotImplementedError

    def _invert(self, v: int) -> int:
        raise NotImplementedError

    def text(self, x: str) -> str:
        """f(x) for people."""
        raise NotImplementedError

    def inverse_text(self, v: str) -> str:
        """The inverse for people, as it is for v > 0."""
        raise NotImplementedError

    def c(self, b: str) -> str:
        """f(b) in C, over a gs_bound."""
        return f"gs_bound_{self.c_name}({b}, {c_integer(self.constant)})"

    @property
    def is_identity(self) -> bool:
        """True for x + 0, x * 1, x / 1 and their like."""
        return (type(self), self.constant) in _IDENTITIES

    @property
    def c_name(self) -> str:
        return _C_NAMES[type(self)]


class Add(Step):
    """x + c."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return x + self.constant

    def _invert(self, v: int) -> int:
        return v - self.constant

    def text(self, x: str) -> str:
        return _signed_text(x, self.constant)

    def inverse_text(self, v: str) -> str:
        return _signed_text(v, -self.constant)


class Multiply(Step):
    """x * c, c > 0."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return x * self.constant

    def _invert(self, v: int) -> int:
        return _ceiling(v, self.constant)

    def text(self, x: str) -> str:
        return f"{_factor(x)}*{self.constant}"

    def inverse_text(self, v: str) -> str:
        return f"ceil({_factor(v)}/{self.constant})"


class Divide(Step):
    """x / c truncated towards zero, c > 0."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return divided(x, self.constant)

    def _invert(self, v: int) -> int:
        return self.constant * v if v > 0 else self.constant * (v - 1) + 1

    def text(self, x: str) -> str:
        return f"{_factor(x)}/{self.constant}"

    def inverse_text(self, v: str) -> str:
        return f"{self.constant}*{_factor(v)}"


class FloorDivide(Step):
    """x / c rounded down, c > 0: a clock's tick of a timestamp, and x >> n."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return x // self.constant

    def _invert(self, v: int) -> int:
        return v * self.constant

    def text(self, x: str) -> str:
        return f"floor({_factor(x)}/{self.constant})"

    def inverse_text(self, v: str) -> str:
        return f"{self.constant}*{_factor(v)}"


class CeilingDivide(Step):
    """x / c rounded up, c > 0: x >> n where x decreases and is held as its negative."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return _ceiling(x, self.constant)

    def _invert(self, v: int) -> int:
        return self.constant * (v - 1) + 1

    def text(self, x: str) -> str:
        return f"ceil({_factor(x)}/{self.constant})"

    def inverse_text(self, v: str) -> str:
        return f"{self.constant}*({v} - 1) + 1"


class FloorMultiple(Step):
    """The greatest multiple of c that is no greater than x, c > 0: x & a mask of high bits."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return x // self.constant * self.constant

    def _invert(self, v: int) -> int:
        return _ceiling(v, self.constant) * self.constant

    def text(self, x: str) -> str:
        return f"{self.constant}*floor({_factor(x)}/{self.constant})"

    def inverse_text(self, v: str) -> str:
        return f"{self.constant}*ceil({v}/{self.constant})"


class CeilingMultiple(Step):
    """The least multiple of c that is no less than x, c > 0: FloorMultiple of the negative."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return _ceiling(x, self.constant) * self.constant

    def _invert(self, v: int) -> int:
        return self.constant * (_ceiling(v, self.constant) - 1) + 1

    def text(self, x: str) -> str:
        return f"{self.constant}*ceil({_factor(x)}/{self.constant})"

    def inverse_text(self, v: str) -> str:
        return f"{self.constant}*(ceil({v}/{self.constant}) - 1) + 1"


class AtLeast(Step):
    """The greater of x and c."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return max(x, self.constant)

    def _invert(self, v: int) -> int:
        return NONE if v <= self.constant else v

    def text(self, x: str) -> str:
        return f"max({x}, {self.constant})"

    def inverse_text(self, v: str) -> str:
        return v


class AtMost(Step):
    """The lesser of x and c."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return min(x, self.constant)

    def _invert(self, v: int) -> int:
        return END if v > self.constant else v

    def text(self, x: str) -> str:
        return f"min({x}, {self.constant})"

    def inverse_text(self, v: str) -> str:
        return v


class NegativeReciprocal(Step):
    """-(c / x) for x > 0, c > 0: it rises as x rises. Below 1 there are no rows."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return -(self.constant // max(x, 1))

    def _invert(self, v: int) -> int:
        if v <= -self.constant:
            return NONE
        return END if v > 0 else self.constant // (1 - v) + 1

    def text(self, x: str) -> str:
        return f"-({self.constant}/{_factor(x)})"

    def inverse_text(self, v: str) -> str:
        return f"{self.constant}/(1 - {_factor(v)}) + 1"


class Reciprocal(Step):
    """c / -x for x < 0, c > 0: c / y of a positive y that falls and is held as x = -y."""

    __slots__ = ()

    def _apply(self, x: int) -> int:
        return self.constant // max(-x, 1)

    def _invert(self, v: int) -> int:
        if v <= 0:
            return NONE
        return END if v > self.constant else -(self.constant // v)

    def text(self, x: str) -> str:
        return f"{self.constant}/-{_factor(x)}"

    def inverse_text(self, v: str) -> str:
        return f"-({self.constant}/{_factor(v)})"


_C_NAMES: dict[type[Step], str] = {
    Add: "add",
    Multiply: "mul",
    Divide: "div",
    FloorDivide: "floor_div",
    CeilingDivide: "ceiling_div",
    FloorMultiple: "floor_multiple",
    CeilingMultiple: "ceiling_multiple",
    AtLeast: "at_least",
    AtMost: "at_most",
    NegativeReciprocal: "negative_reciprocal",
    Reciprocal: "reciprocal",
}


_SCALING = (Multiply, Divide, FloorDivide, CeilingDivide, FloorMultiple, CeilingMultiple)
_IDENTITIES = {(Add, 0), *((kind, 1) for kind in _SCALING)}


def total(left: int, right: int) -> int:
    """The bound of x + y; a stream that has ended in one column has ended."""
    if END in (left, right):
        return END
    return NONE if NONE in (left, right) else saturated(left + right)


def c_integer(value: int) -> str:
    """An integer constant of C that has 64 bits."""
    if value == NONE:
        return "INT64_MIN"
    return f"INT64_C({value})"


def _signed_text(x: str, constant: int) -> str:
    return f"{x} - {-constant}" if constant < 0 else f"{x} + {constant}"


def _factor(x: str) -> str:
    """`x`, in parentheses if it is a sum."""
    return f"({x})" if " " in x and not x.endswith(")") else x

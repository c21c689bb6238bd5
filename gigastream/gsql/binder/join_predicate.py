# SPDX-License-Identifier: Apache-2.0
"""A join's predicate: what relates times and so lets rows go, what hashes, what is left.

An equality of temporal expressions relates them by itself, inequalities two by two: together they
are a band, `a.ts >= b.ts - 2 AND a.ts <= b.ts + 3`. With f of the one side and g of the other they
are held as limits of g - f; a window on each input is a band too (OPERATORS section 4, Join).
"""

from __future__ import annotations

from collections.abc import Iterable

from gigastream.gsql.expressions import (
    Cast,
    ColumnRef,
    Constant,
    Expression,
    Operation,
    ports_of,
    walk,
)
from gigastream.gsql.order.bounds import END
from gigastream.gsql.queries import Sides, TimeRelation
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal
from gigastream.late_dataclass import dataclass, field, replace

TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Compared:
    """A condition, and where it is a comparison its two sides as written."""

    condition: Expression
    operator: str = ""
    left: Expression | None = None
    right: Expression | None = None
    is_plain: bool = False
    """Both sides are written as names."""


@dataclass(slots=True)
class Band:
    """Limits of g - f, of which one may be missing."""

    least: int | None = None
    greatest: int | None = None
    conditions: list[Expression] = field(default_factory=list)

    def narrow(self, least: int | None, greatest: int | None) -> None:
        """Let only what is within these limits match, too."""
        if least is not None:
            self.least = least if self.least is None else max(self.least, least)
        if greatest is not None:
            self.greatest = greatest if self.greatest is None else min(self.greatest, greatest)

    @property
    def is_whole(self) -> bool:
        return self.least is not None and self.greatest is not None

    @property
    def is_too_wide(self) -> bool:
        """True where an arm is longer than a bound of punctuation can be moved."""
        return self.is_whole and max(abs(self.least or 0), abs(self.greatest or 0)) >= END


class Predicate:
    """What the conditions of a join are, one after the other."""

    def __init__(self) -> None:
        self.equalities: list[Sides] = []
        """Of temporal expressions that move in one direction."""
        self.bands: dict[Sides, Band] = {}
        self.keys: list[Sides] = []
        self.residual: list[Expression] = []
        self.equated: list[tuple[int, int]] = []
        self.opposed: list[Expression] = []
        """Conditions on times that move apart."""

    def add(self, compared: Compared) -> None:
        """Find what a condition is."""
        relation = _relation(compared)
        if relation is None:
            self.residual.append(compared.condition)
            return
        if relation.is_opposed:
            self.opposed.append(compared.condition)
        upright = _upright(relation)
        is_too_far = upright.is_temporal and not relation.is_temporal
        if relation.operator == "=" and relation.offset == 0 and not is_too_far:
            self._add_equality(relation, compared)
        elif upright.is_temporal:
            self._add_arm(upright, compared.condition)
        else:
            self.residual.append(compared.condition)

    def _add_equality(self, relation: _Relation, compared: Compared) -> None:
        """Plain columns, one of which stands for the other where its side is absent, are names."""
        condition, columns = compared.condition, tuple(map(_plain, relation.sides))
        if compared.is_plain and columns[0] is not None and columns[1] is not None:
            self.equated.append((columns[0].index, columns[1].index))
        if relation.is_temporal:
            self.equalities.append(relation.sides)
            return
        met = _oriented(condition)
        if met is None:
            self.residual.append(condition)
        else:
            self.keys.append(met)

    def _add_arm(self, relation: _Relation, condition: Expression) -> None:
        band = self.bands.setdefault(relation.sides, Band())
        least, greatest = _limits(relation.operator, -relation.offset)
        band.narrow(least, greatest)
        band.conditions.append(condition)
        if any(map(_may_fall_below_zero, walk(condition))):
            self.residual.append(condition)

    def within(self, f: Expression, g: Expression, least: int, greatest: int) -> None:
        """A window on each side."""
        self.bands.setdefault((f, g), Band()).narrow(least, greatest)

    @property
    def times(self) -> tuple[TimeRelation, ...]:
        """What bounds the state."""
        whole = ((sides, band) for sides, band in self.bands.items() if band.is_whole)
        equal = (TimeRelation(sides, (0, 0)) for sides in self.equalities)
        return (*equal, *(TimeRelation(sides, _reach(sides, band)) for sides, band in whole))

    @property
    def halves(self) -> Iterable[tuple[Sides, Band]]:
        """Bands of one arm."""
        return ((sides, band) for sides, band in self.bands.items() if not band.is_whole)

    def rest(self) -> tuple[Expression, ...]:
        """What is asked of each pair of rows: beside other relations a single arm is that, too."""
        single = (condition for _, band in self.halves for condition in band.conditions)
        return tuple(dict.fromkeys((*self.residual, *single)))


@dataclass(frozen=True, slots=True)
class _Relation:
    """`f operator g + offset`, f of port 0 and g of port 1."""

    operator: str
    sides: Sides
    offset: int = 0

    @property
    def is_temporal(self) -> bool:
        f, g = self.sides
        return f.temporal.is_temporal and f.temporal is g.temporal

    @property
    def is_opposed(self) -> bool:
        f, g = self.sides
        return f.temporal.is_temporal and f.temporal is g.temporal.flipped()


def _relation(compared: Compared) -> _Relation | None:
    left, right, operator = compared.left, compared.right, compared.operator
    if left is None or right is None or operator not in TURNED:
        return None
    return (
        _of_sides(operator, left, right, 0)
        or _of_difference(operator, left, right)
        or _of_difference(TURNED[operator], right, left)
    )


def _of_sides(operator: str, left: Expression, right: Expression, offset: int) -> _Relation | None:
    """`left operator right + offset`, if each is of one side."""
    ports = tuple(ports_of(left)), tuple(ports_of(right))
    if ports == ((0,), (1,)):
        return _Relation(operator, (left, right), offset)
    if ports == ((1,), (0,)):
        return _Relation(TURNED[operator], (right, left), -offset)
    return None


def _of_difference(operator: str, left: Expression, right: Expression) -> _Relation | None:
    """`a.ts - b.ts <= 3` says `a.ts <= b.ts + 3`."""
    limit = _whole(right)
    difference = _linear(left)
    if limit is None or not _is_difference(difference.of):
        return None
    sign, amount = difference.sign, difference.sign * (limit - difference.constant)
    minuend, subtrahend = difference.of.children
    found = _of_sides(operator if sign > 0 else TURNED[operator], minuend, subtrahend, amount)
    return found if found is not None and found.is_temporal else None


def _is_difference(e: Expression) -> bool:
    return isinstance(e, Operation) and e.operator == "-" and len(e.operands) == 2


def _may_fall_below_zero(e: Expression) -> bool:
    """`b.n - 2` of an ullong has no value for 1, and matches nothing then."""
    return isinstance(e, Operation) and e.checked and e.type.is_unsigned


def _upright(relation: _Relation) -> _Relation:
    """`3 - a.ts <= -b.ts` says `a.ts >= b.ts + 3`; constants are in the offset."""
    f, g = map(_linear, relation.sides)
    if f.sign != g.sign:
        (left, of_left), (right, of_right) = map(_without_constant, relation.sides)
        return _Relation(relation.operator, (left, right), relation.offset + of_right - of_left)
    offset = relation.offset + g.constant - f.constant
    operator = relation.operator if f.sign > 0 else TURNED[relation.operator]
    return _Relation(operator, (f.of, g.of), f.sign * offset)


def _limits(operator: str, c: int) -> tuple[int | None, int | None]:
    """Least and greatest g - f where f + c' operator g + c'', and c is c' - c''."""
    return {
        "=": (c, c),
        "<=": (c, None),
        "<": (c + 1, None),
        ">=": (None, c),
        ">": (None, c - 1),
    }[operator]


def _reach(sides: Sides, band: Band) -> tuple[int, int]:
    """Of decreasing times the negatives are held, and the arms change places."""
    assert band.least is not None
    assert band.greatest is not None
    if sides[0].temporal is Temporal.DECREASING:
        return -band.least, band.greatest
    return band.greatest, -band.least


# Parts of expressions


def _uncast(e: Expression) -> Expression:
    """Without the conversions that change no value."""
    while isinstance(e, Cast) and not e.checked and (e.type.is_integer or not e.type.is_numeric):
        e = e.operand
    return e


@dataclass(frozen=True, slots=True)
class _Linear:
    """`sign * of + constant`, where sign is 1 or -1."""

    of: Expression
    sign: int = 1
    constant: int = 0

    def plus(self, amount: int) -> _Linear:
        return replace(self, constant=self.constant + amount)

    def negated(self) -> _Linear:
        return _Linear(self.of, -self.sign, -self.constant)


def _linear(e: Expression) -> _Linear:
    """`x + 3`, `3 - x` and so on, as what they are of x."""
    e = _uncast(e)
    if not (isinstance(e, Operation) and e.operator in ("+", "-", "neg")):
        return _Linear(e)
    *first, last = e.operands
    amount = _whole(last)
    if first and amount is not None:
        return _linear(first[0]).plus(amount if e.operator == "+" else -amount)
    amount = _whole(first[0]) if first else 0
    if amount is None:
        return _Linear(e)
    return (_linear(last) if e.operator == "+" else _linear(last).negated()).plus(amount)


def _without_constant(e: Expression) -> tuple[Expression, int]:
    """`x + 3` as x and 3."""
    e = _uncast(e)
    if not (isinstance(e, Operation) and e.operator in ("+", "-") and len(e.operands) == 2):
        return e, 0
    left, right = e.operands
    if (amount := _whole(right)) is not None:
        inner, constant = _without_constant(left)
        return inner, constant + (amount if e.operator == "+" else -amount)
    if e.operator == "+" and (amount := _whole(left)) is not None:
        inner, constant = _without_constant(right)
        return inner, constant + amount
    return e, 0


def _whole(e: Expression) -> int | None:
    e = _uncast(e)
    is_whole = isinstance(e, Constant) and e.type.is_integer and e.value is not None
    return int(e.value) if is_whole else None  # type: ignore[attr-defined]


def _plain(e: Expression) -> ColumnRef | None:
    """The column that an expression is, in a type that its values meet others in."""
    e = _uncast(e)
    return e if isinstance(e, ColumnRef) else None


def _oriented(condition: Expression) -> Sides | None:
    """The two sides of an equality in the type in which they are compared."""
    if not (isinstance(condition, Operation) and condition.operator == "="):
        return None
    left, right = condition.operands
    return (left, right) if ports_of(left) == {0} else (right, left)


def span_of(conditions: Iterable[Expression]) -> Span:
    """Where conditions stand."""
    spans = [condition.span for condition in conditions]
    return spans[0].to(spans[-1])

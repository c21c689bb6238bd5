# SPDX-License-Identifier: Apache-2.0
"""A query that samples (GSQL §6, item 5): what it asks of a supergroup, and its groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.answers.reference.syntax import Call, Node, Query, parts_of
from tests.answers.reference.typed import Typed, cast
from tests.answers.reference.types import ADDRESSES, NoValueError, holds
from tests.models.bottom_k import BottomK
from tests.models.lossy_counting import LossyCounting
from tests.models.sample import Rules, Supergroup, sample
from tests.models.subset_sum import SubsetSum

Row = tuple[Any, ...]
Read = Callable[[Any], Any]

_VALUE = "ullong, or an address"
STATEFUL: dict[str, tuple[type, str, tuple[str, ...]]] = {
    "ssample": (SubsetSum, "bool", ("float", "uint", "uint")),
    "ssthreshold": (SubsetSum, "float", ()),
    "ssdo_clean": (SubsetSum, "bool", ("ullong",)),
    "ssclean_with": (SubsetSum, "bool", ("float",)),
    "ssfinal_clean": (SubsetSum, "bool", ("float", "ullong")),
    "fssample": (SubsetSum, "bool", ("float", "uint", "uint")),
    "fsclean_with": (SubsetSum, "bool", ("float", "float")),
    "fsfinal_clean": (SubsetSum, "bool", ("float", "float", "ullong")),
    "fsweight": (SubsetSum, "float", ("float", "float")),
    "rsample": (BottomK, "bool", ("ullong", "uint", "uint")),
    "rsdo_clean": (BottomK, "bool", ("ullong",)),
    "rsclean_with": (BottomK, "bool", ("ullong",)),
    "mhsample": (BottomK, "bool", (_VALUE, "uint")),
    "mhdo_clean": (BottomK, "bool", ("ullong",)),
    "mhclean_with": (BottomK, "bool", (_VALUE,)),
    "mhcount": (BottomK, "float", ()),
    "local_count": (LossyCounting, "bool", ("uint",)),
    "current_bucket": (LossyCounting, "ullong", ()),
    "local_rows": (LossyCounting, "ullong", ()),
}
"""Whose function it is, what it gives, and what it takes."""
_STATES = (SubsetSum, BottomK, LossyCounting)


def asks_supergroup(node: Node | None) -> bool:
    """Whether a state or a superaggregate is in it."""
    calls = (part for part in parts_of(node) if isinstance(part, Call))
    return any(call.name in STATEFUL or call.name.endswith("$") for call in calls)


def samples(query: Query) -> bool:
    """Whether a query does, by a clause or by what it asks."""
    if query.supergroup or query.cleaning_when is not None:
        return True
    items = [item.expression for item in (*query.items, *query.order_by)]
    return any(map(asks_supergroup, (*items, query.where, query.having, *query.per)))


@dataclass
class AtHand:
    """The supergroup that is asked at the moment."""

    now: Supergroup | None = None
    results: Callable[[list[Any]], Row] = field(default=tuple)
    """What the aggregates of a group give, of its rows."""

    @property
    def _supergroup(self) -> Supergroup:
        assert self.now is not None
        return self.now

    def call(self, name: str, arguments: Sequence[Typed]) -> Typed:
        """The call of a stateful function."""
        state, result, parameters = STATEFUL[name]
        given = [_given(a, t) for a, t in zip(arguments, parameters, strict=False)]

        def read(row: Any) -> Any:
            values = [argument.read(row) for argument in given]
            own = self._supergroup.state[state]
            return None if None in values else getattr(own, name)(*values)

        return Typed(result, read)

    def count(self) -> Typed:
        """`count_distinct$()`."""
        return Typed("ullong", lambda _: self._supergroup.count)

    def sum(self, summed: Typed) -> Typed:
        """`sum$(x)`, by what reads `sum(x)` of a group."""

        def read(_: Any) -> int:
            groups = self._supergroup.groups.items()
            total = sum(summed.read((*key, *self.results(rows))) or 0 for key, rows in groups)
            if not holds(summed.type, total):
                raise NoValueError
            return total

        return Typed(summed.type, read)


def _given(argument: Typed, type_: str) -> Typed:
    if type_ != _VALUE:
        return cast(argument, type_)
    return cast(argument, "INET" if argument.type in ADDRESSES else "ullong")


@dataclass
class Met:
    """A row of a group: what orders it, and what its aggregates read of it."""

    place: Row
    row: Any
    values: Row = ()


@dataclass(frozen=True)
class Sampling:
    """What a query says of its sample."""

    at_hand: AtHand
    admission: Sequence[Typed]
    arguments: Sequence[Typed]
    cleaning_when: Typed | None
    cleaning_by: Typed | None
    having: Typed | None
    window: int
    supergroup: Sequence[int]
    """The places in a group's key of the window and of what makes a supergroup."""

    def groups(self, rows: Iterable[tuple[Row, Met]]) -> Iterator[Row]:
        """The groups that are left, each while its supergroup is at hand; rows come in order."""
        rules = Rules(_begin, _end, self._admits, self._cleans, self._keeps, self._passes)
        named = ((key[self.window], self._name(key), key, met) for key, met in rows)
        for _, _, each in sample(named, rules):
            self.at_hand.now = each
            for key, members in each.groups.items():
                yield from _valued(lambda k=key, m=members: (*k, *self.at_hand.results(m)))

    def _name(self, key: Row) -> Row:
        return tuple(key[at] for at in self.supergroup if at != self.window)

    def _admits(self, each: Supergroup, met: Met) -> bool:
        self.at_hand.now = each
        if not all(_holds(lambda t=typed: t.read(met.row)) for typed in self.admission):
            return False
        for values in _valued(lambda: tuple(typed.read(met.row) for typed in self.arguments)):
            met.values = values
            return True
        return False

    def _cleans(self, each: Supergroup) -> bool:
        condition = self.cleaning_when
        if condition is None:
            return False
        self.at_hand.now = each
        return _holds(lambda: condition.read(next(iter(each.groups))))

    def _keeps(self, each: Supergroup, key: Any, members: list[Any]) -> bool:
        return self._stays(self.cleaning_by, each, key, members)

    def _passes(self, each: Supergroup, key: Any, members: list[Any]) -> bool:
        return self._stays(self.having, each, key, members)

    def _stays(
        self, condition: Typed | None, each: Supergroup, key: Row, members: list[Any]
    ) -> bool:
        if condition is None:
            return True
        self.at_hand.now = each
        return _holds(lambda: condition.read((*key, *self.at_hand.results(members))))


def _begin(before: dict[type, Any] | None, number: int) -> dict[type, Any]:
    return {kind: kind(before and before[kind], number) for kind in _STATES}


def _end(state: dict[type, Any]) -> None:
    for own in state.values():
        own.end()


def _valued(read: Callable[[], Row]) -> Iterator[Row]:
    """What is read, if it has a value."""
    try:
        yield read()
    except NoValueError:
        return


def _holds(read: Callable[[], Any]) -> bool:
    return any(value is True for value in _valued(read))

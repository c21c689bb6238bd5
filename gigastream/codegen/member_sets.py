# SPDX-License-Identifier: Apache-2.0
"""What is in the table that several LFTAs fill: their predicates, what it keeps, their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from gigastream.gsql.expressions import Cast, Expression, FieldRef
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass
from gigastream.plan.accumulators import Accumulator, expression_key
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.plan import Plan

LANES = 8
"""GS_MEMBERS_LANES of csrc/abi/gs_members.h."""
_LENGTHS = frozenset(
    ("len", "caplen", "total_length", "total_length_ipv4", "total_length_ipv6", "data_length")
)
"""Fields of 32 bits that hardly ever have more than 16."""


@dataclass(frozen=True, slots=True)
class MemberPredicate:
    """LFTAs of one predicate, whose number is a bit in packets and slots."""

    number: int
    members: tuple[int, ...]
    """Which of the set they are; the first counts, the others follow it."""
    node: PartialAggregate
    """The first: its prefilter and the rest of its WHERE are those of all."""


@dataclass(frozen=True, slots=True)
class MemberCells:
    """Predicates with consecutive numbers for which a slot keeps the same: an array of cells."""

    number: int
    first: int
    """The number of its first predicate."""
    accumulators: tuple[Accumulator, ...]
    predicates: tuple[MemberPredicate, ...]

    @property
    def mask(self) -> str:
        """The bits of its predicates, in C."""
        return f"{((1 << len(self.predicates)) - 1) << self.first:#x}u"

    @property
    def is_narrow(self) -> bool:
        """Whether all are counts and sums of small values: arrays of 16 and 32 bits, one for each.

        They start at 0, and a vector of them is added to at once. The slot has bounds of them.
        """
        return bool(self.accumulators) and all(map(_is_narrow, self.accumulators))

    @property
    def size(self) -> int:
        """How many cells there are: of narrow ones whole vectors."""
        count = len(self.predicates)
        return -(-count // LANES) * LANES if self.is_narrow else count

    def cell(self, accumulator: int) -> str:
        """What cell `at` of `slot` keeps for an accumulator, in C; of others than narrow `cell`."""
        return (
            f"slot->c{self.number}_a{accumulator}[at]"
            if self.is_narrow
            else f"cell->a{accumulator}"
        )


@dataclass(frozen=True, slots=True)
class MemberRows:
    """LFTAs whose rows are made of a cell in the same way, of a predicate each."""

    cells: MemberCells
    members: tuple[tuple[int, int], ...]
    """Number of the predicate, and which of the set it is."""
    node: PartialAggregate


@dataclass(frozen=True, slots=True)
class MemberSet:
    """The LFTAs that fill one table, the one that has it first."""

    nodes: tuple[PartialAggregate, ...]
    cells: tuple[MemberCells, ...]
    arguments: tuple[Expression, ...]
    """Distinct: what accumulators are told of a packet."""

    @property
    def owner(self) -> PartialAggregate:
        return self.nodes[0]

    @property
    def predicates(self) -> tuple[MemberPredicate, ...]:
        """By their numbers."""
        return tuple(predicate for cells in self.cells for predicate in cells.predicates)

    @property
    def narrow(self) -> list[MemberCells]:
        """Those that a packet is added to all at once."""
        return [cells for cells in self.cells if cells.is_narrow]

    def predicate_of(self, node: LowNode) -> int:
        """The number of an LFTA's predicate."""
        member = self.member(node)
        return next(p.number for p in self.predicates if member in p.members)

    def member(self, node: LowNode) -> int:
        """Which of the set an LFTA is."""
        return [other.name for other in self.nodes].index(node.name)

    def arguments_of(self, accumulator: Accumulator) -> list[int]:
        """Which arguments an accumulator is told of."""
        keys = [expression_key(e) for e in self.arguments]
        return [keys.index(expression_key(e)) for e in accumulator.expressions]

    def rows(self) -> list[MemberRows]:
        """How the rows of all members are made."""
        found: dict[object, list[tuple[int, int]]] = {}
        made: dict[object, tuple[MemberCells, PartialAggregate]] = {}
        for cells in self.cells:
            for predicate in cells.predicates:
                for turn, member in enumerate(predicate.members):
                    node = self.nodes[member]
                    key = (turn, cells.number, _row_key(self.owner, cells, node))
                    found.setdefault(key, []).append((predicate.number, member))
                    made.setdefault(key, (cells, node))
        return [MemberRows(made[key][0], tuple(found[key]), made[key][1]) for key in found]


def member_set(plan: Plan, owner: LowNode) -> MemberSet:
    """What is in the table that an LFTA fills with others."""
    known = {node.name: node for node in plan.low}
    nodes = tuple(cast("PartialAggregate", known[name]) for name in owner.table_of)
    asked: dict[object, list[int]] = {}
    for member, node in enumerate(nodes):
        asked.setdefault(_predicate_key(node), []).append(member)
    alike: dict[object, list[list[int]]] = {}
    kept: dict[object, tuple[Accumulator, ...]] = {}
    for members in asked.values():
        own = _distinct(a for member in members for a in nodes[member].accumulators)
        key = tuple(map(accumulator_key, own))
        alike.setdefault(key, []).append(members)
        kept[key] = own
    cells: list[MemberCells] = []
    first = 0
    for kind, groups in alike.items():
        predicates = tuple(
            MemberPredicate(first + at, tuple(members), nodes[members[0]])
            for at, members in enumerate(groups)
        )
        cells.append(MemberCells(len(cells), first, kept[kind], predicates))
        first += len(predicates)
    told = {expression_key(e): e for own in kept.values() for a in own for e in a.expressions}
    return MemberSet(nodes, tuple(cells), tuple(told.values()))


def accumulator_key(accumulator: Accumulator) -> object:
    """Equal for two that keep the same of the same rows."""
    told = tuple(map(expression_key, accumulator.expressions))
    return accumulator.kind, str(accumulator.type), accumulator.argument is None, told


def group_places(owner: PartialAggregate, node: PartialAggregate) -> list[int]:
    """Which group of the table each group of an LFTA is."""
    keys = [expression_key(group.expression) for group in owner.groups]
    return [keys.index(expression_key(group.expression)) for group in node.groups]


def accumulator_places(cells: MemberCells, node: PartialAggregate) -> list[int]:
    """Which accumulator of a cell each accumulator of an LFTA is."""
    keys = list(map(accumulator_key, cells.accumulators))
    return [keys.index(accumulator_key(a)) for a in node.accumulators]


def _is_narrow(accumulator: Accumulator) -> bool:
    argument = accumulator.argument
    if accumulator.kind == "count":
        return argument is None or not argument.nullable
    if accumulator.kind != "sum_unsigned" or not isinstance(argument, Cast) or argument.checked:
        return False
    value = argument.operand
    if not isinstance(value, FieldRef) or value.nullable:
        return False
    return value.type is Type.USHORT or value.accessor in _LENGTHS


def _row_key(owner: PartialAggregate, cells: MemberCells, node: PartialAggregate) -> object:
    types = tuple((str(c.type), c.nullable) for c in node.schema.columns)
    return tuple(group_places(owner, node)), tuple(accumulator_places(cells, node)), types


def _predicate_key(node: PartialAggregate) -> object:
    return node.signature, tuple(map(expression_key, node.predicates))


def _distinct(accumulators: Iterable[Accumulator]) -> tuple[Accumulator, ...]:
    found = {accumulator_key(a): a for a in accumulators}
    return tuple(found[key] for key in _ordered(list(found)))


def _ordered(keys: Sequence[object]) -> list[object]:
    """The same in whatever order the queries have them."""
    return sorted(keys, key=repr)

# SPDX-License-Identifier: Apache-2.0
"""From trees to typed expressions: what the names mean, clause by clause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.answers.reference import arithmetic, conditions
from tests.answers.reference.aggregates import (
    AT_EXTREME,
    NAMES,
    Aggregate,
    aggregate,
    at_extreme,
    of_distinct,
    separated,
)
from tests.answers.reference.functions import choice, function
from tests.answers.reference.running import over
from tests.answers.reference.sampling import STATEFUL, AtHand
from tests.answers.reference.syntax import (
    Call,
    Case,
    Cast,
    Literal,
    Membership,
    Name,
    Node,
    Operation,
    Parameter,
    Prefix,
)
from tests.answers.reference.typed import VARYING, Typed, cast, constant, settled
from tests.answers.reference.udafs import UDAFS, udaf

Resolve = Callable[[Name], Typed]

LOGIC = {"AND": conditions.conjunction, "OR": conditions.disjunction}


@dataclass
class Binder:
    """Types the expressions of one clause; `collect` takes its aggregates, where it may have any.

    `grouped` are expressions that stand for a group variable, wherever they are written.
    """

    resolve: Resolve
    parameters: Mapping[str, Literal] = field(default_factory=dict)
    collect: Callable[[Call, Aggregate], Typed] | None = None
    rows: Resolve | None = None
    """What names mean inside of aggregates."""
    grouped: Mapping[Node, Typed] = field(default_factory=dict)
    grouping: Callable[[Sequence[Node]], Typed] | None = None
    """What `grouping(x, …)` is, where groups are spoken of."""
    supergroup: AtHand | None = None
    """Where a query samples."""

    def typed(self, node: Node) -> Typed:
        """The expression; KeyError or AssertionError for what this reference does not know."""
        if node in self.grouped:
            return self.grouped[node]
        if isinstance(node, Literal):
            return constant(node.type, node.value)  # type: ignore[arg-type]
        if isinstance(node, Parameter):
            value = self.parameters[node.name]
            return constant(value.type, value.value)  # type: ignore[arg-type]
        if isinstance(node, Name):
            return self.resolve(node)
        if isinstance(node, Cast):
            return cast(self.typed(node.operand), node.type)
        if isinstance(node, Case):
            return self._case(node)
        if isinstance(node, Membership):
            return self._membership(node)
        if isinstance(node, Call):
            return self._call(node)
        assert isinstance(node, Operation)
        return self._operation(node)

    def _case(self, node: Case) -> Typed:
        branches = [(self.typed(when), self.typed(then)) for when, then in node.branches]
        return choice(branches, self.typed(node.otherwise))

    def _membership(self, node: Membership) -> Typed:
        operand = self.typed(node.operand)
        tests = [conditions.in_prefix(operand, p) for p in node.values if isinstance(p, Prefix)]
        values = [self.typed(value) for value in node.values if not isinstance(value, Prefix)]
        if values:
            tests.append(conditions.membership(operand, values))
        return conditions.disjunction(tests)

    def _operation(self, node: Operation) -> Typed:
        operands = [self.typed(operand) for operand in node.operands]
        sign = node.operator
        if sign in LOGIC:
            return LOGIC[sign](operands)
        if sign in conditions.COMPARE:
            return conditions.comparison(sign, *operands)
        if sign in _UNARY:
            return _UNARY[sign](*operands)
        return arithmetic.binary(sign, *operands)

    def _call(self, node: Call) -> Typed:
        if node.name == "grouping":
            assert self.grouping is not None, "grouping in the wrong clause"
            return self.grouping(node.arguments)
        if node.name == "count_distinct$":
            return self._asked().count()
        if node.name in STATEFUL:
            arguments = [self.typed(argument) for argument in node.arguments]
            return self._asked().call(node.name, arguments)
        if node.name not in NAMES:
            return function(node.name, [self.typed(argument) for argument in node.arguments])
        assert self.collect is not None, f"{node.name} in the wrong clause"
        assert self.rows is not None
        inner = Binder(self.rows, self.parameters, supergroup=self.supergroup)
        arguments = [inner.typed(argument) for argument in node.arguments]
        if node.name in ("time_avg", "flow_weight"):
            arguments = [_together(arguments)]
        windows = arguments[1].constant if node.name.startswith("moving") else 1
        assert isinstance(windows, int)
        if node.filter is not None:
            arguments = _selected(inner.typed(node.filter), arguments)
        if node.name in ("string_agg", "cat_aggr"):
            separator = inner.typed(node.arguments[node.name == "string_agg"])
            found = separated(arguments[node.name == "cat_aggr"], separator)
        elif node.name in UDAFS:
            constants = [inner.typed(argument).constant for argument in node.arguments]
            found = udaf(node.name, arguments, constants)
        elif node.name in AT_EXTREME:
            found = at_extreme(node.name, *arguments)
        else:
            found = aggregate(node.name, arguments[0] if arguments else None)
        found = of_distinct(found) if node.distinct else found
        if node.name == "sum$":
            return self._asked().sum(self.collect(replace(node, name="sum"), found))
        return self.collect(node, over(node.name, windows, found))

    def _asked(self) -> AtHand:
        assert self.supergroup is not None
        return self.supergroup


def _together(arguments: list[Typed]) -> Typed:
    """All of them as one value."""
    read = [argument.read for argument in arguments]
    return Typed("float", lambda row: tuple(each(row) for each in read))  # type: ignore[arg-type]


def _selected(condition: Typed, arguments: list[Typed]) -> list[Typed]:
    """FILTER: of other rows there is nothing; of these `count(*)` counts what is there."""

    def of(argument: Typed) -> Typed:
        firm = settled(argument)
        return replace(
            firm,
            read=lambda row: firm.read(row) if condition.read(row) is True else None,
            order=VARYING,
            constant=None,
        )

    return [of(argument) for argument in arguments or [constant("bool", True)]]


_UNARY: dict[str, Callable[[Typed], Typed]] = {
    "NOT": conditions.negation,
    "IS NULL": conditions.is_null,
    "negative": arithmetic.negative,
    "~": arithmetic.complement,
}

# SPDX-License-Identifier: Apache-2.0
"""Expressions of the syntax tree to checked ones.

None stands for an expression that was wrong, and reported: what it is part of is None in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gigastream.gsql.binder.aggregates import (
    AGGREGATES,
    Aggregates,
    is_user_aggregate,
    refuse,
)
from gigastream.gsql.binder.calls import language_function
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.declared import declared_function
from gigastream.gsql.binder.groups import Groups
from gigastream.gsql.binder.literals import constant, define, is_prefix, literal, parameter
from gigastream.gsql.binder.matching import pattern_test
from gigastream.gsql.binder.membership import in_prefix, in_values
from gigastream.gsql.binder.names import Scope
from gigastream.gsql.binder.properties import interface_property
from gigastream.gsql.binder.stateful import (
    Superaggregates,
    refuse_of_supergroup,
    stateful_call,
)
from gigastream.gsql.catalog.protocols import resolved_type
from gigastream.gsql.diagnostics import Diagnostic, DiagnosticSink, did_you_mean
from gigastream.gsql.expressions import Constant, Expression, GroupRef
from gigastream.gsql.operations import arithmetic, conditions
from gigastream.gsql.operations.conversion import is_null
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class ClauseContext:
    """Where an expression stands."""

    clause: str
    aggregates: Aggregates | None = None
    """Where its aggregates are collected; None where it may have none."""
    rows: Scope | None = None
    """What names mean inside of aggregates."""
    groups: Groups | None = None
    """What it speaks of, where that is groups."""
    superaggregates: Superaggregates | None = None
    """Where those are collected; None where no supergroup can be asked."""


ALWAYS, SOMETIMES, NEVER = 2, 1, 0
"""How often a part of an expression is evaluated."""

_DROPPED = "rows that come here have no value, and are dropped"


def _less(how: int, condition: Expression | None) -> int:
    """How often what stands behind a condition is evaluated."""
    if not isinstance(condition, Constant):
        return min(how, SOMETIMES)
    return how if condition.value is True else NEVER


class Binder:
    """Checks the expressions of one place of a query."""

    def __init__(self, context: BindingContext, scope: Scope, place: ClauseContext) -> None:
        self.context = context
        self.sink = context.sink
        self.scope = scope
        self.place = place

    def bind(self, node: ast.SyntaxExpression) -> Expression | None:
        """Return the checked expression, or None after an error."""
        found = _BINDERS[type(node)](self, node)
        if found is None or self.place.groups is None:
            return found
        return self.place.groups.rolled(found)

    def condition(self, node: ast.SyntaxExpression) -> Expression | None:
        """Return a checked condition, or None after an error."""
        return conditions.condition(self.bind(node), self.sink)

    # Leaves

    def _literal(self, node: ast.Literal) -> Expression | None:
        return literal(node, self.sink)

    def _name(self, node: ast.Name) -> Expression | None:
        return self.scope.resolve(node, self.sink)

    def _parameter(self, node: ast.Parameter) -> Expression | None:
        return parameter(node, self.context)

    def _define(self, node: ast.Define) -> Expression | None:
        return define(node, self.context)

    def _property(self, node: ast.InterfaceProperty) -> Expression | None:
        return interface_property(node, self.scope, self.context)

    def _star(self, node: ast.Star) -> Expression | None:
        message = "* stands alone in SELECT * and count(*)"
        self.sink.error("syntax", message, node.span)
        return None

    def _broken(self, node: ast.Broken) -> Expression | None:
        return None

    # Operators

    def _unary(self, node: ast.Unary) -> Expression | None:
        operand = self.bind(node.operand)
        if node.op == "-":
            return arithmetic.negated(operand, node.span, self.sink)
        if node.op == "~":
            return arithmetic.complemented(operand, node.span, self.sink)
        return conditions.inverted(operand, node.span, self.sink)

    def _binary(self, node: ast.Binary) -> Expression | None:
        left, right = self.bind(node.left), self.bind(node.right)
        return arithmetic.binary(node.op, left, right, node.span, self.sink)

    def _comparison(self, node: ast.Comparison) -> Expression | None:
        left, right = self.bind(node.left), self.bind(node.right)
        return conditions.comparison(node.op, left, right, node.span, self.sink)

    def _logical(self, node: ast.Logical) -> Expression | None:
        """AND, OR: beside an operand that decides nothing else is evaluated."""
        bound = [self._apart(operand) for operand in node.operands]
        decides = any(conditions.is_decided(operand, node.op) for operand, _ in bound)
        for _, messages in bound:
            self._report(messages, NEVER if decides else ALWAYS)
        operands = [operand for operand, _ in bound]
        return conditions.conjunction(node.op, operands, node.span, self.sink)

    def _between(self, node: ast.Between) -> Expression | None:
        operand, low, high = (self.bind(part) for part in (node.operand, node.low, node.high))
        above = conditions.comparison(">=", operand, low, node.span, self.sink)
        below = conditions.comparison("<=", operand, high, node.span, self.sink)
        return conditions.conjunction("AND", [above, below], node.span, self.sink)

    def _pattern_test(self, node: ast.PatternTest) -> Expression | None:
        operand, pattern = self.bind(node.operand), self.bind(node.pattern)
        escape = None if node.escape is None else self.bind(node.escape)
        if node.escape is not None and escape is None:
            return None
        return pattern_test(self.context, node.op, operand, pattern, escape, node.span)

    def _is_null(self, node: ast.IsNull) -> Expression | None:
        return conditions.null_test(self.bind(node.operand), node.span)

    def _case(self, node: ast.CaseExpression) -> Expression | None:
        whens = [(when.condition, when.result) for when in node.whens]
        return self._choice("CASE", whens, node.default, node.span)

    def _choice(
        self,
        word: str,
        whens: Sequence[tuple[ast.SyntaxExpression, ast.SyntaxExpression]],
        default: ast.SyntaxExpression | None,
        span: Span,
    ) -> Expression | None:
        """CASE, IF: a value that is never taken need not be one."""
        taken, branches = ALWAYS, []
        for when, then in whens:
            condition = self._reached(when, taken)
            value = self._reached(then, _less(taken, condition))
            taken = _less(taken, conditions.opposite(condition))
            branches.append((condition, value))
        otherwise: Expression | None = constant(Type.BOOL, None, span)
        if default is not None:
            otherwise = self._reached(default, taken)
        return arithmetic.choice(branches, otherwise, span, self.sink, word)

    def _reached(self, node: ast.SyntaxExpression, how: int) -> Expression | None:
        """Bind what is evaluated always, sometimes or never."""
        if how == ALWAYS:
            return self.bind(node)
        value, messages = self._apart(node)
        self._report(messages, how)
        return value

    def _apart(
        self, node: ast.SyntaxExpression
    ) -> tuple[Expression | None, tuple[Diagnostic, ...]]:
        """Bind, and leave it to the caller what is said of it."""
        own = DiagnosticSink()
        value = Binder(replace(self.context, sink=own), self.scope, self.place).bind(node)
        return value, own.diagnostics

    def _report(self, messages: Iterable[Diagnostic], how: int) -> None:
        """Pass messages on; having no value is wrong only where a value is wanted."""
        for item in messages:
            if item.code not in arithmetic.NO_VALUE or how == ALWAYS:
                self.sink.add(item)
            elif how == SOMETIMES:
                self.sink.add(replace(item, severity="warning", hint=item.hint or _DROPPED))

    def _cast(self, node: ast.CastExpression) -> Expression | None:
        operand = self.bind(node.operand)
        type_ = resolved_type(node.type, self.sink)
        return None if type_ is None else arithmetic.cast(operand, type_, node.span, self.sink)

    # IN

    def _in_list(self, node: ast.InList) -> Expression | None:
        operand = self.bind(node.operand)
        values = [self.bind(item) for item in node.items if not is_prefix(item)]
        tests = [] if not values else [in_values(operand, values, node.span, self.sink)]
        for item in node.items:
            if is_prefix(item):
                tests.append(in_prefix(operand, item, node.span, self.context))
        if len(tests) == 1:
            return tests[0]
        return conditions.conjunction("OR", tests, node.span, self.sink)

    def _in_prefix(self, node: ast.InPrefix) -> Expression | None:
        return in_prefix(self.bind(node.operand), node.prefix, node.span, self.context)

    # Calls

    def _call(self, node: ast.Call) -> Expression | None:
        if any(isinstance(argument, ast.Broken) for argument in node.args):
            return None  # how many there are is not known
        if node.superaggregate:
            return self._superaggregate(node)
        if node.name.upper() in AGGREGATES or is_user_aggregate(node.name, self.context):
            return self._aggregate(node)
        if node.name.upper() == "GROUPING":
            return self._grouping(node)
        return self._function(node)

    def _function(self, node: ast.Call) -> Expression | None:
        if node.name.upper() == "IF" and len(node.args) == 3 and not _mark_of_aggregates(node):
            when, then, otherwise = node.args
            return self._choice(node.name, [(when, then)], otherwise, node.span)
        arguments = self._evaluated(node)
        mark = _mark_of_aggregates(node)
        if mark:
            message = f"{node.name} is no aggregate, so it takes no {mark}"
            hint = did_you_mean(node.name.lower(), tuple(name.lower() for name in AGGREGATES))
            self.sink.error("wrong-arguments", message, node.span, hint or "write count(*)")
            return None
        function = language_function(node.name)
        if function is not None:
            return function(self.context, node, arguments)
        if node.name.lower() not in self.context.catalog.stateful_functions:
            return declared_function(self.context, node, arguments)
        if self.place.superaggregates is None:
            refuse_of_supergroup(node.name, self.place.clause, node.span, self.sink)
            return None
        return stateful_call(self.context, node, arguments)

    def _superaggregate(self, node: ast.Call) -> Expression | None:
        table = self.place.superaggregates
        if table is None or self.place.clause.startswith("the "):
            refuse_of_supergroup(f"{node.name}$", self.place.clause, node.span, self.sink)
            return None
        arguments, condition = self._of_rows(node)
        return table.add(node, arguments, condition, self.context)

    def _grouping(self, node: ast.Call) -> Expression | None:
        """grouping(x): of which sets a group is."""
        groups = self.place.groups
        if groups is None:
            message = f"{node.name} cannot stand in {self.place.clause}: it is said of groups"
            hint = "SELECT, HAVING and ORDER BY of an aggregation have it"
            self.sink.error("misplaced-grouping", message, node.span, hint)
            return None
        bound = [self.bind(argument) for argument in node.args]
        found = [groups.grouped(argument, self.sink) for argument in bound]
        variables = [e for e in found if isinstance(e, GroupRef)]
        if node.star or node.distinct or not found or len(variables) < len(found):
            if None not in found:
                message = f"{node.name} takes group variables"
                self.sink.error("wrong-arguments", message, node.span, "grouping(srcIP)")
            return None
        return groups.grouping(variables, node.span)

    def _evaluated(self, node: ast.Call) -> list[Expression | None]:
        """Arguments; those of coalesce only as far as none before them is always there."""
        if node.name.lower() not in ("coalesce", "ifnull"):
            return [self.bind(argument) for argument in node.args]
        how, bound = ALWAYS, []
        for argument in node.args:
            bound.append(self._reached(argument, how))
            is_there = bound[-1] is not None and not bound[-1].nullable and not is_null(bound[-1])
            how = NEVER if is_there else min(how, SOMETIMES)
        return bound

    def _aggregate(self, node: ast.Call) -> Expression | None:
        table = self.place.aggregates
        if table is None:
            refuse(node, self.place.clause, self.sink)
            return None
        arguments, condition = self._of_rows(node)
        return table.add(node, arguments, condition, self.context)

    def _of_rows(self, node: ast.Call) -> tuple[list[Expression | None], Expression | None]:
        """An aggregate's arguments, and the condition of its FILTER: they speak of rows.

        Of rows that FILTER leaves out an argument is not evaluated.
        """
        rows = self.place.rows or self.scope
        condition, how = None, ALWAYS
        if node.filter is not None:
            place = self._inside(f"the FILTER of {node.name}")
            condition = Binder(self.context, rows, place).condition(node.filter)
            how = _less(ALWAYS, condition)
        place = self._inside(f"the argument of {node.name}")
        binder = Binder(self.context, rows, place)
        return [binder._reached(argument, how) for argument in node.args], condition

    def _inside(self, clause: str) -> ClauseContext:
        """A part of an aggregate: of rows, with the state that their supergroup has by then."""
        return ClauseContext(clause, superaggregates=self.place.superaggregates)

    def _predicate(self, node: ast.PredicateCall) -> Expression | None:
        arguments = [self.bind(argument) for argument in node.args]
        return declared_function(self.context, node, arguments)


def _mark_of_aggregates(node: ast.Call) -> str:
    """What stands in a call that only an aggregate's may have."""
    if node.star:
        return "*"
    if node.distinct:
        return "DISTINCT"
    return "FILTER" if node.filter is not None else ""


_BINDERS: dict[type[ast.SyntaxNode], Callable[[Binder, Any], Expression | None]] = {
    ast.Literal: Binder._literal,
    ast.Name: Binder._name,
    ast.Star: Binder._star,
    ast.Parameter: Binder._parameter,
    ast.Define: Binder._define,
    ast.InterfaceProperty: Binder._property,
    ast.Unary: Binder._unary,
    ast.Binary: Binder._binary,
    ast.Comparison: Binder._comparison,
    ast.Logical: Binder._logical,
    ast.InList: Binder._in_list,
    ast.InPrefix: Binder._in_prefix,
    ast.Between: Binder._between,
    ast.IsNull: Binder._is_null,
    ast.PatternTest: Binder._pattern_test,
    ast.CaseExpression: Binder._case,
    ast.CastExpression: Binder._cast,
    ast.Call: Binder._call,
    ast.PredicateCall: Binder._predicate,
    ast.Broken: Binder._broken,
}

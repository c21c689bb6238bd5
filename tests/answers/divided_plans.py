# SPDX-License-Identifier: Apache-2.0
"""Query sets taken apart: the outputs that threads divide alike are a set of their own.

A set is read by one thread as soon as one query of it must be, and most sets of the tests have such
a query. So each output is asked for itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gigastream.gsql.queries import CheckedQuery
from gigastream.plan import Plan, plan_queries
from gigastream.plan.nodes import topological
from gigastream.plan.operators.output import Output
from tests.answers.paths import EXCHANGING, ONE_HIGH_LEVEL, kind_of

DIVIDED = (EXCHANGING, ONE_HIGH_LEVEL)
"""The kinds of outputs that several threads answer."""


def outputs_by_kind(plan: Plan) -> dict[str, list[Output]]:
    """The outputs, by how they are divided if asked alone; no kind without one."""
    found: dict[str, list[Output]] = {}
    for output in plan.outputs:
        found.setdefault(kind_of(below(plan, output)), []).append(output)
    return found


def below(plan: Plan, output: Output) -> Plan:
    """What an output needs, to look at: it is not the plan that it has alone."""
    return replace(plan, nodes=topological((output,)))


def plan_of_outputs(
    queries: Sequence[CheckedQuery], names: Collection[str], *, is_finite: bool = False
) -> Plan:
    """The plan of some outputs of a set, as if the others were not seen."""
    asked = [query if query.name in names else _internal(query) for query in queries]
    return plan_queries(asked, is_finite=is_finite)


def _internal(query: CheckedQuery) -> CheckedQuery:
    return replace(query, options=replace(query.options, visibility="internal"))

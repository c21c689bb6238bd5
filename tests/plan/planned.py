# SPDX-License-Identifier: Apache-2.0
"""From GSQL text to a plan, as the command line does it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.source import SourceFile
from gigastream.plan import plan_queries
from gigastream.plan.nodes import Node
from gigastream.plan.plan import Plan
from gigastream.query_texts import QueryTexts, check_texts

Interfaces = Mapping[str, Mapping[str, str]]


def checked(
    text: str, *, definitions: Path | None = None, interfaces: Interfaces | None = None
) -> tuple[CheckedQuery, ...]:
    """The queries of a text; its first is called `query`."""
    texts = QueryTexts(
        (SourceFile("query.gsql", text),),
        definitions=() if definitions is None else (str(definitions),),
        interfaces=interfaces or {},
    )
    return check_texts(texts).queries


def planned(text: str) -> Plan:
    """The plan of a text."""
    return plan_queries(checked(text))


def node(plan: Plan, name: str) -> Node:
    """The node of that name that is no output."""
    return next(n for n in plan.nodes if n.name == name and not n.is_output)

# SPDX-License-Identifier: Apache-2.0
"""The docstring of each rule is its test: a query, and lines of its plan before and after.

`Before:` and `After:` hold lines that stand together in what explain shows of the plan that the
rule is given, and of the one that it gives back; columns may be wider there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest
from captures import ROOT
from plan.planned import checked

from gigastream.plan.explain import explain
from gigastream.plan.lowering import lower
from gigastream.plan.plan import Plan
from gigastream.plan.rules import RULES

FUNCTIONS = ROOT / "examples" / "extensions" / "words.py"
Rule = Callable[[Plan], Plan]


def sections(rule: Rule) -> list[tuple[str, list[str]]]:
    """The sections of a rule's docstring: name and lines."""
    found: list[tuple[str, list[str]]] = []
    for line in inspect.getdoc(rule).splitlines():
        if line in ("Query:", "Before:", "After:"):
            found.append((line[:-1], []))
        elif found and line.startswith("    "):
            found[-1][1].append(line)
    return found


def before(rule: Rule, text: str) -> Plan:
    """The plan of a text as the rule gets it."""
    plan = lower(checked(text, definitions=FUNCTIONS))
    for earlier in RULES[: RULES.index(rule)]:
        plan = earlier(plan)
    return plan


def squeezed(lines: list[str]) -> list[str]:
    """Lines without what only aligns them."""
    return [re.sub(r"\s+", " ", line).strip() for line in lines]


def stands_in(wanted: list[str], shown: str) -> bool:
    """True if the lines stand together in the text."""
    lines, wanted = squeezed(shown.splitlines()), squeezed(wanted)
    ends = range(len(lines) - len(wanted) + 1)
    return any(lines[at : at + len(wanted)] == wanted for at in ends)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_does_what_its_docstring_says(rule: Rule) -> None:
    parts = sections(rule)
    names = [name for name, _ in parts]
    assert names.count("Query") == 1
    assert {"Before", "After"} < set(names)
    plan = before(rule, "\n".join(parts[names.index("Query")][1]))
    shown = {"Before": explain(plan), "After": explain(rule(plan))}
    for name, wanted in parts:
        if name != "Query":
            assert stands_in(wanted, shown[name]), shown[name]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_applied_again_changes_nothing_that_is_shown(rule: Rule) -> None:
    text = next("\n".join(lines) for name, lines in sections(rule) if name == "Query")
    once = rule(before(rule, text))
    assert explain(rule(once)) == explain(once)

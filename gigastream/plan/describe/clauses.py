# SPDX-License-Identifier: Apache-2.0
"""WHERE and GROUP BY in words."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.expressions import Expression
from gigastream.gsql.queries import GroupVariable
from gigastream.plan.costs import cost
from gigastream.plan.text import expression_text, progress_text


def predicate_texts(predicates: Sequence[Expression]) -> tuple[str, ...]:
    """`len > 100 (cost 2)`, each."""
    return tuple(f"{expression_text(p)} (cost {cost(p)})" for p in predicates)


def named(group: GroupVariable) -> str:
    """`tb = time/60`."""
    text = expression_text(group.expression)
    return text if text == group.name else f"{group.name} = {text}"


def group_text(group: GroupVariable) -> str:
    """`tb = time/60, a window`."""
    shown = named(group)
    return f"{shown}, a window" if group.expression.temporal.is_temporal else shown


def group_with_progress(group: GroupVariable) -> str:
    """`tb = time/60, a window: punctuation of time b -> b/60, inverse v -> 60*v`."""
    progress = progress_text(group.expression)
    return f"{group_text(group)}: {progress}" if progress else group_text(group)

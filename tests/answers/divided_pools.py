# SPDX-License-Identifier: Apache-2.0
"""Queries at random that threads divide: those of a pool, by how they do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from random import Random

from tests.answers.divided_maker import DividedMaker
from tests.answers.divided_plans import DIVIDED
from tests.answers.engine import plan_of
from tests.answers.paths import kind_of
from tests.answers.test_random import INTERFACES, Pool, is_accepted

MADE = 400
"""At most so many are made: one in ten exchanges rows, one in four has one high level."""


@cache
def divided(texts: Sequence[str], definitions: Sequence[str] = ()) -> dict[str, Pool]:
    """By kind the pools that are not empty; why the others are not divided is documented."""
    found: dict[str, list[str]] = {}
    for text in texts:
        plan = plan_of(text, interfaces=INTERFACES, definitions=definitions)
        found.setdefault(kind_of(plan), []).append(text)
    return {kind: _pool(found[kind], definitions) for kind in DIVIDED if kind in found}


@cache
def made(kind: str, seed: int, count: int) -> Pool:
    """So many queries of a kind."""
    chosen: list[str] = []
    for text in DividedMaker(Random(seed), INTERFACES).query_set(MADE):
        if is_accepted(text, INTERFACES):
            plan = plan_of(text, interfaces=INTERFACES)
            chosen += [text] * (kind_of(plan) == kind)
        if len(chosen) == count:
            return _pool(chosen)
    raise AssertionError(f"{len(chosen)} of {MADE} queries are {kind}")


def _pool(texts: Iterable[str], definitions: Sequence[str] = ()) -> Pool:
    own = tuple(texts)
    plan = plan_of(";\n".join(own), interfaces=INTERFACES, definitions=definitions)
    return Pool(own, plan, tuple(definitions))

# SPDX-License-Identifier: Apache-2.0
"""Queries at random that threads divide, over packets at random: the reference's rows.

Those of test_random.py read two interfaces in one set, which one thread does.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.settings import Settings
from tests.answers.divided_plans import DIVIDED
from tests.answers.divided_pools import divided, made
from tests.answers.paths import EXCHANGING, kind_of
from tests.answers.pools import FAMILIES, check_divided, pool
from tests.answers.test_random import check_on_every_path, files, tunings

COUNT, COUNT_LONG = 8, 12
QUERIES, CAPTURES = 60, 3
OFTEN_DIVIDED = ("addresses", "changing", "functions", "mutants", "packets", "spellings", "windows")
"""Families of which some queries of every pool are."""

by_kind = pytest.mark.parametrize("kind", DIVIDED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@by_kind
def test_a_pool_is_divided_as_its_queries_are(kind: str) -> None:
    queries = made(kind, 1, COUNT)
    assert len(queries.texts) == COUNT
    assert kind_of(queries.plan) == kind


@by_kind
@settings(max_examples=10, derandomize=True)
@given(files, tunings)
def test_a_few_queries(kind: str, folder: Path, data: bytes, tuning: Settings) -> None:
    check_on_every_path(made(kind, 1, COUNT), data, tuning, folder)


@pytest.mark.long
@by_kind
@settings(max_examples=25, derandomize=True)
@given(files, tunings)
def test_a_pool_of_queries(kind: str, folder: Path, data: bytes, tuning: Settings) -> None:
    check_on_every_path(made(kind, 2, COUNT_LONG), data, tuning, folder)


@pytest.mark.long
@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "fading"])
def test_those_of_a_family(family: str, tmp_path: Path) -> None:
    if family == "addresses":
        pytest.importorskip("cryptography")
    chance = Random(f"{family} divided")
    queries = pool(family, chance, tmp_path, QUERIES)
    assert family not in OFTEN_DIVIDED or divided(queries.texts, queries.definitions)
    for _ in range(CAPTURES):
        check_divided(family, queries, chance, tmp_path)


@pytest.mark.slow
@by_kind
@settings(max_examples=40)
@given(st.integers(3, 2**32), st.lists(st.tuples(files, tunings), min_size=5, max_size=5))
def test_pools_of_queries(
    kind: str, folder: Path, seed: int, cases: list[tuple[bytes, Settings]]
) -> None:
    count = COUNT if kind == EXCHANGING else COUNT_LONG
    for data, tuning in cases:
        check_on_every_path(made(kind, seed, count), data, tuning, folder)

# SPDX-License-Identifier: Apache-2.0
"""Pools of queries at random, one of each family that has no test of its own."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.answers.pools import check_once, pool

QUERIES, CAPTURES = 16, 5
FAMILIES = ["addresses", "changing", "functions", "spellings", "udafs", "views", "watchlists"]


@pytest.mark.long
@pytest.mark.parametrize("family", [*FAMILIES, pytest.param("fading", marks=pytest.mark.slow)])
def test_a_pool_of_queries(family: str, tmp_path: Path) -> None:
    if family == "addresses":
        pytest.importorskip("cryptography")
    chance = Random(f"{family} 1")
    queries = pool(family, chance, tmp_path, QUERIES)
    for _ in range(CAPTURES):
        check_once(family, queries, chance, tmp_path)

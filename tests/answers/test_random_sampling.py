# SPDX-License-Identifier: Apache-2.0
"""Samples: queries at random over packets at random, against a reference that draws the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.settings import Settings
from tests.answers.sampling_maker import SamplingMaker
from tests.answers.test_random import INTERFACES, Pool, check, files, pool_of, tunings

QUERIES = 20


@cache
def pool(seed: int) -> Pool:
    return pool_of(SamplingMaker(Random(seed), INTERFACES), QUERIES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.mark.long
@settings(max_examples=25, derandomize=True)
@given(files, files, tunings)
def test_a_pool_of_queries(folder: Path, left: bytes, right: bytes, tuning: Settings) -> None:
    """Of each interface one capture: which of several comes first is no rule."""
    check(pool(1), [("left", left), ("right", right)], tuning, folder)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(2, 2**32), st.lists(st.tuples(files, files, tunings), min_size=5, max_size=5))
def test_pools_of_queries(
    folder: Path, seed: int, cases: list[tuple[bytes, bytes, Settings]]
) -> None:
    for left, right, tuning in cases:
        check(pool(seed), [("left", left), ("right", right)], tuning, folder)

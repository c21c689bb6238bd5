# SPDX-License-Identifier: Apache-2.0
"""Groups that go on: queries at random over packets at random, against a reference that remembers.

The reference counts every silent window, so that captures last minutes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.settings import Settings
from tests.answers.mixture import Mixture, packets_of
from tests.answers.running_maker import RunningMaker
from tests.answers.test_random import INTERFACES, Pool, check, pool_of, tunings
from tests.strategies.files import NANOSECONDS, pcap

QUERIES = 20

mixtures = st.builds(
    Mixture,
    seed=st.integers(0, 2**32),
    packets=st.sampled_from([0, 1, 40, 200]),
    hosts=st.sampled_from([1, 4]),
    seconds=st.sampled_from([0, 60, 400]),
    steps_back=st.sampled_from([0.0, 0.1, 0.6]),
    back_ms=st.sampled_from([1, 900, 100_000]),
    cut=st.just(0.0),
)
files = mixtures.map(lambda mixture: pcap(packets_of(mixture), magic=NANOSECONDS))
inputs = st.lists(st.tuples(st.sampled_from(INTERFACES), files), min_size=1, max_size=2)


@cache
def pool(seed: int) -> Pool:
    return pool_of(RunningMaker(Random(seed), INTERFACES), QUERIES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.mark.long
@settings(max_examples=25, derandomize=True)
@given(inputs, tunings)
def test_a_pool_of_queries(
    folder: Path, captures: list[tuple[str, bytes]], tuning: Settings
) -> None:
    check(pool(1), captures, tuning, folder)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(2, 2**32), st.lists(st.tuples(inputs, tunings), min_size=5, max_size=5))
def test_pools_of_queries(
    folder: Path, seed: int, cases: list[tuple[list[tuple[str, bytes]], Settings]]
) -> None:
    for captures, tuning in cases:
        check(pool(seed), captures, tuning, folder)

# SPDX-License-Identifier: Apache-2.0
"""Windows, merges, joins and layers of them at random over two links: the reference's rows.

As in test_random.py a pool of queries is one set, compiled once. Slow, many pools are made.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.settings import Settings
from tests.answers.layer_maker import LayerMaker
from tests.answers.links import Links, links_of
from tests.answers.mixture import Mixture, packets_of
from tests.answers.test_random import INTERFACES, Pool, check, pool_of, tunings
from tests.strategies.files import NANOSECONDS, Packet, pcap

FAMILIES: tuple[tuple[str, ...], ...] = tuple(
    (family,) for family in ("merges", "windows", "joins", "rows", "layers")
)
"""Those that one pool is made of."""
SEEDS = [*product(FAMILIES, (2,)), *product(FAMILIES[:3], (1,))]
QUERIES, QUERIES_SLOW = 12, 24


def _files(links: tuple[list[Packet], list[Packet]]) -> list[tuple[str, bytes]]:
    pairs = zip(INTERFACES, links, strict=True)
    return [(interface, pcap(packets, magic=NANOSECONDS)) for interface, packets in pairs]


links = st.builds(
    Links,
    seed=st.integers(0, 2**32),
    conversations=st.sampled_from([0, 1, 8, 16]),
    seconds=st.sampled_from([3, 30, 300]),
    delay_ms=st.sampled_from([1, 40, 2500]),
    answer_ms=st.sampled_from([2, 900]),
    hosts=st.sampled_from([1, 4]),
).map(links_of)
mixtures = st.builds(
    Mixture,
    seed=st.integers(0, 2**32),
    packets=st.sampled_from([0, 1, 30, 60]),
    hosts=st.sampled_from([1, 4]),
    seconds=st.sampled_from([20, 200]),
    steps_back=st.sampled_from([0.0, 0.1, 0.6]),
    back_ms=st.sampled_from([1, 900, 10_000]),
    cut=st.sampled_from([0.0, 0.2]),
).map(packets_of)
inputs = st.one_of(
    links.map(_files),
    links.map(_files),
    st.tuples(mixtures, mixtures).map(_files),
    st.tuples(mixtures).map(lambda one: _files((*one, []))),
)

at_random = settings(max_examples=12, derandomize=True)


@cache
def pool(families: tuple[str, ...], seed: int, count: int) -> Pool:
    """A pool of queries of some families."""
    return pool_of(LayerMaker(Random(seed), INTERFACES, families), count)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.mark.long
@pytest.mark.parametrize(("families", "seed"), SEEDS, ids=[f"{f[0]}-{seed}" for f, seed in SEEDS])
@at_random
@given(inputs, tunings)
def test_a_pool_of_queries(
    families: tuple[str, ...],
    seed: int,
    folder: Path,
    captures: list[tuple[str, bytes]],
    tuning: Settings,
) -> None:
    check(pool(families, seed, QUERIES), captures, tuning, folder)


def test_where_all_hashes_are_the_same_no_row_comes_twice(folder: Path) -> None:
    """A join in a band asks for each part of it that is in reach: a row is in one of them."""
    captures = _files(links_of(Links(0, conversations=1, seconds=3)))
    tuning = Settings(hash_key=(0, 0), slots=1, burst=1, batch_rows=1)
    check(pool(("joins",), 2, QUERIES), captures, tuning, folder)


@pytest.mark.slow
@pytest.mark.parametrize("families", FAMILIES, ids="-".join)
@settings(at_random, max_examples=30, derandomize=False)
@given(st.integers(3, 2**32), st.lists(st.tuples(inputs, tunings), min_size=5, max_size=5))
def test_pools_of_queries(
    families: tuple[str, ...],
    folder: Path,
    seed: int,
    cases: list[tuple[list[tuple[str, bytes]], Settings]],
) -> None:
    for captures, tuning in cases:
        check(pool(families, seed, QUERIES_SLOW), captures, tuning, folder)

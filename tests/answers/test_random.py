# SPDX-License-Identifier: Apache-2.0
"""Queries at random over packets at random, under settings at random: the reference's rows.

A pool of queries is one set, compiled once, and asked of many captures. Slow, many pools are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.gsql.diagnostics import GsqlError
from gigastream.plan import Plan
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.comparison import assert_same_account, assert_same_answers
from tests.answers.engine import plan_of, run, source
from tests.answers.mixture import Mixture, packets_of
from tests.answers.passing_maker import FilterMaker
from tests.answers.paths import JOBS, on_every_path
from tests.answers.query_maker import QueryMaker
from tests.answers.reference.queries import Answer, Source, answers
from tests.oracle.query import decode
from tests.strategies.captures import capture_files
from tests.strategies.files import NANOSECONDS, pcap

INTERFACES = ("left", "right")
QUERIES = 30
FILTER_JOINS = 12
MOST_REFUSED = 0.2
SECOND_NS = 10**9

mixtures = st.builds(
    Mixture,
    seed=st.integers(0, 2**32),
    packets=st.sampled_from([0, 1, 40, 400]),
    hosts=st.sampled_from([1, 4, 40]),
    seconds=st.sampled_from([0, 1, 60, 900]),
    steps_back=st.sampled_from([0.0, 0.1, 0.6]),
    back_ms=st.sampled_from([1, 900, 100_000]),
    cut=st.sampled_from([0.0, 0.2]),
)
files = st.one_of(
    mixtures.map(lambda mixture: pcap(packets_of(mixture), magic=NANOSECONDS)),
    capture_files(20).map(lambda capture: capture.data),
)
words = st.integers(0, 2**64 - 1).map(lambda word: Random(word).getrandbits(64))
"""Of a key as a process draws it: by one of few bits different groups get equal hashes."""
tunings = st.builds(
    Settings,
    hash_key=st.tuples(words, words),
    disorder_bytes=st.sampled_from([0, 100, 2_000, 16 << 20]),
    slack_ns=st.sampled_from([None, None, 0, 10**9, 30 * 10**9]),
    heartbeat_ns=st.sampled_from([0, SECOND_NS, 7 * SECOND_NS]),
    heartbeat_packets=st.sampled_from([0, 5, 1 << 17]),
    flush=st.sampled_from([None, *FLUSH_POLICIES]),
    slots=st.sampled_from([1, 2, 5, 64, None]),
    burst=st.sampled_from([1, 3, 64, 256]),
    batch_rows=st.sampled_from([1, 2, None]),
    use_mmap=st.booleans(),
    share_groups=st.sampled_from([True, True, False]),
    fast_path=st.booleans(),
    jobs=st.sampled_from([1, 1, JOBS]),
)
inputs = st.lists(st.tuples(st.sampled_from(INTERFACES), files), min_size=1, max_size=3)

at_random = settings(max_examples=35, derandomize=True)


@dataclass(frozen=True)
class Pool:
    """A set of queries."""

    texts: tuple[str, ...]
    plan: Plan
    definitions: tuple[str, ...] = ()
    """Files of definitions."""

    @property
    def text(self) -> str:
        """All of them."""
        return ";\n".join(self.texts)


@cache
def pool(seed: int) -> Pool:
    """A pool of a seed."""
    return pool_of(QueryMaker(Random(seed), INTERFACES), QUERIES)


@cache
def filter_joins(seed: int) -> Pool:
    """FILTER_JOINs of a seed."""
    return pool_of(FilterMaker(Random(seed), INTERFACES), FILTER_JOINS)


def pool_of(maker: QueryMaker, count: int) -> Pool:
    """A pool of any queries."""
    return accepted(maker.query_set(count))


def accepted(made: list[str], definitions: Sequence[str] = ()) -> Pool:
    """A pool without the queries that the checker refuses: few, since the maker knows types."""
    texts = tuple(query for query in made if is_accepted(query, INTERFACES, definitions))
    assert len(texts) >= len(made) * (1 - MOST_REFUSED)
    plan = plan_of(";\n".join(texts), interfaces=INTERFACES, definitions=definitions)
    return Pool(texts, plan, tuple(definitions))


def is_accepted(text: str, interfaces: Sequence[str], definitions: Sequence[str] = ()) -> bool:
    """Whether the checker does not refuse it."""
    try:
        plan_of(text, interfaces=interfaces, definitions=definitions)
    except GsqlError:
        return False
    return True


def check(
    queries: Pool,
    captures: list[tuple[str, bytes]],
    tuning: Settings,
    folder: Path,
    lists: Mapping[str, Answer] | None = None,
) -> None:
    """Raise AssertionError where the engine's rows are not the reference's."""
    sources, decoded = sources_of(captures, tuning, folder)
    given_rows = run(queries.plan, sources, tuning, queries.definitions)
    expected = answers(queries.text, decoded, streams=lists)
    assert_same_answers(expected, given_rows, tuning, queries.text)


def check_on_every_path(
    queries: Pool,
    data: bytes,
    tuning: Settings,
    folder: Path,
    lists: Mapping[str, Answer] | None = None,
) -> None:
    """The same of one capture, by one thread and several; and packets are late that are to be."""
    sources, _ = sources_of([(INTERFACES[0], data)], tuning, folder)
    decoded = decode(data, tuning.disorder_bytes or None, tuning.slack_ns)
    expected = answers(queries.text, [Source(decoded, INTERFACES[0])], streams=lists)
    for settings_of_path in on_every_path(tuning):
        found = run(queries.plan, sources, settings_of_path, queries.definitions)
        assert_same_answers(expected, found, settings_of_path, queries.text)
        assert_same_account(decoded, found)


def sources_of(
    captures: Sequence[tuple[str, bytes]], tuning: Settings, folder: Path
) -> tuple[list[FileSource], list[Source]]:
    """Captures written into a folder, for the engine, and taken apart, for the reference."""
    sources: list[FileSource] = []
    decoded = []
    for at, (interface, data) in enumerate(captures):
        path = folder / f"capture{at}"
        path.write_bytes(data)
        sources.append(source(path, interface))
        found = decode(data, tuning.disorder_bytes or None, tuning.slack_ns)
        decoded.append(Source(found, interface))
    return sources, decoded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
@at_random
@given(inputs, tunings)
def test_a_pool_of_queries(
    seed: int, folder: Path, captures: list[tuple[str, bytes]], tuning: Settings
) -> None:
    check(pool(seed), captures, tuning, folder)


@pytest.mark.long
@settings(at_random, max_examples=15)
@given(files, files, tunings)
def test_a_pool_of_filter_joins(folder: Path, left: bytes, right: bytes, tuning: Settings) -> None:
    """Of each interface one capture: which of several comes first is no rule."""
    check(filter_joins(1), [("left", left), ("right", right)], tuning, folder)


@pytest.mark.slow
@settings(at_random, max_examples=40, derandomize=False)
@given(st.integers(3, 2**32), st.lists(st.tuples(inputs, tunings), min_size=5, max_size=5))
def test_pools_of_queries(
    folder: Path, seed: int, cases: list[tuple[list[tuple[str, bytes]], Settings]]
) -> None:
    for captures, tuning in cases:
        check(pool(seed), captures, tuning, folder)

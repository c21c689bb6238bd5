# SPDX-License-Identifier: Apache-2.0
"""Queries at random over STREAMs and packets, under settings at random: the reference's rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.source import SourceFile
from gigastream.gsql.stream_names import stream_interface
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.records.source import StreamSource, stream_sources
from gigastream.settings import DEFAULT_SLACK_NS, Settings
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import run, source
from tests.answers.record_maker import DEFINITIONS, STREAMS, RecordMaker, given_of
from tests.answers.reference.queries import Source, answers
from tests.answers.test_random import INTERFACES, MOST_REFUSED, Pool, tunings
from tests.answers.test_random_streams import links
from tests.oracle.query import decode
from tests.strategies.files import NANOSECONDS, pcap

QUERIES, QUERIES_SLOW = 20, 30
records_given = st.tuples(
    st.integers(0, 2**32), st.sampled_from([0, 1, 30, 120]), st.sampled_from([3, 30, 300])
)
at_random = settings(max_examples=15, derandomize=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("records")
    (made / "declared.gsql").write_text(DEFINITIONS)
    return made


def _plan(text: str, folder: Path) -> Plan:
    interfaces = {name: {} for name in (*INTERFACES, *map(stream_interface, STREAMS))}
    declared = str(folder / "declared.gsql")
    texts = QueryTexts((SourceFile("query", text),), {}, (declared,), interfaces=interfaces)
    return plan_queries(check_texts(texts).queries)


@cache
def _pool(seed: int, count: int, folder: Path) -> Pool:
    texts = []
    for text in RecordMaker(Random(seed), INTERFACES).query_set(count):
        try:
            _plan(text, folder)
        except GsqlError:
            continue
        texts.append(text)
    assert len(texts) >= count * (1 - MOST_REFUSED)
    return Pool(tuple(texts), _plan(";\n".join(texts), folder))


def _sources(seed: int, count: int, seconds: int, folder: Path) -> list[StreamSource]:
    places = {}
    for name in STREAMS:
        path = folder / f"{name}.json"
        path.write_text(given_of(name, seed, count, seconds).text)
        places[name] = str(path)
    return stream_sources(places, load_catalog([folder / "declared.gsql"]).streams)


def _check(
    pool: Pool,
    packets: tuple[list, list],
    chosen: tuple[int, int, int],
    tuning: Settings,
    folder: Path,
) -> None:
    files, decoded = [], []
    for interface, each in zip(INTERFACES, packets, strict=True):
        data = pcap(each, magic=NANOSECONDS)
        (folder / interface).write_bytes(data)
        files.append(source(folder / interface, interface))
        found = decode(data, tuning.disorder_bytes or None, tuning.slack_ns)
        decoded.append(Source(found, interface))
    slack_ns = DEFAULT_SLACK_NS if tuning.slack_ns is None else tuning.slack_ns
    given_records = {name: given_of(name, *chosen) for name in STREAMS}
    streams = {name: each.answer(name, slack_ns) for name, each in given_records.items()}
    expected = answers(pool.text, decoded, streams=streams)
    found = run(pool.plan, [*files, *_sources(*chosen, folder)], tuning)
    assert_same_answers(expected, found, tuning, chosen, pool.text)
    for statistics in found.statistics.sources:
        name = statistics.interface.removeprefix("STREAM ")
        if name in STREAMS and name in pool.text:  # what no query reads is not read to its end
            assert statistics.undecodable == given_records[name].undecodable
            assert statistics.decoded == len(streams[name].rows)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
@at_random
@given(links, records_given, tunings)
def test_a_pool_of_queries(
    seed: int,
    folder: Path,
    packets: tuple[list, list],
    chosen: tuple[int, int, int],
    tuning: Settings,
) -> None:
    _check(_pool(seed, QUERIES, folder), packets, chosen, tuning, folder)


@pytest.mark.slow
@settings(at_random, max_examples=30, derandomize=False)
@given(
    st.integers(3, 2**32),
    st.lists(st.tuples(links, records_given, tunings), min_size=5, max_size=5),
)
def test_pools_of_queries(
    folder: Path, seed: int, cases: list[tuple[tuple[list, list], tuple[int, int, int], Settings]]
) -> None:
    for packets, chosen, tuning in cases:
        _check(_pool(seed, QUERIES_SLOW, folder), packets, chosen, tuning, folder)

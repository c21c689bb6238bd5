# SPDX-License-Identifier: Apache-2.0
"""Queries at random over packets at random, on Spark: the reference's rows.

Few by default; twelve large pools with --slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.settings import Settings
from tests.answers.function_maker import FunctionMaker
from tests.answers.layer_maker import LayerMaker
from tests.answers.mixture import Mixture, packets_of
from tests.answers.query_maker import QueryMaker
from tests.answers.spark_case import Case, Question, case_of, is_taken
from tests.answers.spelling_maker import SpellingMaker
from tests.day import day_of_run
from tests.strategies.files import NANOSECONDS, pcap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERFACES = ("left", "right")
FAMILIES = ("joins", "windows", "merges")
MOST_REFUSED = 0.5
"""Of the queries: the checker refuses some, Spark others."""
MANY = 20
FEW = 6


Maker = type[QueryMaker]


def pool(
    chance: Random,
    count: int,
    families: tuple[str, ...] = (),
    *,
    maker: Maker = QueryMaker,
    streaming: bool = False,
) -> str:
    """A set of queries, of some families or of packets, that are accepted here and on Spark."""
    if families:
        made = LayerMaker(chance, INTERFACES, families).query_set(count)
    else:
        made = maker(chance, INTERFACES).query_set(count)
    texts = [text for text in made if is_taken(text, INTERFACES, streaming=streaming)]
    assert len(texts) >= count * (1 - MOST_REFUSED)
    return ";\n".join(texts)


def _mixture(chance: Random) -> bytes:
    mixture = Mixture(
        seed=chance.randrange(1 << 32),
        packets=chance.choice((1, 40, 400)),
        hosts=chance.choice((1, 4, 40)),
        seconds=chance.choice((1, 60, 900)),
        steps_back=chance.choice((0.0, 0.1, 0.6)),
        back_ms=chance.choice((1, 900, 100_000)),
        cut=chance.choice((0.0, 0.2)),
    )
    return pcap(packets_of(mixture), magic=NANOSECONDS)


def _capture(chance: Random, *, sparse: bool) -> bytes:
    """What is joined must be little: the reference looks at all pairs."""
    if not sparse:
        return _mixture(chance)
    mixture = Mixture(
        seed=chance.randrange(1 << 32),
        packets=chance.choice((1, 30, 60)),
        hosts=chance.choice((1, 4)),
        seconds=chance.choice((20, 200)),
        steps_back=chance.choice((0.0, 0.1)),
        back_ms=chance.choice((1, 900, 10_000)),
        cut=chance.choice((0.0, 0.2)),
    )
    return pcap(packets_of(mixture), magic=NANOSECONDS)


def _settings(chance: Random) -> Settings:
    return Settings(
        disorder_bytes=chance.choice((0, 100, 2_000, 16 << 20)),
        slack_ns=chance.choice((None, None, 0, 10**9)),
        heartbeat_ns=chance.choice((0, 10**9)),
        flush=chance.choice((None, *FLUSH_POLICIES)),
        slots=chance.choice((1, 2, 5, 64)),
        batch_rows=chance.choice((1, 3, None)),
        fast_path=chance.random() < 0.7,
        hash_key=(chance.randrange(1 << 64), chance.randrange(1 << 64)),
    )


def _case(
    seed: int,
    count: int,
    spark: SparkSession,
    folder: Path,
    families: tuple[str, ...] = (),
    *,
    maker: Maker = QueryMaker,
    streaming: bool = False,
) -> Case:
    text = pool(Random(seed), count, families, maker=maker, streaming=streaming)
    chance = Random(seed)
    settings = _settings(chance)
    chosen = chance.choices(INTERFACES, k=chance.choice((1, 2, 3)))
    captures = [(interface, _capture(chance, sparse=bool(families))) for interface in chosen]
    segment_rows = chance.choice((1, 20, 1 << 20))
    return case_of(Question(text, captures, settings, segment_rows), spark, INTERFACES, folder)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_queries(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = _case(seed, 5, spark, tmp_path)
    case.check_batch()


@pytest.mark.slow
def test_queries_streamed(spark: SparkSession, tmp_path: Path) -> None:
    _case(20, 2, spark, tmp_path, streaming=True).check_streamed(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 15))
def test_many_queries(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = _case(seed, MANY, spark, tmp_path)
    case.check_batch()


@pytest.mark.slow
@pytest.mark.parametrize("maker", [FunctionMaker, SpellingMaker])
@pytest.mark.parametrize("seed", range(15, 18))
def test_many_of_makers(seed: int, maker: Maker, spark: SparkSession, tmp_path: Path) -> None:
    """Functions, parameters, WITH."""
    case = _case(seed, MANY, spark, tmp_path, maker=maker)
    case.check_batch()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(21, 31))
def test_many_queries_streamed(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    _case(seed, FEW, spark, tmp_path, streaming=True).check_streamed(tmp_path)


# Joins, windows, merges


def _families() -> Iterator[Any]:
    """Another family every day; all of them when asked."""
    for at, family in enumerate(FAMILIES):
        is_due = at == day_of_run() % len(FAMILIES)
        yield pytest.param((family,), id=family, marks=() if is_due else pytest.mark.slow)


@pytest.mark.long
@pytest.mark.parametrize("families", list(_families()))
def test_streams_of_families(
    families: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    _case(1, 2, spark, tmp_path, families, streaming=True).check_streamed(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("families", [(family,) for family in FAMILIES], ids="-".join)
@pytest.mark.parametrize("seed", range(40, 44))
def test_many_of_families(
    seed: int, families: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    case = _case(seed, MANY, spark, tmp_path, families)
    case.check_batch()


@pytest.mark.slow
@pytest.mark.parametrize("families", [(family,) for family in FAMILIES], ids="-".join)
@pytest.mark.parametrize("seed", range(50, 53))
def test_many_streams_of_families(
    seed: int, families: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    _case(seed, FEW, spark, tmp_path, families, streaming=True).check_streamed(tmp_path)

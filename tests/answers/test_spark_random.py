# SPDX-License-Identifier: Apache-2.0
"""Queries at random over packets at random, on Spark: the reference's rows.

Few by default; twelve large pools with --slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import SpoolSettings
from spark_sink.operators.merge import merge_seen_in
from spark_sink.refusals import check
from spark_sink.window_complete.due import can_answer
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import Given, run
from tests.answers.layer_maker import LayerMaker
from tests.answers.mixture import Mixture, packets_of
from tests.answers.on_spark import UNSYNCED, QuerySet, Spooled, query_set, write_spool
from tests.answers.query_maker import QueryMaker
from tests.answers.reference.queries import Answer, Source, answers
from tests.oracle.query import decode
from tests.strategies.files import NANOSECONDS, pcap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.answers.engine import Rows

INTERFACES = ("left", "right")
FAMILIES = ("joins", "windows", "merges", "layers")
MOST_REFUSED = 0.5
"""Of the queries: the checker refuses some, Spark others."""
MANY = 20
FEW = 6


def pool(
    seed: int, count: int, families: tuple[str, ...] = (), *, streaming: bool = False
) -> tuple[str, QuerySet]:
    """A set of queries, of some families or of packets, that are accepted here and on Spark."""
    chance = Random(seed)
    if families:
        made = LayerMaker(chance, INTERFACES, families).query_set(count)
    else:
        made = QueryMaker(chance, INTERFACES).query_set(count)
    texts = [text for text in made if _is_accepted(text, streaming=streaming)]
    assert len(texts) >= count * (1 - MOST_REFUSED)
    text = ";\n".join(texts)
    return text, _query_set(text)


def _query_set(text: str) -> QuerySet:
    return query_set([SourceFile("query", text)], INTERFACES)


def _is_accepted(text: str, *, streaming: bool) -> bool:
    try:
        check(_query_set(text).plan, streaming=streaming, on_driver=True)
    except GsqlError:
        return False
    return True


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
    )


@dataclass(frozen=True)
class Case:
    """A pool, packets and settings of a seed: what the reference and the engine answer."""

    seed: int
    text: str
    plan: Plan
    settings: Settings
    expected: dict[str, Answer]
    here: Given
    spooled: Spooled

    def check(self, rows: dict[str, Rows]) -> None:
        given = Given(rows, self.here.statistics)
        assert_same_answers(self.expected, given, self.seed, self.settings, self.text)


def _case(
    seed: int,
    count: int,
    spark: SparkSession,
    folder: Path,
    families: tuple[str, ...] = (),
    *,
    streaming: bool = False,
) -> Case:
    chance = Random(seed)
    text, queries = pool(seed, count, families, streaming=streaming)
    settings, sources, decoded = _settings(chance), [], []
    chosen = chance.choices(INTERFACES, k=chance.choice((1, 2, 3)))
    for interface in (*chosen, *INTERFACES):
        path = folder / f"capture{len(sources)}"
        # of an interface without any capture nobody would know that it has ended
        is_empty = len(sources) >= len(chosen)
        path.write_bytes(pcap([]) if is_empty else _capture(chance, sparse=bool(families)))
        sources.append(FileSource(interface, str(path)))
        found = decode(path, settings.disorder_bytes or None, settings.slack_ns)
        decoded.append(Source(found, interface))
    cut = SpoolSettings(segment_rows=chance.choice((1, 20, 1 << 20)), sync=UNSYNCED)
    write_spool(queries, sources, folder / "spool", settings, cut)
    here = run(queries.plan, sources, settings)
    spooled = Spooled(spark, folder / "spool")
    case = Case(seed, text, queries.plan, settings, answers(text, decoded), here, spooled)
    case.check(here.rows)
    return case


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_queries(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = _case(seed, 5, spark, tmp_path)
    case.check(case.spooled.answers())


@pytest.mark.slow
def test_queries_streamed(spark: SparkSession, tmp_path: Path) -> None:
    _check_streamed(_case(20, 2, spark, tmp_path, streaming=True), tmp_path)


def _check_streamed(case: Case, folder: Path) -> None:
    """By Spark's state, and by whole windows, which alone keep the order of a merge."""
    outputs = case.plan.outputs
    stateful = [output.name for output in outputs if merge_seen_in(output) is None]
    whole = [output.name for output in outputs if can_answer(case.plan, output)]
    by_state = case.spooled.stream(folder / "state", stateful, micro_batches=5)
    by_windows = case.spooled.whole_windows(folder / "windows", whole, micro_batches=5)
    for given in (by_windows | by_state, by_state | by_windows):
        case.check({name: kept.rows() for name, kept in given.items()})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 15))
def test_many_queries(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = _case(seed, MANY, spark, tmp_path)
    case.check(case.spooled.answers())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(21, 31))
def test_many_queries_streamed(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    _check_streamed(_case(seed, FEW, spark, tmp_path, streaming=True), tmp_path)


# Joins, windows, merges, and what is made of them


def _families() -> Iterator[Any]:
    """Another family every day; all of them when asked."""
    for at, family in enumerate(FAMILIES):
        is_due = at == date.today().toordinal() % len(FAMILIES)
        yield pytest.param((family,), id=family, marks=() if is_due else pytest.mark.slow)


@pytest.mark.long
@pytest.mark.parametrize("families", list(_families()))
def test_streams_of_families(
    families: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    _check_streamed(_case(1, 2, spark, tmp_path, families, streaming=True), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("families", [(family,) for family in FAMILIES], ids="-".join)
@pytest.mark.parametrize("seed", range(40, 44))
def test_many_of_families(
    seed: int, families: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    case = _case(seed, MANY, spark, tmp_path, families)
    case.check(case.spooled.answers())


@pytest.mark.slow
@pytest.mark.parametrize("families", [(family,) for family in FAMILIES], ids="-".join)
@pytest.mark.parametrize("seed", range(50, 53))
def test_many_streams_of_families(
    seed: int, families: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    _check_streamed(_case(seed, FEW, spark, tmp_path, families, streaming=True), tmp_path)

# SPDX-License-Identifier: Apache-2.0
"""Captures from beside the checkout: Spark, the engine and the oracle give the same rows.

A few captures by default, two hundred with --slow. Every tenth is streamed as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from captures import capture_id, captures

from gigastream.gsql.source import SourceFile
from gigastream.sources.files import DEFAULT_INTERFACE
from gigastream.spool import SpoolSettings
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import Given, run, source
from tests.answers.on_spark import UNSYNCED, QuerySet, Spooled, query_set, write_spool
from tests.answers.reference.queries import Answer, Source, answers
from tests.answers.test_corpus import CLASSES, HERE, refused, settings_of
from tests.oracle.query import decode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.answers.engine import Rows

SEED = 4
COUNT = 200
QUESTIONS = (HERE / "spark.gsql").read_text()


@cache
def questions() -> QuerySet:
    return query_set([SourceFile("spark.gsql", QUESTIONS)], [DEFAULT_INTERFACE])


def chosen(every: int, by_default: int) -> list[Any]:
    """Of the captures of the fixed seed each so many-th; none that nobody answers is among them."""
    answered = [path for path in captures(*CLASSES) if capture_id(path) not in refused()]
    found = Random(SEED).sample(answered, min(COUNT, len(answered)))[::every]
    return [
        pytest.param(path, id=capture_id(path), marks=() if at < by_default else pytest.mark.slow)
        for at, path in enumerate(found)
    ]


@dataclass(frozen=True)
class SpoolQuery:
    """A capture's spool, and the answer that the oracle and the engine give."""

    spooled: Spooled
    expected: dict[str, Answer]
    here: Given

    def check(self, rows: dict[str, Rows]) -> None:
        assert_same_answers(self.expected, Given(rows, self.here.statistics))


def asked(capture: Path, spark: SparkSession, root: Path) -> SpoolQuery:
    queries, settings = questions(), settings_of(capture)
    expected = answers(QUESTIONS, [Source(decode(capture))])
    here = run(queries.plan, [source(capture)], settings)
    assert_same_answers(expected, here)
    segment_rows = 1 + capture.stat().st_size % 200
    cut = SpoolSettings(segment_rows=segment_rows, sync=UNSYNCED)
    write_spool(queries, [source(capture)], root, settings, cut)
    return SpoolQuery(Spooled(spark, root), expected, here)


@pytest.mark.long
@pytest.mark.parametrize("capture", chosen(every=1, by_default=1))
def test_a_capture_on_spark(capture: Path, spark: SparkSession, tmp_path: Path) -> None:
    found = asked(capture, spark, tmp_path / "spool")
    found.check(found.spooled.answers())


@pytest.mark.long
@pytest.mark.parametrize("capture", chosen(every=10, by_default=1))
def test_a_capture_streamed(capture: Path, spark: SparkSession, tmp_path: Path) -> None:
    found = asked(capture, spark, tmp_path / "spool")
    kept = found.spooled.stream(tmp_path / "checkpoints", micro_batches=3)
    found.check({name: each.rows() for name, each in kept.items()})

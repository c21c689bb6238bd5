# SPDX-License-Identifier: Apache-2.0
"""Expressions at random over the ends of types, in depth: the reference's answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.diagnostics import GsqlError
from tests.answers.query_maker import BOOL, FLOAT, KINDS, STRING, TIMESTAMP, WHOLE, QueryMaker
from tests.answers.query_maker import Column as Named
from tests.spark_expressions.evaluation import ansi_mode, frame, outcomes
from tests.spark_expressions.inputs import checked, columns, rows
from tests.spark_expressions.reference import assert_same, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 120
ROWS = 90
SMALL = ("ushort", "uint", "int")
OF_TYPE = {"float": FLOAT, "bool": BOOL, "string": STRING, "timestamp": TIMESTAMP}


class ExpressionMaker(QueryMaker):
    """Makes expressions over the columns of inputs.py."""

    def __init__(self, random: Random) -> None:
        super().__init__(random, ())
        self._columns = [_named(name, kind.type) for name, kind in columns().items()]

    def expressions(self) -> Iterator[str]:
        """Those that the checker accepts, without end."""
        while True:
            text = self.expression(self._random.choice((*KINDS, "IP", "INET", TIMESTAMP)), 4)
            if _is_accepted(text):
                yield text


def _named(name: str, type_: str) -> Named:
    kind = OF_TYPE.get(type_, type_ if type_.startswith("I") else WHOLE)
    return Named(name, kind, is_small=type_ in SMALL)


def _is_accepted(text: str) -> bool:
    try:
        checked([text])
    except GsqlError:
        return False
    return True


def _check(spark: SparkSession, seed: int, ansi: str) -> None:
    random = Random(seed)
    texts = list(islice(ExpressionMaker(random).expressions(), COUNT))
    data = random.sample(rows(), ROWS)
    with ansi_mode(spark, ansi):
        given = outcomes(frame(spark, data), checked(texts))
    assert_same(texts, data, expected(texts, data), given)


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "ansi"), [(1, "true"), pytest.param(2, "false", marks=pytest.mark.slow)]
)
def test_expressions(spark: SparkSession, seed: int, ansi: str) -> None:
    _check(spark, seed, ansi)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 15))
def test_more_expressions(spark: SparkSession, seed: int) -> None:
    _check(spark, seed, ("true", "false")[seed % 2])

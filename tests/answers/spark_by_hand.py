# SPDX-License-Identifier: Apache-2.0
"""Many queries at random on Spark, by hand: `python -m tests.answers.by_hand … --on spark`.

One session answers all pools: a JVM takes longer to start than a pool to be asked.
"""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from spark_session import start, why_no_spark

from tests.answers.pools import captures_of, pool, tuning_of
from tests.answers.spark_case import Question, case_of, is_taken
from tests.answers.test_random import INTERFACES
from tests.answers.watchlist_maker import lists

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT_OUT = re.compile(r"\b(var|stddev)\(\([\w.]+ / 4\.0\)\)|\bgetlpmid\(")
"""Spark's own variance of floats has few digits right where they lie close together; and who reads
a spool opens no file of another host that its queries name."""
STREAMED = 6
"""Queries of a pool, of which each is two streaming queries."""


@contextmanager
def session() -> Iterator[SparkSession]:
    """A local Spark. RuntimeError where none can be."""
    reason = why_no_spark()
    if reason is not None:
        raise RuntimeError(reason)
    with tempfile.TemporaryDirectory() as folder:
        found = start(Path(folder))
        try:
            yield found
        finally:
            found.stop()


def told_of(
    spark: SparkSession, family: str, seed: int, *, is_streamed: bool
) -> tuple[int, list[str]]:
    """How many queries of a pool ran, of one capture or two, and what differs."""
    chance = Random(f"{family} {seed} on Spark")
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        made = pool(family, chance, folder)
        texts = [
            text
            for text in made.texts
            if is_taken(text, INTERFACES, made.definitions, streaming=is_streamed)
            and not LEFT_OUT.search(text)
        ]
        texts = texts[:STREAMED] if is_streamed else texts
        if not texts:
            return 0, []
        question = Question(
            ";\n".join(texts),
            captures_of(family, chance),
            tuning_of(chance),
            chance.choice((1, 20, 1 << 20)),
            made.definitions,
            lists(chance, folder) if family == "watchlists" else None,
        )
        try:
            case = case_of(question, spark, INTERFACES, folder)
            if is_streamed:
                case.check_streamed(folder)
            else:
                case.check_batch()
        except Exception:  # whatever is wrong is a difference
            return len(texts), [traceback.format_exc()]
    return len(texts), []

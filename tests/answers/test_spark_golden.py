# SPDX-License-Identifier: Apache-2.0
"""Golden queries on Spark: the committed rows, however the spool was written and is read.

All queries of the same inputs are one set, and one spool. The batch reader answers all of them, of
many one third a day; every day another part is streamed too, and with --slow all are, in every way.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.source import SourceFile
from gigastream.gsql.types import Order, Temporal
from gigastream.plan.operators.output import Output
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import SpoolSettings
from spark_sink.operators.merge import merge_seen_in
from spark_sink.window_complete.due import can_answer
from tests.answers.golden import NOT_STREAMED, Golden, golden_queries
from tests.answers.inputs import INPUTS
from tests.answers.on_spark import BOTH_WAYS, UNSYNCED, QuerySet, Spooled, query_set, write_spool
from tests.day import day_of_run
from tests.oracle.rows import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.answers.engine import Rows

SECOND_NS = 10**9
GOLDEN = golden_queries(on_spark=True)
Inputs = tuple[tuple[str, str], ...]
INPUTS_USED = sorted({golden.inputs for golden in GOLDEN})


@dataclass(frozen=True)
class Variant:
    """How a spool is written: what must not change a row."""

    name: str
    settings: Settings
    segment_rows: int


def _variant(
    flush: str | None,
    slots: int,
    burst: int,
    batch_rows: int,
    segment_rows: int,
    *,
    fast_path: bool = True,
) -> Variant:
    """Time goes on with every second of the capture, as in a pipe: windows close one by one."""
    settings = Settings(
        flush=flush,
        slots=slots,
        burst=burst,
        batch_rows=batch_rows,
        fast_path=fast_path,
        slack_ns=SECOND_NS,
        heartbeat_ns=SECOND_NS,
    )
    return Variant(flush or "default", settings, segment_rows)


VARIANTS = (
    _variant(None, slots=64, burst=256, batch_rows=64, segment_rows=150),
    _variant("immediate", slots=1, burst=1, batch_rows=1, segment_rows=9),
    _variant("slow_inorder", slots=2, burst=3, batch_rows=5, segment_rows=7, fast_path=False),
    _variant("slow", slots=16, burst=64, batch_rows=4096, segment_rows=1 << 20),
    _variant("lazy", slots=4, burst=64, batch_rows=40, segment_rows=60, fast_path=False),
)
ROW_BY_ROW = replace(
    _variant("immediate", slots=1, burst=1, batch_rows=1, segment_rows=1), name="row-by-row"
)
"""For few packets: every row has a segment of its own, every segment a micro-batch."""
PACKETS = 5
"""Of the smallest input."""
MICRO_BATCHES = 6
"""About so many of a streaming query: the least in which windows close while others are open."""


@dataclass(frozen=True)
class Spools:
    """Makes each spool once, for all the tests of its variant."""

    spark: SparkSession
    folder: Path

    def of(self, inputs: Inputs, variant: Variant) -> Spooled:
        root = self.folder / f"{INPUTS_USED.index(inputs)}-{variant.name}"
        if not root.exists():
            spool = SpoolSettings(segment_rows=variant.segment_rows, sync=UNSYNCED)
            write_spool(_queries(inputs), self._sources(inputs), root, variant.settings, spool)
        return Spooled(self.spark, root)

    def _sources(self, inputs: Inputs) -> list[FileSource]:
        for _, name in inputs:
            (self.folder / name).write_bytes(INPUTS[name]())
        return [FileSource(interface, str(self.folder / name)) for interface, name in inputs]


@cache
def _queries(inputs: Inputs) -> QuerySet:
    files = [SourceFile(golden.name, golden.text) for golden in _golden_of(inputs)]
    return query_set(files, [interface for interface, _ in inputs])


def _golden_of(inputs: Inputs) -> list[Golden]:
    return [golden for golden in GOLDEN if golden.inputs == inputs]


@pytest.fixture(scope="module")
def spools(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spools]:
    folder = tmp_path_factory.mktemp("golden-on-spark")
    yield Spools(spark, folder)
    shutil.rmtree(folder)


def _check(inputs: Inputs, given: dict[str, Rows], *context: object) -> None:
    expected = {n: answer for g in _golden_of(inputs) for n, answer in _answers(g).items()}
    assert given.keys() <= expected.keys()
    for name, rows in given.items():
        problem = difference(expected[name], rows)
        assert problem is None, f"{name} {context}:\n{problem}"


@cache
def _answers(golden: Golden) -> dict[str, list[tuple[object, ...]]]:
    return {name: answer.shown() for name, answer in golden.answers().items()}


# Batch


def _batches() -> Iterator[Any]:
    """Each input in one variant by default, in all of them when asked."""
    for at, inputs in enumerate(INPUTS_USED):
        for number, variant in enumerate(VARIANTS):
            marks = () if number == at % len(VARIANTS) else pytest.mark.slow
            names = "-".join(name for _, name in inputs)
            yield pytest.param(inputs, variant, id=f"{names}-{variant.name}", marks=marks)


@pytest.mark.long
@pytest.mark.parametrize(("inputs", "variant"), list(_batches()))
def test_spark_gives_the_golden_rows(
    inputs: Inputs, variant: Variant, spools: Spools, request: pytest.FixtureRequest
) -> None:
    every = sorted(name for golden in _golden_of(inputs) for name in golden.expected())
    asked = every if request.config.getoption("--slow") else _due(every)
    given = spools.of(inputs, variant).answers(asked)
    assert sorted(given) == asked
    _check(inputs, given, variant)


MOST_OUTPUTS, DAYS = 30, 3
"""Of inputs with more outputs, a third is answered a day: a dozen minutes of Spark otherwise."""


def _due(names: list[str]) -> list[str]:
    if len(names) <= MOST_OUTPUTS:
        return names
    return names[day_of_run() % DAYS :: DAYS]


# In micro-batches


ALWAYS = ("diamond", "read_twice", "names_of_rows")
"""Outputs that went wrong once where they were streamed, and not, or otherwise, in a batch."""


def _streamed() -> Iterator[Any]:
    """Every output in one variant; those whose turn it is today by default."""
    streamed = [golden for golden in GOLDEN if not golden.is_marked(NOT_STREAMED)]
    outputs = [(golden, name) for golden in streamed for name in sorted(golden.expected())]
    parts = len(outputs) // 3
    for at, (golden, name) in enumerate(outputs):
        variant = VARIANTS[at % len(VARIANTS)]
        is_due = at % parts == day_of_run() % parts or name in ALWAYS
        marks = () if is_due else pytest.mark.slow
        yield pytest.param(golden, name, variant, id=f"{name}-{variant.name}", marks=marks)


@pytest.mark.long
@pytest.mark.parametrize(("golden", "name", "variant"), list(_streamed()))
def test_a_stream_gives_the_golden_rows(
    golden: Golden, name: str, variant: Variant, spools: Spools, tmp_path: Path
) -> None:
    if merge_seen_in(_output(golden, name)) is not None:
        pytest.skip("its rows are in order, which micro-batches of whole windows give")
    spooled = spools.of(golden.inputs, variant)
    given = spooled.stream(tmp_path, [name], MICRO_BATCHES)
    _check(golden.inputs, {name: given[name].rows()}, variant)


@pytest.mark.long
@pytest.mark.parametrize("small_bytes", BOTH_WAYS.values(), ids=BOTH_WAYS)
@pytest.mark.parametrize(("golden", "name", "variant"), list(_streamed()))
def test_micro_batches_of_whole_windows_give_the_golden_rows(
    golden: Golden, name: str, variant: Variant, small_bytes: int, spools: Spools, tmp_path: Path
) -> None:
    output = _output(golden, name)
    if not can_answer(_queries(golden.inputs).plan, output):
        pytest.skip("its rows leave at once: they are no window's")
    spooled = spools.of(golden.inputs, variant)
    given = spooled.whole_windows(tmp_path, [name], MICRO_BATCHES, small_bytes)
    _check(golden.inputs, {name: given[name].rows()}, variant)
    _check_order(output, given[name].rows())


def _output(golden: Golden, name: str) -> Output:
    outputs = _queries(golden.inputs).plan.outputs
    return next(output for output in outputs if output.name == name)


def _check_order(output: Output, rows: Rows) -> None:
    """What is in the order of a merge stays so over all micro-batches."""
    if merge_seen_in(output) is None:
        return
    place = output.order.index(Order.ORDERED)
    values = [_in_order(row[place]) for row in rows]
    is_falling = output.schema.columns[place].temporal is Temporal.DECREASING
    assert values == sorted(values, reverse=is_falling)


def _in_order(value: str | None) -> int | str:
    """A number, or the text of a timestamp, whose nine decimals let it sort as text."""
    return value if value and value.endswith("Z") else int(value or 0)


@pytest.mark.parametrize("golden", [g for g in GOLDEN if g.inputs == (("default", "few"),)])
def test_every_row_in_a_micro_batch_of_its_own(
    golden: Golden, spools: Spools, tmp_path: Path
) -> None:
    spooled = spools.of(golden.inputs, ROW_BY_ROW)
    given = spooled.stream(tmp_path, micro_batches=PACKETS)
    assert len(given[golden.name].tables) >= PACKETS
    _check(golden.inputs, {name: kept.rows() for name, kept in given.items()})

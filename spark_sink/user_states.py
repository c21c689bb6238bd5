# SPDX-License-Identifier: Apache-2.0
"""UDAFs on Spark: partial states, or rows, are collected; the UDAF's own C makes a state of them.

Spark's groups hold what its own aggregate functions keep, so that batches and streams are alike;
a group's list lives as long as its window. The C is compiled here, by the driver, and runs in
Python workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from gigastream.codegen.compiler import CompileError, compile_query_set
from gigastream.codegen.state_library import kept_state, state_library
from gigastream.codegen.user_accumulators import kept_by
from gigastream.gsql.source import Span
from gigastream.gsql.types import size_of
from gigastream.plan.accumulators import UserAccumulator, UserFinal
from gigastream.plan.operators.aggregate import Aggregate
from spark_sink.expressions import Value
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.state_library import (
    HandleError,
    loaded,
    merged_states,
    states_of_rows,
    valid_states,
    values_of_states,
)

if TYPE_CHECKING:
    from pyspark.sql import Column


class UserStates:
    """The UDAFs of an aggregation. Raises CompileError, OSError."""

    def __init__(self, node: Aggregate) -> None:
        self._node = node
        self._library = state_library(node)
        self._image = _compiled(self._library.text, _folders(node))

    def load(self) -> None:
        """Load it here, as each worker will. Raises HandleError, OSError."""
        loaded(self._image)

    def valid(self, index: int, partial: Column) -> Column:
        """Whether a column of partial rows holds a state."""
        image, name = self._image, self._library.valid[index]
        size = self._node.accumulators[index].type.size

        def valid(partials: pa.Array) -> pa.Array:
            return valid_states(image, name, size, partials)

        return _applied(valid, "boolean", partial)

    def state(self, index: int, columns: Sequence[Column]) -> Column:
        """The state of a group; NULL where no row has a value."""
        accumulator = self._node.accumulators[index]
        assert isinstance(accumulator, UserAccumulator)
        image, name = self._image, self._library.states[index]
        of_partials = self._node.merges_partials
        size = size_of(kept_by(accumulator, of_partials=of_partials).state)
        sizes = accumulator.type.size, size
        types = tuple(str(e.type) for e in accumulator.expressions)

        def merged(lists: pa.Array) -> pa.Array:
            return merged_states(image, name, sizes, lists)

        def of_rows(lists: pa.Array) -> pa.Array:
            return states_of_rows(image, name, size, types, lists)

        if of_partials:
            return _applied(merged, "binary", F.collect_list(columns[0]))
        return _applied(of_rows, "binary", F.collect_list(_row(columns)))

    def value(self, index: int, state: Column) -> Value:
        """An aggregate's value; none where the UDAF has none of its state."""
        final = self._node.finals[index]
        assert isinstance(final, UserFinal)
        image, name = self._image, self._library.values[index]
        size, type_ = size_of(kept_state(self._node, final).state), str(final.type)

        def values(states: pa.Array) -> pa.Array:
            return values_of_states(image, name, size, type_, states)

        value = _applied(values, SPARK_TYPE[final.type], state)
        return Value(value, state.isNull() | value.isNotNull())


def has_user_states(node: Aggregate) -> bool:
    """Whether an aggregation has a UDAF."""
    return any(isinstance(a, UserAccumulator) for a in node.accumulators)


def why_no_states(node: Aggregate) -> Iterator[tuple[str, Span]]:
    """Why the UDAFs of an aggregation cannot run here, and where the first of them stands."""
    users = [a.state.whole for a in node.accumulators if isinstance(a, UserAccumulator)]
    try:
        if users:
            UserStates(node).load()
    except (CompileError, HandleError, OSError) as error:
        yield f"{users[0].name} cannot run on Spark: {error}", users[0].span


def _row(columns: Sequence[Column]) -> Column:
    """A row's arguments; a row with a NULL among them is none."""
    if not columns:
        return F.struct(F.lit(True).alias("row"))
    row = F.struct(*(column.alias(f"x{at}") for at, column in enumerate(columns)))
    return F.when(reduce(lambda a, b: a & b, (c.isNotNull() for c in columns)), row)


def _applied(function: object, type_: str, column: Column) -> Column:
    result: Column = F.arrow_udf(function, type_)(column)
    return result


def _folders(node: Aggregate) -> tuple[Path, ...]:
    parts = [f for a in node.accumulators for f in a.functions]
    parts += [f for final in node.finals for f in final.functions]
    return tuple(sorted({Path(f.header).parent for f in parts if f.header}))


@lru_cache(maxsize=64)
def _compiled(text: str, folders: tuple[Path, ...]) -> bytes:
    return compile_query_set(text, headers=folders, portable=True).read_bytes()

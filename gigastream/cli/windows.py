# SPDX-License-Identifier: Apache-2.0
"""--windows N: the first N windows of each query, whole, and nothing behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gigastream.cli.errors import UsageError

if TYPE_CHECKING:
    from gigastream.engine.batch import NativeBatch
    from gigastream.engine.events import Event
    from gigastream.gsql.types import Schema
    from gigastream.plan import Plan


class Windows:
    """Lets through the rows of the first windows of each query that has windows."""

    def __init__(self, plan: Plan, count: int) -> None:
        """A window is a value of a query's first temporal column."""
        self.left_out = 0
        """Rows of later windows."""
        self._queries = {
            node.name: _Query(node.schema, column, count)
            for node in plan.outputs
            if (column := _window_column(node.schema)) is not None
        }
        if not self._queries:
            raise UsageError(
                "--windows: no query has windows",
                "GROUP BY time/60 AS tb …; or --count, --duration",
            )

    @property
    def are_over(self) -> bool:
        """Whether each query has had all its windows."""
        return all(query.is_over for query in self._queries.values())

    def pass_on(self, event: Event) -> NativeBatch | None:
        """Return the rows that a batch makes due, of the windows that are wanted."""
        query = self._queries.get(event.query)
        if query is None:
            return event.batch if event.batch.row_count else None
        rows = query.take(event.batch)
        self.left_out += query.left_out
        return rows


class _Query:
    """Rows of windows that may still get others wait for them: then windows are in order."""

    def __init__(self, schema: Schema, column: int, count: int) -> None:
        import pyarrow

        self._pyarrow = pyarrow
        self._schema = schema
        self._column = column
        self._count = count
        self._direction = -1 if schema.columns[column].temporal.value == "decreasing" else 1
        self._windows: list[int] = []
        self._waiting: list[Any] = []
        self.left_out = 0
        # what pyarrow imports for it may be out of reach once privileges are gone
        self._chosen(pyarrow.table({"": [1]}), [True])

    @property
    def is_over(self) -> bool:
        return len(self._windows) == self._count

    def take(self, batch: NativeBatch) -> NativeBatch | None:
        if batch.row_count:
            self._waiting.append(batch.to_arrow())
        self.left_out = 0
        if not self._waiting:
            return None
        rows = self._pyarrow.Table.from_batches(self._waiting).combine_chunks()
        windows = [self._direction * int(value) for value in self._values(rows)]
        bound = batch.bounds[self._column]
        due = [window < bound or batch.is_end for window in windows]
        for window in sorted({w for w, is_due in zip(windows, due, strict=True) if is_due}):
            if window not in self._windows and not self.is_over:
                self._windows.append(window)
        wanted = set(self._windows)
        kept = [d and w in wanted for d, w in zip(due, windows, strict=True)]
        self.left_out = sum(due) - sum(kept)
        self._waiting = self._chosen(rows, [not d for d in due]).to_batches()
        return self._batch(self._chosen(rows, kept))

    def _values(self, rows: Any) -> list[Any]:
        column = rows.column(self._column)
        if self._pyarrow.types.is_timestamp(column.type):
            column = column.cast(self._pyarrow.int64())
        return list(column.to_pylist())

    def _chosen(self, rows: Any, mask: list[bool]) -> Any:
        return rows.filter(self._pyarrow.array(mask, self._pyarrow.bool_()))

    def _batch(self, rows: Any) -> NativeBatch | None:
        from gigastream.engine.batch import NativeBatch

        batches = rows.combine_chunks().to_batches()
        return NativeBatch.from_arrow(batches[0], self._schema) if rows.num_rows else None


def _window_column(schema: Schema) -> int | None:
    for index, column in enumerate(schema.columns):
        if column.temporal.value in ("increasing", "decreasing"):
            return index
    return None

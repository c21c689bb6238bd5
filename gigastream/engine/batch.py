# SPDX-License-Identifier: Apache-2.0
"""A batch of the engine in Python's hands: its rows as Arrow or text, its punctuation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.trace import Trace, TraceStep
from gigastream.punctuation import JointBound

if TYPE_CHECKING:
    import pyarrow

    from gigastream.gsql.types import Schema


LAST_INTERFACE_BIT, CUT_BIT = 62, 63
"""Stands for all interfaces from there on."""


class EngineError(Exception):
    """The engine failed; the message is for a person."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def check(status: int, error: Any) -> int:
    """`status`, unless it is a failure: then EngineError with the engine's message."""
    if status >= lib.GS_ERROR:
        raise EngineError(ffi.string(error.message).decode(errors="replace"))
    return status


class NativeBatch:
    """Rows with the punctuation that closes them. The memory is the engine's until it is let go."""

    __slots__ = ("_batch", "_interfaces")

    def __init__(self, batch: Any, interfaces: Sequence[str] = ()) -> None:
        """Take over a reference to a `struct gs_batch`; `interfaces` are those of its query set."""
        self._batch = ffi.gc(batch, lib.gs_batch_release)
        self._interfaces = interfaces

    @classmethod
    def from_arrow(cls, record_batch: pyarrow.RecordBatch, schema: Schema) -> NativeBatch:
        """A batch with a copy of these rows, of which no bound is known.

        `record_batch` has the names and types of gigastream.arrow_schema.arrow_schema(schema).
        EngineError says what is different, or damaged.
        """
        native, _keep = native_schema(schema)
        array, arrow_schema = lend_to_c(record_batch)
        batch, error = ffi.new("struct gs_batch **"), ffi.new("struct gs_error *")
        check(lib.gs_batch_import(array, arrow_schema, native, batch, error), error)
        return cls(batch[0])

    @property
    def pointer(self) -> Any:
        """The `struct gs_batch *`, which lives as long as this object, or as C keeps it."""
        return self._batch

    @property
    def row_count(self) -> int:
        """Rows."""
        return int(self._batch.row_count)

    @property
    def memory_bytes(self) -> int:
        """Of its rows, with the room that is kept for more."""
        return int(lib.gs_batch_bytes(self._batch))

    @property
    def is_heartbeat(self) -> bool:
        """Sent by the timer."""
        return bool(self._batch.is_heartbeat)

    @property
    def is_end(self) -> bool:
        """The stream's last."""
        return bool(self._batch.is_end)

    @property
    def is_partial(self) -> bool:
        """Rows of a window in which groups were refused."""
        return bool(self._batch.is_partial)

    @property
    def missing(self) -> tuple[str, ...]:
        """Interfaces of which a source had failed when its windows were answered."""
        bits = self._batch.missing
        if not bits:
            return ()
        names = self._interfaces
        found = {name for at, name in enumerate(names) if bits >> min(at, LAST_INTERFACE_BIT) & 1}
        return tuple(sorted(found))

    @property
    def is_cut(self) -> bool:
        """Has rows of windows of which its set has seen only a part: it came, or went, amid them.

        Of an output, of the others that it may have such rows.
        """
        return bool(self._batch.missing >> CUT_BIT & 1)

    @property
    def sequence(self) -> int:
        """Number of the batch in its stream, from 0."""
        return int(self._batch.sequence)

    @property
    def made_at_ns(self) -> int:
        """When its maker let it go, by the clock of time.monotonic_ns()."""
        return int(self.pointer.made_at_ns)

    @property
    def bounds(self) -> tuple[int, ...]:
        """For each column, the value below which no later row is; -2^63: nothing is promised."""
        count = self._batch.schema.column_count
        return tuple(ffi.unpack(self._batch.punctuation.bounds, count)) if count else ()

    @property
    def joint(self) -> JointBound | None:
        """What is promised of two columns together."""
        joint = self._batch.punctuation.joint
        if not joint.is_given:
            return None
        return JointBound((joint.columns[0], joint.columns[1]), (joint.bounds[0], joint.bounds[1]))

    def trace(self, origins: Sequence[tuple[str, str | None]]) -> Trace:
        """Of a heartbeat, its way; `origins` names whose batches its query set puts out."""
        trace = self._batch.trace
        steps = (
            TraceStep(
                origins[step.origin][0],
                origins[step.origin][1],
                step.received_ns,
                step.queue_length,
                step.rows_in,
                step.rows_out,
                step.held,
                step.cost_ns,
            )
            for step in trace.steps[0 : trace.step_count]
        )
        return Trace(trace.trace_id, tuple(steps))

    def to_arrow(self) -> pyarrow.RecordBatch:
        """The rows as Arrow; nothing is copied."""
        return to_arrow(self._batch)

    def csv(self) -> bytes:
        """The rows as csv lines, without a header."""
        return _text(lambda text: lib.gs_csv_rows(self._batch, text))

    def json(self, query_name: str | None) -> bytes:
        """The rows as json, one object a line; with a name, the first member is "query"."""
        name = ffi.NULL if query_name is None else query_name.encode()
        return _text(lambda text: lib.gs_json_rows(self._batch, name, text))


def to_arrow(batch: Any) -> pyarrow.RecordBatch:
    """The rows of a `struct gs_batch *` as Arrow, which keeps it; nothing is copied."""
    import pyarrow

    array, schema = ffi.new("struct ArrowArray *"), ffi.new("struct ArrowSchema *")
    error = ffi.new("struct gs_error *")
    check(lib.gs_batch_export(batch, array, schema, error), error)
    return pyarrow.RecordBatch._import_from_c(
        int(ffi.cast("uintptr_t", array)), int(ffi.cast("uintptr_t", schema))
    )


def lend_to_c(record_batch: pyarrow.RecordBatch) -> tuple[Any, Any]:
    """The batch as a `struct ArrowArray *` and a `struct ArrowSchema *`, which C releases.

    Buffers that are shorter than the batch says (of a damaged file) are an EngineError.
    """
    import pyarrow

    try:
        record_batch.validate()
    except pyarrow.ArrowException as problem:
        raise EngineError(f"a damaged Arrow batch: {problem}") from None
    array, schema = ffi.new("struct ArrowArray *"), ffi.new("struct ArrowSchema *")
    record_batch._export_to_c(int(ffi.cast("uintptr_t", array)), int(ffi.cast("uintptr_t", schema)))
    return array, schema


def native_schema(schema: Schema) -> tuple[Any, list[Any]]:
    """A `struct gs_schema *` and what must live as long as it."""
    from gigastream.gsql.types import Temporal

    direction = {Temporal.INCREASING: 1, Temporal.DECREASING: -1}
    fields = ffi.new("struct gs_field[]", max(1, len(schema.columns)))
    keep: list[Any] = [fields]
    for field, column in zip(fields, schema.columns, strict=False):
        keep += [ffi.new("char[]", text.encode()) for text in (column.name, column.subtype)]
        field.name, field.subtype = keep[-2:]
        field.type, field.size = column.type.number, column.type.size
        field.nullable = column.nullable
        field.temporal = direction.get(column.temporal, 0)
    native = ffi.new("struct gs_schema *")
    native.column_count, native.fields = len(schema.columns), fields
    return native, keep


def _text(write: Any) -> bytes:
    text = ffi.new("struct gs_text *")
    try:
        if write(text) != lib.GS_OK:
            raise EngineError("no memory for the text of a batch")
        return bytes(ffi.buffer(text.bytes, text.length)) if text.length else b""
    finally:
        lib.gs_text_free(text)

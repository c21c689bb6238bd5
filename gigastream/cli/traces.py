# SPDX-License-Identifier: Apache-2.0
"""--trace FILE: the way of every heartbeat that reaches an output, a JSON object a line.

Johnson et al., VLDB 2005, section 3: heartbeats go the way of the rows, through the same queues, so
that what they met says where rows wait. Lines are written like rows, by a thread of their own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gigastream.late_dataclass import asdict, dataclass, replace
from gigastream.outputs import Content, Failure, OutputQuery, RowOutput
from gigastream.outputs.delivery import Delivered, Delivery

if TYPE_CHECKING:
    from pathlib import Path

    from gigastream.cli.stderr import Line
    from gigastream.engine.events import Event
    from gigastream.engine.trace import Trace, TraceStep
    from gigastream.outputs.file import Identity
    from gigastream.plan import Plan

_NAME = "trace"
_LINES = Content("trace line", "--trace FILE", outlives_reader=True)
"""The rows have a reader of their own: one who leaves the trace does not end the run."""
_QUEUE_BYTES = 16 << 20
_NOTHING, _END = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as the output formats take a batch of one row."""

    text: bytes
    row_count: int = 1
    is_partial: bool = False
    missing: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def memory_bytes(self) -> int:
        return len(self.text)

    def json(self, _query_name: str | None) -> bytes:
        return self.text

    @property
    def bounds(self) -> Sequence[int]:
        raise NotImplementedError

    @property
    def is_end(self) -> bool:
        raise NotImplementedError

    def csv(self) -> bytes:
        raise NotImplementedError

    def to_arrow(self) -> Any:
        raise NotImplementedError


class Traces:
    """Writes the heartbeats that it is given."""

    def __init__(
        self, output: RowOutput, plan: Plan, attend: Callable[[], bool], line: Line
    ) -> None:
        """`attend` is called while a reader is waited for, as Delivery says.

        `line` is told, once, when the reader has left.
        """
        self._output = output
        self._columns = {node.name: _temporal(node.schema) for node in plan.outputs}
        self._delivery = Delivery(output, _QUEUE_BYTES, attend)
        self._line = line
        self._is_told = False

    def take(self, event: Event) -> None:
        """Write a batch's trace, if it is a heartbeat."""
        trace = event.trace
        if trace is None:
            return
        line = as_json(event, trace, self._columns.get(event.query, {}), time.monotonic_ns())
        self._delivery.put(_NAME, _Line(line.encode() + b"\n"))

    def attend(self) -> None:
        """Say that the reader has left, once it has."""
        if self._output.reader_has_left and not self._is_told:
            self._is_told = True
            (place,) = self._output.places
            self._line.tell(
                f"gigastream: {place.file.label}: the reader of the trace has left; the run goes "
                "on, the lines that it does not get are counted"
            )

    @property
    def has_failed(self) -> bool:
        """Whether the file takes no more."""
        return bool(self._output.failures)

    def counted_in(self, delivered: Delivered) -> Delivered:
        """Return an account with the lines so far."""
        return replace(delivered, trace_lines=self._output.rows, trace_lines_lost=self._output.lost)

    def finish(self) -> tuple[Failure, ...]:
        """Wait until all is written; return why some of it could not be."""
        failures = self._delivery.finish().failures
        self.attend()
        return failures


def traces_to(path: Path | None, inputs: dict[Identity, str]) -> RowOutput:
    """Open the file (None: stdout), which is none of `inputs`. OutputError."""
    query = OutputQuery(_NAME, (_NAME,), (False,), (False,), (False,), lambda: None)
    return RowOutput("json", path, (query,), inputs, _LINES)


def as_json(event: Event, trace: Trace, columns: Mapping[str, int], taken_ns: int) -> str:
    """Return the line of a heartbeat; `taken_ns` is when its way ended, by the monotonic clock."""
    bounds = event.batch.bounds
    return json.dumps(
        {
            "query": event.query,
            "trace": trace.number,
            "taken_ns": taken_ns,
            "rows": event.batch.row_count,
            "is_end": event.batch.is_end,
            "punctuation": {name: _bound(bounds[column]) for name, column in columns.items()},
            "steps": [_step(step) for step in trace.steps],
        }
    )


def _step(step: TraceStep) -> dict[str, Any]:
    """Return a step; only that of an LFTA has an interface."""
    members = asdict(step)
    if step.interface is None:
        del members["interface"]
    return members


def _temporal(schema: Any) -> dict[str, int]:
    return {
        column.name: index
        for index, column in enumerate(schema.columns)
        if column.temporal.value in ("increasing", "decreasing")
    }


def _bound(bound: int) -> int | str | None:
    if bound == _NOTHING:
        return None
    return "end" if bound == _END else bound

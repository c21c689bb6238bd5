# SPDX-License-Identifier: Apache-2.0
"""--trace FILE: the way of every heartbeat that reaches an output, a JSON object a line.

Johnson et al., VLDB 2005, section 3: heartbeats go the way of the rows, through the same queues, so
that what they met says where rows wait. Lines are written like rows, by a thread of their own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from gigastream.outputs import Failure, OutputError, OutputQuery, RowOutput
from gigastream.outputs.delivery import Delivery

if TYPE_CHECKING:
    from pathlib import Path

    from gigastream.engine.events import Event
    from gigastream.engine.trace import Trace, TraceStep
    from gigastream.outputs.file import Identity
    from gigastream.plan import Plan

_NAME = "trace"
_QUEUE_BYTES = 16 << 20
_NOTHING, _END = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as the output formats take a batch of one row."""

    text: bytes
    row_count: int = 1
    is_partial: bool = False
    missing: tuple[str, ...] = ()

    @property
    def memory_bytes(self) -> int:
        return len(self.text)

    def json(self, _query_name: str | None) -> bytes:
        return self.text

    def csv(self) -> bytes:
        raise NotImplementedError

    def to_arrow(self) -> Any:
        raise NotImplementedError


class Traces:
    """Writes the heartbeats that it is given."""

    def __init__(self, output: RowOutput, plan: Plan, attend: Callable[[], bool]) -> None:
        """`attend` is called while a reader is waited for, as Delivery says."""
        self._output = output
        self._columns = {node.name: _temporal(node.schema) for node in plan.outputs}
        self._delivery = Delivery(output, _QUEUE_BYTES, attend)
        self._has_reader = True

    def take(self, event: Event) -> None:
        """Write a batch's trace, if it is a heartbeat, while somebody reads them."""
        trace = event.trace
        if trace is None or not self._has_reader:
            return
        line = as_json(event, trace, self._columns.get(event.query, {}), time.monotonic_ns())
        try:
            self._delivery.put(_NAME, _Line(line.encode() + b"\n"))
        except BrokenPipeError:  # the rows have a reader of their own
            self._has_reader = False

    @property
    def has_failed(self) -> bool:
        """Whether the file takes no more."""
        return bool(self._output.failures)

    def finish(self) -> tuple[Failure, ...]:
        """Wait until all is written; return why some of it could not be."""
        try:
            return tuple(map(_told, self._delivery.finish().failures))
        except BrokenPipeError:
            return ()


def traces_to(path: Path | None, inputs: dict[Identity, str]) -> RowOutput:
    """Open the file (None: stdout), which is none of `inputs`. OutputError."""
    query = OutputQuery(_NAME, (_NAME,), (False,), (False,), (False,), lambda: None)
    try:
        return RowOutput("json", path, (query,), inputs)
    except OutputError as error:
        raise OutputError(str(error), error.hint and _hint(error.hint)) from None


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


def _told(failure: Failure) -> Failure:
    """Return a failure of rows as one of lines."""
    return replace(failure, hint=_hint(failure.hint))


def _hint(hint: str) -> str:
    return hint.replace("-o FORMAT:PATH", "--trace FILE")

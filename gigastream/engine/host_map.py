# SPDX-License-Identifier: Apache-2.0
"""Functions in Python as the engine asks for them: a batch goes out, and back with more columns."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, lend_to_c, to_arrow
from gigastream.engine.statistics import RaisedStatistics
from gigastream.gsql.diagnostics import printable
from gigastream.gsql.python_code import PythonCode
from gigastream.gsql.source import read_text
from gigastream.ownership import UntrustedError, check_code
from gigastream.plan import Plan

if TYPE_CHECKING:
    import pyarrow

    from gigastream.batch_calls import BatchCall
    from gigastream.group_calls import RowsCall


class HostMap:
    """What the engine calls for the nodes of one query set."""

    def __init__(self, plan: Plan, elsewhere: Container[int]) -> None:
        """Nothing of a user's file is run yet. Arrow is not loaded unless it will be.

        `elsewhere` are the numbers of nodes that are not run here. Whose a file is, is looked at as
        whoever we are who has read it. EngineError, UntrustedError.
        """
        self._nodes = {
            index: node
            for index, node in enumerate(plan.nodes)
            if node.host_calls and index not in elsewhere
        }
        self._calls: dict[int, list[BatchCall | RowsCall]] = {}
        self._functions: dict[int, list[BatchCall]] = {}
        self._problem: BaseException | None = None
        self.handle = ffi.new_handle(self)
        if self._nodes:
            self._make_calls()

    def load(self) -> None:
        """Run the files that have the functions: all that is privileged has been given up by then.

        EngineError.
        """
        for call in (call for calls in self._calls.values() for call in calls):
            try:
                call.load()
            except Exception as problem:
                raise _for_a_person(problem) from None

    def _make_calls(self) -> None:
        """Arrow is loaded here: who we are later on may not be able to read it."""
        try:
            from gigastream.arrow_calls import batch_call
            from gigastream.batch_calls import BatchCall
        except ImportError as error:
            message = f"functions in Python need pyarrow, which cannot be loaded: {error}"
            raise EngineError(message) from None
        for index, node in self._nodes.items():
            for call in node.host_calls:
                _check(call.code)
            self._calls[index] = calls = [batch_call(call) for call in node.host_calls]
            self._functions[index] = [call for call in calls if isinstance(call, BatchCall)]

    def raised(self) -> dict[str, tuple[RaisedStatistics, ...]]:
        """By node, what its functions have raised so far that has not ended the query set."""
        return {
            self._nodes[index].name: tuple(_raised(call) for call in calls if call.raised.times)
            for index, calls in self._functions.items()
        }

    def raise_problem(self) -> None:
        """Raise what has ended the query set, once: EngineError, or what came as a signal."""
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    def keep(self, problem: BaseException) -> None:
        """Let this be what has ended the query set."""
        self._problem = _for_a_person(problem)

    def give(self, index: int, native: Any, array: Any, schema: Any) -> int:
        """Fill a `struct ArrowArray` and its schema with a batch of a node; return the status."""
        try:
            made = self._mapped(index, to_arrow(native))
            lent, its_schema = lend_to_c(made)
        except BaseException as problem:
            self.keep(problem)
            return int(lib.GS_REFUSED)
        ffi.memmove(array, lent, ffi.sizeof("struct ArrowArray"))
        ffi.memmove(schema, its_schema, ffi.sizeof("struct ArrowSchema"))
        return int(lib.GS_OK)

    def _mapped(self, index: int, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        import pyarrow

        from gigastream.arrow_schema import arrow_schema

        node, columns = self._nodes[index], list(batch.columns)
        for call, made_of in zip(self._calls[index], node.host_calls, strict=True):
            columns += call.answer([batch.column(at) for at in _places(made_of)])
        return pyarrow.RecordBatch.from_arrays(columns, schema=arrow_schema(node.schema))


def _check(code: PythonCode) -> None:
    if code.made is not None:
        return
    file = printable(code.file, None)
    try:
        text = read_text(check_code(Path(code.file)))
    except UntrustedError:
        raise
    except OSError as error:
        raise EngineError(f"{file}: {error.strerror}") from None
    if text != code.text:
        raise EngineError(f"{file} is not what it was when its queries were checked: run it again")


def _raised(call: BatchCall) -> RaisedStatistics:
    return RaisedStatistics(call.name, call.raised.times, printable(call.raised.first, None))


def _places(call: Any) -> list[int]:
    return [argument.index for argument in call.arguments]


def _for_a_person(problem: BaseException) -> BaseException:
    """What a function raised as a sentence; what is no error (Ctrl-C) as it is."""
    if isinstance(problem, KeyboardInterrupt | EngineError):
        return problem
    if type(problem).__name__ == "CallError":
        return EngineError(printable(str(problem), None))
    text = f"functions in Python: {type(problem).__name__}: {problem}"
    return EngineError(printable(text, None))


def _keep_problem(_kind: Any, problem: BaseException, trace: TracebackType) -> None:
    """What nobody has caught, a signal between two lines, is what has ended the set, too."""
    host: HostMap = ffi.from_handle(trace.tb_frame.f_locals["context"])
    host.keep(problem)


# Nor must it be taken for rows.
@ffi.def_extern(  # type: ignore[untyped-decorator]
    name="gs_host_map", error=int(lib.GS_REFUSED), onerror=_keep_problem
)
def _map(context: Any, node: int, batch: Any, array: Any, schema: Any) -> int:
    host: HostMap = ffi.from_handle(context)
    return host.give(int(node), batch, array, schema)

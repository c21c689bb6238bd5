# SPDX-License-Identifier: Apache-2.0
"""Functions in Python over Arrow arrays: loaded once, given batches, their answers looked at.

What a row is answered depends on no other row, nor on where batches end: where a function raises,
the rows are given to it in halves until those that it raises of stand alone. Workers of Spark run
this where there may be no other module of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gigastream.gsql.python_code import PythonCode
from gigastream.late_dataclass import dataclass, field
from gigastream.udf_mark import MARK, udaf, udf

Answer = tuple[pa.Array, pa.Array]
"""Values, which may be NULL, and which of the rows have a value."""

_MOST_TEXT = 300


class CallError(Exception):
    """A function in Python that ends the query: what it raised, or what is wrong with it."""


@dataclass(slots=True)
class Raised:
    """What a function has raised of rows, or groups, which have no value then."""

    times: int = 0
    first: str = ""
    """Where, and what, for a person."""


@dataclass(frozen=True, slots=True)
class BatchCall:
    """A function as the rows of a batch are given to it."""

    name: str
    result: pa.DataType
    takes_null: tuple[bool, ...]
    may_be_null: bool
    ends: bool
    code: PythonCode
    raised: Raised = field(default_factory=Raised, kw_only=True, compare=False, repr=False)
    """So far; what ends the query is none of it."""

    def load(self) -> Callable[..., Any]:
        """The function; its file is run when it is the first of it. CallError."""
        if self.code.made is not None:
            return self.code.made
        found = getattr(_module(self.code), self.name, None)
        if not callable(found) or not hasattr(found, MARK):
            raise CallError(f"{self.code.file} has run, and {self.name} is marked in it no more")
        return found  # type: ignore[no-any-return]

    def answer(self, arguments: Sequence[pa.Array]) -> Answer:
        """What it makes of rows, by arguments of Arrow's types of GSQL. CallError.

        A row with a NULL among what takes none is not given to it, and is answered NULL.
        """
        kept = _without_nulls(arguments, self.takes_null)
        if kept is None:
            return self.tried(arguments)
        values, given = self.tried([argument.filter(kept) for argument in arguments])
        places = pc.if_else(kept, pc.subtract(pc.cumulative_sum(kept.cast(pa.int64())), 1), None)
        return values.take(places), given.take(places).fill_null(True)

    def tried(self, arguments: Sequence[pa.Array]) -> Answer:
        """What it makes of rows that are given to it. CallError."""
        count = len(arguments[0])
        if count == 0:
            return pa.array([], self.result), pa.array([], pa.bool_())
        try:
            made = self.load()(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.end_if_told(error)
            if count == 1:
                return self.no_value(error)
        else:
            return self.looked_at(made, count)
        half = count // 2
        halves = [
            self.tried([argument.slice(*part) for argument in arguments])
            for part in ((0, half), (half, count - half))
        ]
        values, given = (pa.concat_arrays(parts) for parts in zip(*halves, strict=True))
        return values, given

    def no_value(self, error: BaseException) -> Answer:
        """The answer of one row that it raises of, which counts."""
        self.raised.times += 1
        self.raised.first = self.raised.first or _raised(self.code, error)
        return pa.nulls(1, self.result), pa.array([False])

    def end_if_told(self, error: BaseException) -> None:
        """Raise CallError where what it has raised ends the query."""
        if isinstance(error, CallError):
            raise error
        if self.ends or isinstance(error, MemoryError) or not isinstance(error, Exception):
            raise CallError(_told(self, error)) from None

    def looked_at(self, made: object, count: int) -> Answer:
        """What it has given for so many rows, where it is what it says. CallError."""
        if not isinstance(made, pa.Array | pa.ChunkedArray):
            raise CallError(f"{self.place} gives a {type(made).__name__}, and no array of Arrow's")
        self._check_buffers(made)
        values = made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
        if values.type != self.result:
            raise CallError(
                f"{self.place} gives an array of {values.type}, and says that it is {self.result}"
            )
        if len(values) != count:
            raise CallError(f"{self.place} is given {count} rows, and answers {len(values)}")
        is_float = pa.types.is_floating(self.result)
        there = pc.is_finite(values) if is_float else values.is_valid()
        return values, there.fill_null(False) if not self.may_be_null else _or_null(there, values)

    def _check_buffers(self, made: pa.Array | pa.ChunkedArray) -> None:
        """One that is made of buffers may have less in them than it says. CallError."""
        try:
            made.validate(full=True)
        except pa.ArrowException as error:
            raise CallError(f"{self.place} gives a damaged array: {_text(error)}") from None

    @property
    def place(self) -> str:
        """Where it is, for a person."""
        return f"{self.name} of {self.code.file}"


def _or_null(there: pa.Array, values: pa.Array) -> pa.Array:
    return pc.or_kleene(values.is_null(), there)


def _without_nulls(arguments: Sequence[pa.Array], takes_null: Sequence[bool]) -> pa.Array | None:
    """Which rows have no NULL where none is taken; None: all."""
    kept = None
    for argument, takes in zip(arguments, takes_null, strict=True):
        if argument.null_count and not takes:
            valid = argument.is_valid()
            kept = valid if kept is None else pc.and_(kept, valid)
    return kept


def _module(code: PythonCode) -> ModuleType:
    """The file of a function, run once in each process."""
    if code.module in sys.modules:
        return sys.modules[code.module]
    _know_marks()
    module = ModuleType(code.module)
    module.__file__ = code.file
    sys.modules[code.module] = module  # whoever asks a class of it for its module finds it
    try:
        exec(compile(code.text, code.file, "exec"), module.__dict__)
    except BaseException as error:
        sys.modules.pop(code.module, None)  # it is run anew, and not taken for one that has run
        if isinstance(error, KeyboardInterrupt):
            raise
        raise CallError(_raised(code, error)) from None
    return module


def _know_marks() -> None:
    """A file imports the marks from the package, which need not be where our code travels to."""
    try:
        import gigastream  # noqa: F401
    except ImportError:
        marks = ModuleType("gigastream")
        marks.__dict__.update(udf=udf, udaf=udaf)
        sys.modules["gigastream"] = marks


def _told(call: BatchCall, error: BaseException) -> str:
    return f"{call.name}: {_raised(call.code, error)}"


def _raised(code: PythonCode, error: BaseException) -> str:
    """`my.py, line 3: ValueError: no such day`."""
    line = _line(error.__traceback__, code.file)
    if isinstance(error, SyntaxError):
        line = error.lineno
    place = code.file + ("" if line is None else f", line {line}")
    shown = (c if c.isprintable() else "\ufffd" for c in " ".join(_text(error).split()))
    text = "".join(shown)
    return f"{place}: {type(error).__name__}{': ' if text else ''}{text}"


def _text(error: BaseException) -> str:
    """What it says, of which the first part will do."""
    try:
        return str(error)[:_MOST_TEXT]
    except Exception:
        return "it cannot say what"


def _line(trace: TracebackType | None, file: str) -> int | None:
    """The line of the file where it was raised, or what was called there raised."""
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found

# SPDX-License-Identifier: Apache-2.0
"""Definition files in Python: what is marked as a function or an aggregate, with its types.

The text is read as Python reads it, and nothing of it is run: to check a query, or to ask of a link
what takes root's privileges, no code of the file is needed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from gigastream.gsql.catalog.python_functions import (
    PythonFunction,
    PythonMark,
    python_function,
)
from gigastream.gsql.diagnostics import DiagnosticSink, printable
from gigastream.gsql.python_code import PythonCode
from gigastream.gsql.source import UNDECODED, SourceFile, Span
from gigastream.gsql.types import Type, type_named
from gigastream.udf_mark import GREATEST_MAX_BYTES, MAX_BYTES, ON_ERROR

ARRAYS = {
    "BooleanArray": Type.BOOL,
    "UInt16Array": Type.USHORT,
    "UInt32Array": Type.UINT,
    "Int32Array": Type.INT,
    "UInt64Array": Type.ULLONG,
    "Int64Array": Type.LLONG,
    "DoubleArray": Type.FLOAT,
    "BinaryArray": Type.STRING,
    "FixedSizeBinaryArray": Type.INET,
    "TimestampArray": Type.TIMESTAMP,
}
"""Arrow's classes, and the types that they are; of others the annotation says which."""
_HINT = (
    f"one of pyarrow's {', '.join(ARRAYS)}; Annotated[pyarrow.UInt32Array, 'IP'] and "
    "Annotated[pyarrow.FixedSizeBinaryArray, 'IPV6'] are addresses; `| None` may be NULL"
)
_MARKS = ("udf", "udaf")
_ARRAY, _SCALAR = "Array", "Scalar"
"""How Arrow's classes end; what an aggregate gives is one of the latter."""
_ON_ERROR = {"no value": False, "end": True}

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""As Python counts them."""

Annotated = tuple[Type, bool]
"""A type, and whether it may be NULL."""


def python_functions(
    file: SourceFile, header: str, sink: DiagnosticSink
) -> tuple[PythonFunction, ...]:
    """The functions that a file marks; what is wrong goes to the sink.

    `header` stands for its code, as a C header does for that of other definition files.
    """
    reader = _Reader(file, header, sink)
    return tuple(reader.functions())


class _Reader:
    def __init__(self, file: SourceFile, header: str, sink: DiagnosticSink) -> None:
        self._file, self._header, self._sink = file, header, sink
        self._code = PythonCode(file.name, file.text)
        self._lines = _LINE.findall(file.text)

    def functions(self) -> Iterator[PythonFunction]:
        found = _parsed(self._file, self._sink)
        for node in [] if found is None else found.body:
            marks = [] if not isinstance(node, _FUNCTIONS) else node.decorator_list
            for mark in marks:
                if _mark_name(mark) in _MARKS:
                    assert isinstance(node, _FUNCTIONS)
                    function = self._function(node, mark)
                    if function is not None:
                        yield function

    def _function(self, node: _Function, mark: ast.expr) -> PythonFunction | None:
        said = self._said(mark)
        parameters = self._parameters(node)
        ending = _SCALAR if _mark_name(mark) == "udaf" else _ARRAY
        result = self._annotated(node.returns, f"what {node.name} gives", node, ending)
        if said is None or parameters is None or result is None:
            return None
        return python_function(
            node.name,
            parameters,
            result,
            mark=said,
            code=self._code,
            header=self._header,
            span=self._name_span(node),
        )

    def _said(self, mark: ast.expr) -> PythonMark | None:
        """What the mark says of errors, and of bytes."""
        name = _mark_name(mark)
        told: dict[str | None, object] = {"on_error": ON_ERROR[0]}
        if name == "udaf":
            told["max_bytes"] = MAX_BYTES
        wanted = set(told)
        if isinstance(mark, ast.Call):
            for keyword in mark.keywords:
                value = keyword.value
                told[keyword.arg] = value.value if isinstance(value, ast.Constant) else None
        most, ends = told.get("max_bytes"), _ON_ERROR.get(str(told["on_error"]))
        is_size = type(most) is int and 1 <= most <= GREATEST_MAX_BYTES
        has_places = isinstance(mark, ast.Call) and bool(mark.args)
        if ends is None or set(told) != wanted or has_places or (name == "udaf" and not is_size):
            message = "udf is told on_error alone, 'no value' or 'end'"
            if name == "udaf":
                message = (
                    "udaf is told on_error, 'no value' or 'end', and max_bytes, "
                    f"a number from 1 to {GREATEST_MAX_BYTES:,}"
                )
            self._sink.error("bad-udf", message, self._span(mark))
            return None
        return PythonMark(ends, most if isinstance(most, int) else None)

    def _parameters(self, node: _Function) -> list[Annotated] | None:
        given = node.args
        if isinstance(node, ast.AsyncFunctionDef):
            message = f"{node.name} is given a batch, and gives one: it cannot be async"
            self._sink.error("bad-udf", message, self._name_span(node))
            return None
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
            message = f"the arguments of {node.name} are arrays by their places, all of them given"
            self._sink.error("bad-udf", message, self._name_span(node))
            return None
        types = [
            self._annotated(arg.annotation, f"the argument {arg.arg}", arg)
            for arg in (*given.posonlyargs, *given.args)
        ]
        if not types:
            message = f"{node.name} has no argument: nothing says how many rows there are"
            self._sink.error("bad-udf", message, self._name_span(node))
            return None
        known = [type_ for type_ in types if type_ is not None]
        return known if len(known) == len(types) else None

    def _annotated(
        self,
        annotation: ast.expr | None,
        what: str,
        at: ast.arg | _Function,
        ending: str = _ARRAY,
    ) -> Annotated | None:
        place = annotation if annotation is not None else at
        found = None if annotation is None else annotation_type(annotation, ending)
        if found is None:
            message = f"the type of {what} is wanted: {'an' if ending == _ARRAY else 'a'} "
            message += f"{ending.lower()} of Arrow's"
            span = self._name_span(at) if isinstance(place, _FUNCTIONS) else self._span(place)
            self._sink.error("bad-udf", message, span, _HINT.replace(_ARRAY, ending))
        return found

    def _span(self, node: ast.expr | ast.arg) -> Span:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._offset(node.lineno, node.col_offset)
        return Span(self._file, start, self._offset(node.end_lineno, node.end_col_offset))

    def _name_span(self, node: ast.arg | _Function) -> Span:
        start = self._offset(node.lineno, node.col_offset)
        if isinstance(node, ast.arg):
            return Span(self._file, start, start + len(node.arg))
        found = re.compile(rf"\b{re.escape(node.name)}\b").search(self._file.text, start)
        start = start if found is None else found.start()
        return Span(self._file, start, start + len(node.name))

    def _offset(self, line: int, column: int) -> int:
        """Of a place that Python counts in bytes of UTF-8."""
        before = sum(map(len, self._lines[: line - 1]))
        return before + len(self._lines[line - 1].encode()[:column].decode())


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _parsed(file: SourceFile, sink: DiagnosticSink) -> ast.Module | None:
    undecoded = UNDECODED.search(file.text)
    if undecoded is not None or "\0" in file.text:
        at = file.text.index("\0") if undecoded is None else undecoded.start()
        sink.error("bad-python", "this is no text of UTF-8", Span(file, at, at + 1))
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # who runs it is told
            return ast.parse(file.text)
    except SyntaxError as error:
        line = min(max(1, error.lineno or 1), file.text.count("\n") + 1)
        start, end = file.line_bounds(line)
        at = min(start + max(0, (error.offset or 1) - 1), end)
        sink.error("bad-python", f"no Python: {printable(error.msg)}", Span(file, at, at + 1))
    except (RecursionError, MemoryError):
        sink.error("bad-python", "this is nested too deeply", Span(file, 0, 0))
    return None


def annotation_type(node: ast.expr, ending: str = _ARRAY) -> Annotated | None:
    """What an annotation says; None: nothing that is known. `ending` is that of Arrow's classes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return annotation_type(ast.parse(node.value, mode="eval").body, ending)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = [part for part in (node.left, node.right) if not _is_none(part)]
        return _nullable(parts[0], ending) if len(parts) == 1 else None
    if isinstance(node, ast.Subscript):
        return _subscript_type(node, ending)
    type_ = _class_type(node, ending)
    return None if type_ is None else (type_, False)


def _class_type(node: ast.expr, ending: str) -> Type | None:
    """That of one of Arrow's classes."""
    name = _last_name(node)
    return ARRAYS.get(name.removesuffix(ending) + _ARRAY) if name.endswith(ending) else None


def _subscript_type(node: ast.Subscript, ending: str) -> Annotated | None:
    name = _last_name(node.value)
    if name == "Optional":
        return _nullable(node.slice, ending)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if name != "Annotated" or len(parts) != 2:
        return None
    array = _class_type(parts[0], ending)
    said = parts[1].value if isinstance(parts[1], ast.Constant) else None
    type_ = type_named(said) if isinstance(said, str) else None
    if array is None or type_ is None or type_.is_opaque or not _holds(array, type_):
        return None
    return type_, False


def _holds(array: Type, type_: Type) -> bool:
    """Whether the values of a type are held by the array of another."""
    others = {Type.UINT: (Type.IP,), Type.INET: (Type.IPV6,)}
    return type_ is array or type_ in others.get(array, ())


def _nullable(node: ast.expr, ending: str) -> Annotated | None:
    found = annotation_type(node, ending)
    return None if found is None else (found[0], True)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _mark_name(mark: ast.expr) -> str:
    """`udf` of `@udf`, `@gigastream.udf` and `@gigastream.udf(on_error="end")`."""
    return _last_name(mark.func if isinstance(mark, ast.Call) else mark)


def _last_name(node: ast.expr) -> str:
    """`udf` of `udf` and `gigastream.udf`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""

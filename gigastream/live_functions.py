# SPDX-License-Identifier: Apache-2.0
"""Functions that a program hands over itself: their annotations are read as those of a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from gigastream.late_dataclass import replace
from gigastream.udf_mark import MARK

if TYPE_CHECKING:
    from gigastream.gsql.catalog.python_functions import PythonFunction


def live_functions(functions: Sequence[Callable[..., Any]]) -> tuple[PythonFunction, ...]:
    """Functions over Arrow arrays, marked or not, as queries call them. GsqlError."""
    return tuple(map(_live, functions))


def _live(function: Callable[..., Any]) -> PythonFunction:
    from gigastream.gsql.catalog.python_files import python_functions
    from gigastream.gsql.diagnostics import DiagnosticSink
    from gigastream.gsql.python_code import PythonCode
    from gigastream.gsql.source import SourceFile

    name = getattr(function, "__name__", "")
    if not callable(function) or not name.isidentifier():
        raise TypeError(f"functions are those of a def, not {type(function).__name__}")
    sink = DiagnosticSink()
    text = f"@{getattr(function, MARK, 'udf')}\n{_head(name, function)}: ...\n"
    found = python_functions(SourceFile(f"the function {name}", text), name, sink)
    sink.raise_if_errors()
    (only,) = found
    code = getattr(function, "__code__", None)
    return replace(only, code=PythonCode(getattr(code, "co_filename", name), made=function))


def _head(name: str, function: Callable[..., Any]) -> str:
    """`def entropy(payload: BinaryArray) -> DoubleArray`."""
    signature = inspect.signature(function)
    shown: list[str] = []
    stars: dict[object, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
    for parameter in signature.parameters.values():
        star = stars.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else "=None"
        shown.append(f"{star}{parameter.name}{_behind(': ', parameter.annotation)}{default}")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.insert(len(shown) - 1, "*")
    return f"def {name}({', '.join(shown)}){_behind(' -> ', signature.return_annotation)}"


def _behind(sign: str, annotation: Any) -> str:
    return "" if annotation is inspect.Signature.empty else sign + _text(annotation)


def _text(annotation: Any) -> str:
    """The annotation as a file would have it."""
    if isinstance(annotation, str):
        return repr(annotation)
    if annotation in (None, NoneType):
        return "None"
    if get_origin(annotation) is Annotated:
        array, *said = get_args(annotation)
        return f"Annotated[{', '.join([_text(array), *map(repr, said)])}]"
    parts = get_args(annotation)
    return " | ".join(map(_text, parts)) if parts else getattr(annotation, "__name__", "object")

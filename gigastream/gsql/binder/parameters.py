# SPDX-License-Identifier: Apache-2.0
"""The values of a query's parameters: what the command line gives, else the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.expressions import Binder, ClauseContext
from gigastream.gsql.binder.literals import read_value
from gigastream.gsql.binder.names import Scope
from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.catalog.protocols import resolved_type
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean, printable
from gigastream.gsql.expressions import Constant
from gigastream.gsql.operations.conversion import converted
from gigastream.gsql.source import UNDECODED, SourceFile, Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type

GIVEN = "--param"
"""What diagnostics call the place of a value that was given."""


class GivenParameters:
    """The `--param [query.]name=value` of a run."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {key.lower(): (key, value) for key, value in given.items()}
        self._wanted: set[str] = set()

    def value(self, query: str, name: str) -> tuple[str, Span] | None:
        """The text given for a query's parameter, the more special one first, and its place."""
        for key in (f"{query}.{name}".lower(), name.lower()):
            self._wanted.add(key)
            if key in self._given:
                written, value = self._given[key]
                return value, _place(written, value, len(written) + 1)
        return None

    def report_unwanted(self, sink: DiagnosticSink) -> None:
        """Report what was given and no query has."""
        names = sorted(key for key in self._wanted if "." not in key)
        for key, (written, value) in self._given.items():
            if key in self._wanted:
                continue
            hint = did_you_mean(key.rsplit(".", 1)[-1], names) or _known(names)
            span = _place(written, value, 0, len(written))
            sink.error("unknown-parameter", f"no query has a parameter {written}", span, hint)


def _known(names: Iterable[str]) -> str:
    shown = ", ".join(names)
    return f"parameters are {shown}" if shown else "no query has parameters"


def _place(name: str, value: str, start: int, end: int | None = None) -> Span:
    text = f"{name}={value}"
    return Span(SourceFile(GIVEN, text), start, len(text) if end is None else end)


def bind_parameters(
    query: ast.Query, given: GivenParameters, catalog: Catalog, sink: DiagnosticSink
) -> dict[str, Constant | None]:
    """The parameters' values by lower-case name; None after an error."""
    found: dict[str, Constant | None] = {}
    for declaration in query.parameters:
        type_ = resolved_type(declaration.type, sink)
        text = given.value(query.name, declaration.name)
        if type_ is None or not _has_constants(declaration, type_, sink):
            value = None
        elif text is not None:
            value = _given_value(declaration, type_, *text, sink)
        else:
            value = _default(declaration, type_, BindingContext(sink, catalog))
        found[declaration.name.lower()] = value
    return found


def _has_constants(
    declaration: ast.ParameterDeclaration, type_: Type, sink: DiagnosticSink
) -> bool:
    if type_.is_opaque:
        message = f"a parameter is a constant, and there is none of the type {type_}"
        sink.error("wrong-type", message, declaration.type.span)
    return not type_.is_opaque


def _given_value(
    declaration: ast.ParameterDeclaration,
    type_: Type,
    text: str,
    span: Span,
    sink: DiagnosticSink,
) -> Constant | None:
    value = read_value(text, type_, span)
    if value is None and UNDECODED.search(text):
        message = f"the value of {declaration.name} has a byte that is not UTF-8"
        sink.error("bad-parameter", message, span)
    elif value is None:
        message = f"{printable(text)!r} is not of the type {type_}, which ${declaration.name} has"
        sink.error("bad-parameter", message, span)
    return value


def _default(
    declaration: ast.ParameterDeclaration, type_: Type, context: BindingContext
) -> Constant | None:
    if declaration.default is None:
        message = f"the parameter {declaration.name} has no value"
        hint = f"give it one: --param {declaration.name}=…, or a default behind its type"
        context.sink.error("missing-parameter", message, declaration.span, hint)
        return None
    bound = Binder(context, Scope(()), ClauseContext("PARAM")).bind(declaration.default)
    if not isinstance(bound, Constant):
        return None
    value = converted(bound, type_) if _is_kind_of(bound, type_) else bound
    if isinstance(value, Constant) and value.type is type_ and value.value is not None:
        return value
    message = f"the default of {declaration.name} is not of the type {type_}"
    context.sink.error("wrong-type", message, declaration.default.span)
    return None


def _is_kind_of(value: Constant, type_: Type) -> bool:
    """True if a literal can stand for a value of the type, if it fits."""
    if value.type.is_integer:
        return type_.is_numeric or type_ is Type.TIMESTAMP
    if value.type.is_address:
        return type_ in (value.type, Type.INET)
    return value.type is type_

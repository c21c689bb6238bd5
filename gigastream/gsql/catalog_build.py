# SPDX-License-Identifier: Apache-2.0
"""Definition files to a catalog: the shipped ones first, then the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gigastream.gsql import ast
from gigastream.gsql.catalog import COSTS, Catalog, Function
from gigastream.gsql.catalog_protocols import Origin, build_protocols, resolved_type
from gigastream.gsql.definitions import parse_definitions
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.source import SourceFile, Span, decode
from gigastream.gsql.types import Type
from gigastream.paths import configs_directory

SHIPPED = ("packet.gsql", "functions.gsql")

_Named = TypeVar("_Named", bound=ast.Node)


def load_catalog(user_files: Iterable[str | Path] = ()) -> Catalog:
    """Read the shipped definitions and the user's; raise GsqlError with all that is wrong.

    The C header of a user's X.gsql, with its accessors and functions, is X.h beside it.
    """
    sink = DiagnosticSink()
    shipped = [configs_directory() / name for name in SHIPPED]
    found = [_read(path, True, sink) for path in shipped]
    found += [_read(Path(path), False, sink) for path in user_files]
    catalog = build_catalog([item for item in found if item is not None], sink)
    sink.raise_if_errors()
    return catalog


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """The definitions of one file, and the C header that belongs to them."""

    definitions: ast.Definitions
    is_shipped: bool
    header: str = ""


def build_catalog(files: Sequence[DefinitionFile], sink: DiagnosticSink) -> Catalog:
    """Make a catalog; what is wrong goes to the sink, and what is right is kept."""
    everything = ast.Definitions()
    for file in files:
        everything += file.definitions
    unpack = {item.name.lower(): item for item in everything.unpack_functions}
    origins = {
        id(protocol): Origin(file.is_shipped, file.header)
        for file in files
        for protocol in file.definitions.protocols
    }
    return Catalog(
        protocols=build_protocols(everything.protocols, origins, unpack, sink),
        functions=_functions(files, lambda found: found.functions, sink),
        predicates=_functions(files, lambda found: found.predicates, sink),
        streams=_by_name(everything.streams, "stream", sink),
        aggregates=_by_name(everything.aggregates, "aggregate", sink),
        extractors=_by_name(everything.extractors, "function", sink),
        stateful_functions=_by_name(everything.stateful_functions, "function", sink),
        states=_by_name(everything.states, "state", sink),
        interface_sets=_by_name(everything.interface_sets, "interface set", sink),
        unpack_functions=unpack,
    )


# Reading


def _read(path: Path, is_shipped: bool, sink: DiagnosticSink) -> DefinitionFile | None:
    try:
        text = decode(path.read_bytes())
    except OSError as error:
        start = Span(SourceFile(str(path), ""), 0, 0)
        sink.error("unreadable", f"cannot read the file: {error.strerror}", start)
        return None
    definitions = parse_definitions(text, str(path), sink)
    header = "" if is_shipped else _header(path, definitions, sink)
    return DefinitionFile(definitions, is_shipped, header)


def _header(path: Path, definitions: ast.Definitions, sink: DiagnosticSink) -> str:
    """The header beside the file; needed only where something is declared that is C."""
    in_c = (*definitions.protocols, *definitions.functions, *definitions.predicates)
    if not in_c:
        return ""
    header = path.with_suffix(".h")
    if not header.is_file():
        message = f"there is no {header.name} beside this file"
        hint = "it holds the C functions that the file declares: gs_field_…, gs_function_…"
        sink.error("missing-header", message, in_c[0].span, hint)
    return str(header.resolve())


# Functions


def _functions(
    files: Sequence[DefinitionFile],
    select: Callable[[ast.Definitions], Iterable[ast.Declaration]],
    sink: DiagnosticSink,
) -> dict[str, tuple[Function, ...]]:
    found: dict[str, tuple[Function, ...]] = {}
    for file in files:
        for declaration in select(file.definitions):
            function = _function(declaration, file.header, sink)
            if function is not None:
                _add_overload(found, function, sink)
    return found


def _add_overload(
    found: dict[str, tuple[Function, ...]], function: Function, sink: DiagnosticSink
) -> None:
    key = function.name.lower()
    others = found.get(key, ())
    if any(other.parameters == function.parameters for other in others):
        message = f"{function.signature} is declared twice"
        sink.error("duplicate-name", message, function.span)
        return
    found[key] = (*others, function)


def _function(declaration: ast.Declaration, header: str, sink: DiagnosticSink) -> Function | None:
    result: Type | None = Type.BOOL
    if isinstance(declaration, ast.FunctionDeclaration):
        result = resolved_type(declaration.result, sink)
    parameters = [resolved_type(item.type, sink) for item in declaration.parameters]
    if result is None or None in parameters:
        return None
    return _described(declaration, result, tuple(t for t in parameters if t is not None), header)


def _described(
    declaration: ast.Declaration, result: Type, parameters: tuple[Type, ...], header: str
) -> Function:
    modifiers = {modifier.name: modifier.value for modifier in declaration.modifiers}
    given = list(enumerate(declaration.parameters))
    return Function(
        name=declaration.name,
        is_predicate=isinstance(declaration, ast.PredicateDeclaration),
        result=result,
        parameters=parameters,
        handle=next((position for position, item in given if item.handle), None),
        constants=frozenset(position for position, item in given if item.handle or item.const),
        lfta_legal="LFTA_LEGAL" in modifiers or "LFTA_ONLY" in modifiers,
        hfta_legal="LFTA_ONLY" not in modifiers,
        partial="PARTIAL" in modifiers,
        cost=COSTS[modifiers.get("COST") or "LOW"],
        header=header,
        span=declaration.name_span,
    )


# What is kept as it was written


def _by_name(nodes: Iterable[_Named], what: str, sink: DiagnosticSink) -> dict[str, _Named]:
    found: dict[str, _Named] = {}
    for node in nodes:
        name: str = node.name  # type: ignore[attr-defined]
        if name.lower() in found:
            span: Span = node.name_span  # type: ignore[attr-defined]
            sink.error("duplicate-name", f"a second {what} called {name}", span)
        found.setdefault(name.lower(), node)
    return found

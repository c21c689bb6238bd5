# SPDX-License-Identifier: Apache-2.0
"""Definition files to a catalog: the shipped ones first, then the user's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from gigastream.gsql.catalog.catalog import COSTS, Catalog, Function
from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.catalog.late_names import LateNames, words_of
from gigastream.gsql.catalog.list_blocks import checked_list
from gigastream.gsql.catalog.protocols import (
    Origin,
    build_protocols,
    resolved_type,
)
from gigastream.gsql.catalog.python_functions import PythonAggregate, PythonFunction
from gigastream.gsql.catalog.stateful import stateful_functions
from gigastream.gsql.catalog.streams import build_streams
from gigastream.gsql.catalog.user_aggregates import (
    Declared,
    extractors,
    user_aggregates,
)
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.python_code import PYTHON_SUFFIX
from gigastream.gsql.source import SourceFile, Span, read_text
from gigastream.gsql.syntax import ast, declarations
from gigastream.gsql.types import Type, type_named
from gigastream.gsql.watchlists import Watchlist
from gigastream.late_dataclass import dataclass, replace
from gigastream.paths import configs_directory

SHIPPED = ("packet.gsql", "flows.gsql")
SHIPPED_FUNCTIONS = ("functions.gsql", "sketches.gsql", "sampling.gsql")
"""These declare nothing but functions, and are read when one of them is named."""

_Item = TypeVar("_Item")
_Named = TypeVar("_Named", bound=ast.SyntaxNode)


STORED_CODE = "sha256:"
"""Begins what stands for a C header that is not here: the hash of its text."""


@dataclass(frozen=True, slots=True)
class StoredDefinitions:
    """A definition file that was read elsewhere: its text, and of its code only the hash."""

    name: str
    text: str
    header: str = ""
    """STORED_CODE and a SHA-256 in hexadecimal; "" where it declares nothing that is C."""


def store_definitions(path: str | Path) -> StoredDefinitions:
    """Return a definition file as it can be kept elsewhere. Raises OSError."""
    file = Path(path)
    if is_python(file):
        return StoredDefinitions(file.name, read_text(file))
    header = file.with_suffix(".h")
    return StoredDefinitions(
        file.name,
        read_text(file),
        code_hash(header) if header.is_file() else "",
    )


def code_hash(header: str | Path) -> str:
    """Return what stands for a header wherever it is; itself, if it does so. Raises OSError."""
    if str(header).startswith(STORED_CODE):
        return str(header)
    return STORED_CODE + hashlib.sha256(Path(header).read_bytes()).hexdigest()


def is_python(file: str | Path | StoredDefinitions) -> bool:
    """Whether a definition file is one in Python."""
    name = file.name if isinstance(file, StoredDefinitions) else str(file)
    return name.endswith(PYTHON_SUFFIX)


def load_catalog(
    user_files: Iterable[str | Path | StoredDefinitions] = (),
    functions: Sequence[PythonFunction] = (),
) -> Catalog:
    """Read the shipped definitions and the user's; raise GsqlError with all that is wrong.

    `functions` are functions in Python beside those of files.

    The C header of a user's X.gsql, with its accessors and functions, is X.h beside it. Of stored
    definitions nothing is opened: what is C in them is known by its hash, and cannot be compiled.
    """
    files = tuple(user_files)
    if not files and not functions:
        return _shipped_catalog(configs_directory())
    sink = DiagnosticSink()
    found = [
        _stored(file, sink)
        if isinstance(file, StoredDefinitions)
        else _read(Path(file), False, sink)
        for file in files
        if not is_python(file)
    ]
    shipped = _shipped(configs_directory())
    catalog = build_catalog([*shipped, *(item for item in found if item is not None)], sink)
    in_python = [f for file in files if is_python(file) for f in _in_python(file, sink)]
    catalog = _with_python(catalog, [*in_python, *functions], sink)
    sink.raise_if_errors()
    return catalog


def _in_python(file: str | Path | StoredDefinitions, sink: DiagnosticSink) -> Iterable[Function]:
    """The functions of a file in Python; of a stored one the types alone are known."""
    from gigastream.gsql.catalog.python_files import python_functions

    if isinstance(file, StoredDefinitions):
        code = STORED_CODE + hashlib.sha256(file.text.encode(errors="replace")).hexdigest()
        return python_functions(SourceFile(file.name, file.text), code, sink)
    try:
        source = SourceFile(str(file), read_text(file))
    except OSError as error:
        start = Span(SourceFile(str(file), ""), 0, 0)
        sink.error("unreadable", f"cannot read the file: {error.strerror}", start)
        return ()
    return python_functions(source, str(Path(file).resolve()), sink)


def _with_python(catalog: Catalog, functions: Sequence[Function], sink: DiagnosticSink) -> Catalog:
    """The catalog with functions in Python, whose names are no others'."""
    found, aggregates = dict(catalog.functions), dict(catalog.aggregates)
    for function in functions:
        name = function.name.lower()
        if catalog.overloads(function.name) or catalog.aggregated(function.name):
            message = f"there is a function {function.name} already, which is not in Python"
            sink.error("duplicate-name", message, function.span, "give yours another name")
        elif name in found or name in aggregates:
            sink.error("duplicate-name", f"{function.name} is declared twice", function.span)
        elif isinstance(function, PythonAggregate):
            aggregates[name] = (function,)
        else:
            found[name] = (function,)
    return replace(catalog, functions=found, aggregates=aggregates)


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """The definitions of one file, and the C header that belongs to them."""

    definitions: declarations.Definitions
    is_shipped: bool
    header: str = ""


def build_catalog(files: Sequence[DefinitionFile], sink: DiagnosticSink) -> Catalog:
    """Make a catalog; what is wrong goes to the sink, and what is right is kept."""
    everything = declarations.Definitions()
    for file in files:
        everything += file.definitions
    aggregates = user_aggregates(_declared(files, lambda found: found.aggregates, sink), sink)
    stateful = _declared(files, lambda found: found.stateful_functions, sink)
    states = _by_name(everything.states, "state", sink)
    extracting = _declared(files, lambda found: found.extractors, sink)
    unpack = {item.name.lower(): item for item in everything.unpack_functions}
    origins = {
        id(protocol): Origin(file.is_shipped, file.header)
        for file in files
        for protocol in file.definitions.protocols
    }
    protocols = build_protocols(everything.protocols, origins, unpack, sink)
    return Catalog(
        protocols=protocols,
        functions=_functions(files, lambda found: found.functions, sink),
        predicates=_functions(files, lambda found: found.predicates, sink),
        streams=build_streams(_by_name(everything.streams, "stream", sink), protocols, sink),
        watchlists=_watchlists(_by_name(everything.watchlists, "watchlist", sink), sink),
        aggregates=aggregates,
        extractors=extractors(extracting, aggregates, sink),
        stateful_functions=stateful_functions(stateful, states, sink),
        interface_sets=_by_name(everything.interface_sets, "interface set", sink),
        unpack_functions=unpack,
    )


# Reading


@cache
def _shipped(folder: Path) -> tuple[DefinitionFile, ...]:
    """What comes with Gigastream is read once: it takes longer than all else of a short query."""
    sink = DiagnosticSink()
    found = [_read(folder / name, True, sink) for name in (*SHIPPED, *SHIPPED_FUNCTIONS)]
    sink.raise_if_errors()
    return tuple(item for item in found if item is not None)


@cache
def _shipped_catalog(folder: Path) -> Catalog:
    """What comes with Gigastream, alone: its functions are read when one is named."""
    texts = {str(folder / name): read_text(folder / name) for name in SHIPPED_FUNCTIONS}
    words = words_of(tuple(texts.values()))

    @cache
    def functions() -> Catalog:
        return _catalog_of(texts)

    def late(select: Callable[[Catalog], Mapping[str, _Item]]) -> Mapping[str, _Item]:
        return LateNames(words, lambda: select(functions()))

    # Read now: who has given up privileges may not be able to later.
    return replace(
        _catalog_of({str(folder / name): read_text(folder / name) for name in SHIPPED}),
        functions=late(lambda catalog: catalog.functions),
        predicates=late(lambda catalog: catalog.predicates),
        aggregates=late(lambda catalog: catalog.aggregates),
        extractors=late(lambda catalog: catalog.extractors),
        stateful_functions=late(lambda catalog: catalog.stateful_functions),
    )


def _catalog_of(texts: Mapping[str, str]) -> Catalog:
    """The catalog of shipped files, whose texts are given by path."""
    sink = DiagnosticSink()
    found = [
        DefinitionFile(parse_definitions(text, path, sink), is_shipped=True)
        for path, text in texts.items()
    ]
    catalog = build_catalog(found, sink)
    sink.raise_if_errors()
    return catalog


def _read(path: Path, is_shipped: bool, sink: DiagnosticSink) -> DefinitionFile | None:
    try:
        text = read_text(path)
    except OSError as error:
        start = Span(SourceFile(str(path), ""), 0, 0)
        sink.error("unreadable", f"cannot read the file: {error.strerror}", start)
        return None
    definitions = parse_definitions(text, str(path), sink)
    header = "" if is_shipped else _header(path, definitions, sink)
    return DefinitionFile(definitions, is_shipped, header)


def _stored(file: StoredDefinitions, sink: DiagnosticSink) -> DefinitionFile:
    definitions = parse_definitions(file.text, file.name, sink)
    # Whatever it says: never a path, nor nothing, which is what functions of ours have.
    header = f"{STORED_CODE}{file.header.removeprefix(STORED_CODE)}" if _in_c(definitions) else ""
    return DefinitionFile(definitions, False, header)


def _in_c(
    definitions: declarations.Definitions,
) -> Sequence[declarations.Declaration | declarations.ProtocolBlock]:
    return (
        *definitions.protocols,
        *definitions.functions,
        *definitions.predicates,
        *definitions.aggregates,
        *definitions.extractors,
        *definitions.stateful_functions,
    )


def _header(path: Path, definitions: declarations.Definitions, sink: DiagnosticSink) -> str:
    """The header beside the file; needed only where something is declared that is C."""
    in_c = _in_c(definitions)
    if not in_c:
        return ""
    header = path.with_suffix(".h")
    if not header.is_file():
        message = f"there is no {header.name} beside this file"
        hint = "the C of what the file declares, behind gs_extension.h: docs/extensions.md"
        sink.error("missing-header", message, in_c[0].span, hint)
    return str(header.resolve())


# Functions


def _functions(
    files: Sequence[DefinitionFile],
    select: Callable[[declarations.Definitions], Iterable[declarations.Declaration]],
    sink: DiagnosticSink,
) -> dict[str, tuple[Function, ...]]:
    found: dict[str, tuple[Function, ...]] = {}
    for declared in _declared(files, select, sink):
        _add_overload(found, declared.function, sink)
    return found


def _declared(
    files: Sequence[DefinitionFile],
    select: Callable[[declarations.Definitions], Iterable[declarations.Declaration]],
    sink: DiagnosticSink,
) -> list[Declared]:
    found = []
    for file in files:
        for declaration in select(file.definitions):
            if not file.is_shipped:
                _refuse_header(declaration, sink)
            function = _function(declaration, file.header, sink)
            if function is not None:
                found.append(Declared(declaration, function))
    return found


def _refuse_header(declaration: declarations.Declaration, sink: DiagnosticSink) -> None:
    """A user's function is in the header beside its file; HEADER names one of ours."""
    for modifier in declaration.modifiers:
        if modifier.name == "HEADER":
            message = "HEADER is for the functions that come with Gigastream"
            hint = "the C of X.gsql is in X.h beside it"
            sink.error("bad-modifier", message, modifier.span, hint)


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


def _function(
    declaration: declarations.Declaration, header: str, sink: DiagnosticSink
) -> Function | None:
    result: Type | None = Type.BOOL
    if isinstance(declaration, _WITH_RESULT):
        result = resolved_type(declaration.result, sink)
    parameters = [resolved_type(item.type, sink) for item in declaration.parameters]
    if result is None or None in parameters or _has_opaque_constant(declaration, sink):
        return None
    return _described(declaration, result, tuple(t for t in parameters if t is not None), header)


_WITH_RESULT = (
    declarations.FunctionDeclaration,
    declarations.AggregateDeclaration,
    declarations.ExtractorDeclaration,
    declarations.StatefulFunctionDeclaration,
)


def _has_opaque_constant(declaration: declarations.Declaration, sink: DiagnosticSink) -> bool:
    """Report an argument that no query could write."""
    for item in declaration.parameters:
        type_ = type_named(item.type.name)
        if (item.handle or item.const) and type_ is not None and type_.is_opaque:
            message = f"a constant is wanted here, and there is none of the type {type_}"
            sink.error("wrong-type", message, item.span)
            return True
    return False


def _described(
    declaration: declarations.Declaration, result: Type, parameters: tuple[Type, ...], header: str
) -> Function:
    modifiers = {modifier.name: modifier.value for modifier in declaration.modifiers}
    given = list(enumerate(declaration.parameters))
    return Function(
        name=declaration.name,
        is_predicate=isinstance(declaration, declarations.PredicateDeclaration),
        result=result,
        parameters=parameters,
        handle=next((position for position, item in given if item.handle), None),
        constants=frozenset(position for position, item in given if item.handle or item.const),
        lfta_legal="LFTA_LEGAL" in modifiers or "LFTA_ONLY" in modifiers,
        hfta_legal="LFTA_ONLY" not in modifiers,
        partial="PARTIAL" in modifiers,
        cost=COSTS[modifiers.get("COST") or "LOW"],
        header=header,
        include="" if header else f"{modifiers.get('HEADER') or 'gs_functions'}.h",
        span=declaration.name_span,
    )


# Watchlists


def _watchlists(
    nodes: Mapping[str, declarations.ListBlock], sink: DiagnosticSink
) -> dict[str, Watchlist]:
    found = {key: checked_list(node, sink) for key, node in nodes.items()}
    return {key: item for key, item in found.items() if item is not None}


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

# SPDX-License-Identifier: Apache-2.0
"""The texts of a query set and what goes with them, before anything is read of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.gsql.source import SourceFile

if TYPE_CHECKING:
    from gigastream.gsql.diagnostics import Diagnostic
    from gigastream.gsql.queries import CheckedQuery

_INLINE_NAME = "query"


class QueryFileError(Exception):
    """A query file that cannot be read."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class QueryTexts:
    """Queries as they were written."""

    files: tuple[SourceFile, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    """By `name` or `query.name`."""
    definitions: tuple[str, ...] = ()
    library: str | None = None
    interfaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Properties of the interfaces that there are, by name; none: they are not known yet."""

    @property
    def include(self) -> tuple[Path, ...]:
        """Folders of the C headers that stand beside the definitions."""
        return tuple(dict.fromkeys(Path(path).resolve().parent for path in self.definitions))


@dataclass(frozen=True, slots=True)
class CheckedTexts:
    """Queries whose every name and type is known."""

    queries: tuple[CheckedQuery, ...]
    warnings: tuple[Diagnostic, ...]


def check_texts(texts: QueryTexts) -> CheckedTexts:
    """Check the queries against the shipped definitions and their own; GsqlError has all errors."""
    from gigastream.gsql.binder import check
    from gigastream.gsql.catalog_build import load_catalog
    from gigastream.gsql.diagnostics import DiagnosticSink
    from gigastream.gsql.interface_sets import bind_interfaces

    sink = DiagnosticSink()
    catalog = load_catalog(texts.definitions)
    queries = check(
        [(file.text, file.name) for file in texts.files],
        catalog=catalog,
        parameters=texts.parameters,
        interfaces=texts.interfaces or None,
        library=texts.library,
        sink=sink,
    )
    if texts.interfaces:
        queries = bind_interfaces(queries, catalog.interface_sets, texts.interfaces, sink)
        sink.raise_if_errors()
    return CheckedTexts(tuple(queries), sink.diagnostics)


def read_query_file(path: str) -> SourceFile:
    """Read a query file; QueryFileError says why not."""
    try:
        return SourceFile(path, Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise QueryFileError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or a NUL in the name
        raise QueryFileError(f"{path!r}: {error}") from None


def inline_queries(texts: tuple[str, ...]) -> tuple[SourceFile, ...]:
    """Return texts of the command line as files called query, query2 and so on."""
    return tuple(
        SourceFile(_INLINE_NAME if number == 1 else f"{_INLINE_NAME}{number}", text)
        for number, text in enumerate(texts, 1)
    )

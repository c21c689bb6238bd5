# SPDX-License-Identifier: Apache-2.0
"""The texts of a query set and what goes with them, before anything is read of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.gsql.python_code import PYTHON_SUFFIX
from gigastream.gsql.source import SourceFile, read_text
from gigastream.late_dataclass import dataclass, field

if TYPE_CHECKING:
    from gigastream.gsql.catalog.build import StoredDefinitions
    from gigastream.gsql.catalog.python_functions import PythonFunction
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
    definitions: tuple[str | StoredDefinitions, ...] = ()
    functions: tuple[PythonFunction, ...] = ()
    """In Python, beside those of files."""
    library: str | Mapping[str, str] | None = None
    """A folder, or the texts of its files by `dir/name`."""
    interfaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Properties of the interfaces that there are, by name; none: they are not known yet."""
    is_finite: bool = False
    """All that is read has an end, as files have."""
    opens_lists: bool = False
    """FROM may name the file of a watchlist: who asks may read what we may."""

    @property
    def include(self) -> tuple[Path, ...]:
        """Folders of the C headers that stand beside the definition files that are here."""
        files = (
            f for f in self.definitions if isinstance(f, str) and not f.endswith(PYTHON_SUFFIX)
        )
        return tuple(dict.fromkeys(Path(path).resolve().parent for path in files))


@dataclass(frozen=True, slots=True)
class CheckedTexts:
    """Queries whose every name and type is known."""

    queries: tuple[CheckedQuery, ...]
    warnings: tuple[Diagnostic, ...]


def check_texts(texts: QueryTexts) -> CheckedTexts:
    """Check the queries against the shipped definitions and their own; GsqlError has all errors."""
    from gigastream.gsql.binder.binder import check
    from gigastream.gsql.binder.interface_sets import bind_interfaces
    from gigastream.gsql.catalog.build import load_catalog
    from gigastream.gsql.diagnostics import DiagnosticSink

    sink = DiagnosticSink()
    catalog = load_catalog(texts.definitions, texts.functions)
    queries = check(
        [(file.text, file.name) for file in texts.files],
        catalog=catalog,
        parameters=texts.parameters,
        interfaces=texts.interfaces or None,
        library=texts.library,
        is_finite=texts.is_finite,
        opens_lists=texts.opens_lists,
        sink=sink,
    )
    if texts.interfaces:
        queries = bind_interfaces(queries, catalog.interface_sets, texts.interfaces, sink)
        sink.raise_if_errors()
    return CheckedTexts(tuple(queries), sink.diagnostics)


def library_texts(texts: QueryTexts) -> dict[str, str]:
    """Return the library's files that the queries read, by `dir/name`."""
    from gigastream.gsql.binder.query_set import QuerySet
    from gigastream.gsql.catalog.build import load_catalog
    from gigastream.gsql.diagnostics import DiagnosticSink

    if texts.library is None or isinstance(texts.library, Mapping):
        return dict(texts.library or {})
    queries = QuerySet(load_catalog(texts.definitions), Path(texts.library), DiagnosticSink())
    for file in texts.files:
        queries.add_text(file.text, file.name)
    queries.resolve()
    return queries.library_texts


def read_query_file(path: str) -> SourceFile:
    """Read a query file; QueryFileError says why not."""
    try:
        text = read_text(path)
        if "\0" in text:
            raise QueryFileError(f"{path} is no text of UTF-8", "save it as UTF-8")
        return SourceFile(path, text)
    except OSError as error:
        raise QueryFileError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the name
        raise QueryFileError(f"{path!r}: {error}") from None


def inline_queries(texts: tuple[str, ...]) -> tuple[SourceFile, ...]:
    """Return texts of the command line as files called query, query2 and so on."""
    return tuple(
        SourceFile(_INLINE_NAME if number == 1 else f"{_INLINE_NAME}{number}", text)
        for number, text in enumerate(texts, 1)
    )

# SPDX-License-Identifier: Apache-2.0
"""The queries of a set: their names, what they read, library queries, and the order of it all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.source import read_text
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.blocks import OPTIONS
from gigastream.gsql.syntax.parser import parse_queries
from gigastream.late_dataclass import dataclass, field, replace

SHOWN_OF_CYCLE = 10
"""Queries of a cycle that its message names; in the middle of a longer one some are left out."""


@dataclass(slots=True)
class QueryEntry:
    """A query of the set and what it reads."""

    node: ast.Query
    library: str = ""
    """`dir/name`, if it came from the library: the name under which it is read."""
    file: int = 0
    """Queries of one library file know each other by their plain names."""
    is_broken: bool = False
    """It has syntax errors, so that parts of it may be missing."""
    within: ast.Query | None = None
    """The query whose WITH it stands in: it alone, and others there, can read it."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """The keys of the queries of a WITH that it can read, by name."""
    reads: list[tuple[ast.Table, str]] = field(default_factory=list)
    """The tables of FROM that are queries, and their keys."""

    @property
    def key(self) -> str:
        return (self.library or self.node.name).lower()


Library = Path | Mapping[str, str]
"""A folder, or texts of its files by `dir/name`."""


class QuerySet:
    """All queries of a run, with those of the library that they read."""

    def __init__(self, catalog: Catalog, library: Library | None, sink: DiagnosticSink) -> None:
        self.entries: dict[str, QueryEntry] = {}
        self.library_texts: dict[str, str] = {}
        """Of the library's files that were read, by `dir/name`."""
        self._catalog = catalog
        self._library = library
        self._sink = sink
        self._absent: set[str] = set()
        self._nameless = 0

    def add_text(self, text: str, file: str) -> None:
        """Parse a query file and add its queries; what is wrong goes to the sink."""
        for node, is_broken in _parsed(text, file, self._sink):
            self._add_with(QueryEntry(node, is_broken=is_broken))

    def _add_with(self, entry: QueryEntry) -> None:
        """Add a query, and before it those of its WITH."""
        node, known = entry.node, dict[str, str]()
        for table in node.tables:
            if self._is_free(table, known):
                own = f"{entry.library or node.name or self._nameless}.{table.name}"
                inner = ast.Query(
                    own,
                    table.body,
                    node.parameters,
                    (*_constants(node), ast.DefineEntry("visibility", "internal")),
                    table.name_span,
                    span=table.span,
                )
                library = own if entry.library else ""
                made = replace(entry, node=inner, library=library, within=node, beside={**known})
                self._add(replace(made, reads=[]))
                known[table.name.lower()] = made.key
        self._add(replace(entry, beside=known))

    def _is_free(self, table: ast.CommonTable, known: Mapping[str, str]) -> bool:
        """Whether a query of a WITH can have its name; an error where not."""
        hint = "give it another name"
        if self._catalog.protocol(table.name) is not None:
            message = f"{table.name} is a protocol"
        elif table.name.lower() in known:
            message = f"a second query called {table.name} in this WITH"
        else:
            return True
        self._sink.error("duplicate-name", message, table.name_span, hint)
        return False

    def _add(self, entry: QueryEntry) -> None:
        if not entry.node.name:
            self._nameless += 1
            self.entries[f"\0{self._nameless}"] = entry
            return
        if entry.key in self.entries:
            message = f"a second query called {entry.node.name}"
            hint = "DEFINE { query_name another; }"
            self._sink.error("duplicate-name", message, entry.node.name_span, hint)
            return
        self.entries[entry.key] = entry

    # What they read

    def resolve(self) -> None:
        """Find what each query reads; queries of the library that are read join the set."""
        waiting = list(self.entries.values())
        while waiting:
            entry = waiting.pop(0)
            before = set(self.entries)
            for table in tables_of(entry.node):
                key = self._key(entry, table)
                if key is not None:
                    entry.reads.append((table, key))
            waiting += [self.entries[key] for key in self.entries if key not in before]

    def _key(self, entry: QueryEntry, table: ast.Table) -> str | None:
        if self._catalog.protocol(table.name) is not None:
            return None
        name = table.name.lower()
        if name in entry.beside:
            return entry.beside[name]
        if entry.library:
            beside = f"{entry.library.rsplit('/', 1)[0]}/{table.name}".lower()
            if beside in self.entries and self.entries[beside].file == entry.file:
                return beside
        if name in self.entries:
            return name
        if "/" in table.name:
            self._read_library(table)
            return name if name in self.entries else None
        return None

    def _read_library(self, table: ast.Table) -> None:
        if table.name.lower() in self._absent:
            return
        path = self._library_file(table)
        text = None if path is None else self._text(path, table)
        if path is None or text is None:
            self._absent.add(table.name.lower())
            return
        self.library_texts[table.name] = text
        folder = table.name.rsplit("/", 1)[0]
        number = 1 + max((entry.file for entry in self.entries.values()), default=0)
        nodes = _parsed(text, str(path), self._sink)
        for index, (node, is_broken) in enumerate(nodes):
            name = table.name if index == 0 else f"{folder}/{node.name}"
            internal = ast.DefineEntry("visibility", "internal")
            kept = tuple(d for d in node.defines if d.name.lower() != "visibility")
            inner = replace(node, name=name, defines=(*kept, internal))
            self._add_with(QueryEntry(inner, library=name, file=number, is_broken=is_broken))

    def _library_file(self, table: ast.Table) -> Path | None:
        if self._library is None:
            hint = "--library DIR says where it is"
            message = f"{table.name} is a library query, and there is no library"
            self._sink.error("unknown-table", message, table.name_span, hint)
            return None
        parts = table.name.split("/")
        if any(part in ("", ".", "..") for part in parts):
            message = f"{table.name} is no path within the library"
            self._sink.error("unknown-table", message, table.name_span)
            return None
        within = Path(*parts[:-1], parts[-1] + ".gsql")
        return self._library / within if isinstance(self._library, Path) else within

    def _text(self, path: Path, table: ast.Table) -> str | None:
        if isinstance(self._library, Mapping):
            return self._stored_text(self._library, table)
        try:
            return read_text(path)
        except OSError as error:
            message = f"cannot read the library query {path}: {error.strerror}"
            self._sink.error("unknown-table", message, table.name_span)
            return None

    def _stored_text(self, library: Mapping[str, str], table: ast.Table) -> str | None:
        texts = {name.lower(): text for name, text in library.items()}
        if table.name.lower() not in texts:
            message = f"the library query {table.name} was not kept"
            self._sink.error("unknown-table", message, table.name_span)
        return texts.get(table.name.lower())

    # Order

    def ordered(self) -> list[QueryEntry]:
        """The queries, each behind those that it reads; queries of a cycle are reported."""
        done: dict[str, QueryEntry] = {}
        for key in self.entries:
            self._visit(key, done)
        return list(done.values())

    def _visit(self, first: str, done: dict[str, QueryEntry]) -> None:
        """Depth first, without recursion: a chain of queries may be of any length."""
        way: dict[str, Iterator[tuple[ast.Table, str]]] = {}
        if first not in done:
            way[first] = iter(self.entries[first].reads)
        while way:
            key, reads = next(reversed(way.items()))
            for table, read in reads:
                if read in way:
                    self._report_cycle(table, tuple(way), read)
                elif read not in done:
                    way[read] = iter(self.entries[read].reads)
                    break
            else:
                done[key] = self.entries[key]
                del way[key]

    def _report_cycle(self, table: ast.Table, way: Sequence[str], read: str) -> None:
        names = [self.entries[key].node.name for key in way[way.index(read) :]]
        if len(names) > SHOWN_OF_CYCLE:
            names[SHOWN_OF_CYCLE // 2 : -SHOWN_OF_CYCLE // 2] = ["…"]
        cycle = " -> ".join((*names, names[0]))
        message = f"queries read each other: {cycle}"
        hint = "a query can read only what does not read it"
        self._sink.error("cycle", message, table.name_span, hint)


def _constants(node: ast.Query) -> Iterator[ast.DefineEntry]:
    """What its DEFINE gives names to: its options are its own."""
    return (entry for entry in node.defines if entry.name.lower() not in OPTIONS)


def _parsed(text: str, file: str, sink: DiagnosticSink) -> list[tuple[ast.Query, bool]]:
    """The queries of a text, and whether each has syntax errors."""
    own = DiagnosticSink()
    nodes = parse_queries(text, file, own, keep_broken=True)
    for item in own.diagnostics:
        sink.add(item)
    errors = [item.span.start for item in own.diagnostics if item.severity == "error"]
    starts = [0, *(node.span.start for node in nodes[1:]), len(text) + 1]
    return [
        (node, any(starts[index] <= place < starts[index + 1] for place in errors))
        for index, node in enumerate(nodes)
    ]


def tables_of(query: ast.Query) -> Iterator[ast.Table]:
    """The tables of a query's FROM that may be queries: a list is none."""
    join = query.body.join if isinstance(query.body, ast.SelectStatement) else None
    is_of_list = join is not None and join.kind == "WATCHLIST"
    for source in query.body.sources[: -1 if is_of_list else None]:
        for node in ast.walk(source):
            if isinstance(node, ast.Table):
                yield node

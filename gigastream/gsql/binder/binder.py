# SPDX-License-Identifier: Apache-2.0
"""From GSQL text to checked queries: the front end's one entry.

All independent errors of all texts are found in one run. What is wrong is reported once: whatever
depends on it is left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from gigastream.gsql.binder.aggregates import NAMES
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.joins import flat_sources
from gigastream.gsql.binder.merge import bind_merge
from gigastream.gsql.binder.options import bind_options
from gigastream.gsql.binder.own_names import check_own_names
from gigastream.gsql.binder.parameters import GivenParameters, bind_parameters
from gigastream.gsql.binder.query_set import Library, QueryEntry, QuerySet
from gigastream.gsql.binder.select import bind_select
from gigastream.gsql.binder.sources import QueryOutput, Tables
from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.stream_names import is_of_stream
from gigastream.gsql.syntax import ast
from gigastream.late_dataclass import replace


def check(
    texts: Sequence[tuple[str, str]],
    *,
    catalog: Catalog,
    parameters: Mapping[str, str] | None = None,
    interfaces: Mapping[str, Mapping[str, str]] | Iterable[str] | None = None,
    library: str | PathLike[str] | Mapping[str, str] | None = None,
    is_finite: bool = False,
    opens_lists: bool = False,
    sink: DiagnosticSink | None = None,
) -> list[CheckedQuery]:
    """Check query texts, each with the name of its file; return the queries of all of them.

    A query stands behind those that it reads; otherwise the order is that of the texts. Library
    queries that are read are among them, named `dir/name`, and are no outputs.
    `parameters` are the values of `--param [query.]name=value`. `interfaces` are the names of all
    interfaces, perhaps with their properties; None where they are not known yet. `is_finite` says
    that all input has an end, where an aggregation without a clock is answered. `opens_lists`: FROM
    may name a watchlist's file. Warnings are left in `sink`, if one is given.

    Raises GsqlError with everything that is wrong.
    """
    sink = sink if sink is not None else DiagnosticSink()
    check_own_names(catalog, sink)
    queries = QuerySet(catalog, _library(library), sink)
    for text, file in texts:
        queries.add_text(text, file)
    queries.resolve()
    known = None if interfaces is None else frozenset(interfaces)
    properties = _properties(interfaces)
    tables = Tables(
        catalog, sink, {}, known, is_finite, opens_lists=opens_lists, properties=properties
    )
    ordered = queries.ordered()
    checked = _check_all(ordered, tables, GivenParameters(parameters or {}))
    is_whole = len(checked) == len(ordered)
    if checked and is_whole and not any(query.is_output for query in checked):
        _refuse_silence(queries.entries.values(), sink)
    sink.raise_if_errors()
    return checked


def _properties(
    interfaces: Mapping[str, Mapping[str, str]] | Iterable[str] | None,
) -> Mapping[str, Mapping[str, str]] | None:
    """Of the interfaces that packets come from."""
    if interfaces is None:
        return None
    given = interfaces if isinstance(interfaces, Mapping) else {name: {} for name in interfaces}
    return {name: own for name, own in given.items() if not is_of_stream(name)}


def _refuse_silence(entries: Iterable[QueryEntry], sink: DiagnosticSink) -> None:
    """Report a set of which nothing would be seen."""
    for entry in entries:
        option = entry.node.option("visibility")
        if option is not None and not (entry.library or entry.within):
            message = "no query here is an output: every one says visibility internal"
            hint = "leave it out of the query whose rows are wanted"
            sink.error("no-output", message, option.span, hint)
            return


def _library(given: str | PathLike[str] | Mapping[str, str] | None) -> Library | None:
    return given if given is None or isinstance(given, Mapping) else Path(given)


def _check_all(
    entries: Sequence[QueryEntry], of_run: Tables, given: GivenParameters
) -> list[CheckedQuery]:
    outputs = {entry.key: QueryOutput(entry.node.name, None) for entry in entries}
    public = {entry.key: outputs[entry.key] for entry in entries if entry.within is None}
    found = []
    for entry in entries:
        visible = {**public, **_beside(entry, outputs)}
        tables = replace(of_run, queries=visible, readers=_readers(entry, entries))
        if entry.is_broken:
            _check_rest(entry, tables, given)
            continue
        own = DiagnosticSink()
        checked = _check_query(entry, replace(tables, sink=own), given)
        _tell(own, of_run.sink)
        if checked is not None:
            found.append(checked)
            outputs[entry.key] = QueryOutput(entry.node.name, checked.schema)
            if entry.within is None:
                public[entry.key] = outputs[entry.key]
    given.report_unwanted(of_run.sink)
    return found


def _tell(own: DiagnosticSink, sink: DiagnosticSink) -> None:
    """What is wrong in a query; a name that FROM has not is missing there once."""
    missing = set()
    for item in own.diagnostics:
        if item.code == "unknown-source" and item.message in missing:
            continue
        missing.add(item.message)
        sink.add(item)
    sink.suppressed += own.suppressed


def _readers(
    entry: QueryEntry, entries: Sequence[QueryEntry]
) -> Sequence[tuple[ast.Query, ast.Table]]:
    """The queries that read this one, and where."""
    if not isinstance(entry.node.body, ast.MergeStatement):
        return ()
    reads = ((each.node, *read) for each in entries for read in each.reads)
    return [(node, table) for node, table, key in reads if key == entry.key]


def _beside(entry: QueryEntry, outputs: Mapping[str, QueryOutput]) -> dict[str, QueryOutput]:
    """What this query means by the names in its FROM, where that is not what others mean."""
    return {table.name.lower(): outputs[key] for table, key in entry.reads if key in outputs}


_SURE = (
    *("unknown-function", "unknown-table", "unknown-interface", "unknown-set", "unknown-type"),
    *("wrong-type", "wrong-arguments", "division-by-zero", "bad-option", "misplaced-aggregate"),
)
"""What is wrong whatever else a query says: not a name that a part which is missing may give."""


def _check_rest(entry: QueryEntry, tables: Tables, given: GivenParameters) -> None:
    """Report what is surely wrong in a query of which parts could not be read."""
    own = DiagnosticSink()
    _check_query(entry, replace(tables, sink=own), given)
    for item in own.diagnostics:
        if item.code in _SURE or item.severity == "warning":
            tables.sink.add(item)


def _refuse_without_packets(query: ast.Query, tables: Tables) -> None:
    """Report what is said of packets by a query that reads rows alone."""
    named = (
        table
        for item in flat_sources(query.body.sources)
        for table in (item.branches if isinstance(item, ast.UnionItem) else (item,))
    )
    names = [table.name for table in named if isinstance(table, ast.Table)]
    rows = [n for n in names if n.lower() in tables.queries and not tables.catalog.protocol(n)]
    if not names or len(rows) < len(names):
        return
    for name in ("decapsulate", "defragment", "tcp_order"):
        option = query.option(name)
        if option is not None:
            message = f"{name} is of packets, and this query reads none"
            hint = "in the query that reads the packets"
            tables.sink.error("bad-option", message, option.span, hint)


def _check_query(entry: QueryEntry, tables: Tables, given: GivenParameters) -> CheckedQuery | None:
    query, sink = entry.node, tables.sink
    # a WITH's queries have the parameters of the one that they stand in, which reports them
    asked, told = (query, sink) if entry.within is None else (entry.within, DiagnosticSink())
    options = bind_options(query, sink)
    tables = replace(tables, decapsulation=options.decapsulate, reassembly=options.reassembly)
    if options.decapsulate is not None or options.reassembly is not None:
        _refuse_without_packets(query, tables)
    context = BindingContext(
        sink=sink,
        catalog=tables.catalog,
        parameters=bind_parameters(asked, given, tables.catalog, told),
        defines={entry.name.lower(): entry.value for entry in query.defines},
        properties=tables.properties,
        aggregate_names=NAMES,
        is_finite=tables.is_finite,
    )
    if isinstance(query.body, ast.SelectStatement):
        return bind_select(query, query.body, context, tables, options)
    return bind_merge(query, query.body, context, tables, options)

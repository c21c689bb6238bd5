# SPDX-License-Identifier: Apache-2.0
"""FROM: tables to sources, and to the names that they bring (GSQL section 6, last lines)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gigastream.gsql.binder.columns import schema_of
from gigastream.gsql.binder.names import PacketNames, SourceNames, StreamNames
from gigastream.gsql.binder.packet_rows import columns_of, fields_like
from gigastream.gsql.catalog.catalog import Catalog, Protocol
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.queries import (
    OutputColumn,
    PacketRows,
    ProtocolSource,
    QuerySource,
    Source,
    UnionSource,
)
from gigastream.gsql.reassembly import Reassembly
from gigastream.gsql.stream_names import is_of_stream, stream_interface
from gigastream.gsql.syntax import ast
from gigastream.gsql.tunnels import Decapsulation
from gigastream.gsql.types import Column, Schema, Temporal
from gigastream.late_dataclass import dataclass, replace

LOCAL_HOSTS = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class QueryOutput:
    """A query of the set that FROM may name; no schema where it was wrong, and reported."""

    name: str
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class Tables:
    """All that a query's FROM may name."""

    catalog: Catalog
    sink: DiagnosticSink
    queries: Mapping[str, QueryOutput]
    """Those that were checked before, by lower-case name, and by `lib/query`."""
    interfaces: frozenset[str] | None = None
    """Known interfaces; None where they are not known yet."""
    is_finite: bool = False
    """All input has an end."""
    opens_lists: bool = False
    """A watchlist may be named by its file."""
    properties: Mapping[str, Mapping[str, str]] | None = None
    """Of the interfaces of packets; None where they are not known yet."""
    readers: Sequence[tuple[ast.Query, ast.Table]] = ()
    """Who reads the query that is checked, and where in its FROM."""
    decapsulation: Decapsulation | None = None
    """The tunnels that the query opens."""
    reassembly: Reassembly | None = None
    """What the query puts together."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A FROM item: its names, and the source once all names that are used are known."""

    node: ast.Table | ast.UnionItem
    names: SourceNames
    build: Callable[[], Source] | None
    """None where the item was wrong, and reported."""

    @property
    def is_packets(self) -> bool:
        return isinstance(self.names, PacketNames)


@dataclass(frozen=True, slots=True)
class _Branch:
    """One table: packets of a protocol, or the output of a query."""

    table: ast.Table
    protocol: Protocol | None = None
    interface_set: str = ""
    interface: str = ""
    query: QueryOutput | None = None
    packets: PacketNames | None = None
    """Of packets that are read as rows, with `columns`."""
    columns: tuple[OutputColumn, ...] = ()

    @property
    def schema(self) -> Schema | None:
        """Of the rows that it gives."""
        if self.packets is not None:
            return schema_of(self.columns)
        return None if self.query is None else self.query.schema

    def source(self, names: SourceNames) -> ProtocolSource | QuerySource | PacketRows:
        if self.packets is not None:
            return PacketRows(self._packets(self.packets), self.columns)
        if not isinstance(names, PacketNames):
            return QuerySource(self.query.name if self.query else "")
        return self._packets(names)

    def _packets(self, names: PacketNames) -> ProtocolSource:
        assert self.protocol is not None
        return ProtocolSource(
            protocol=self.protocol.name,
            interface_set=self.interface_set,
            interface=self.interface,
            base_protocol=self.protocol.base_protocol,
            required=names.required(self.protocol),
            headers=self.protocol.headers,
            decapsulation=names.decapsulation,
            reassembly=names.reassembly,
            narrowed_to="" if names.narrowed is None else names.narrowed.name,
        )


def bind_source(node: ast.FromItem, index: int, tables: Tables) -> SourceItem:
    """The source that a table or union is."""
    assert isinstance(node, ast.Table | ast.UnionItem)
    nodes = node.branches if isinstance(node, ast.UnionItem) else (node,)
    branches = [_branch(table, tables) for table in nodes]
    good = [branch for branch in branches if branch is not None]
    if len(good) < len(branches):
        return _broken(node, index)
    if len(good) == 1:
        names = _names(good[0], index, node.alias, tables)
        return SourceItem(node, names, lambda: good[0].source(names))
    return _union(node, good, index, tables)


def _broken(node: ast.Table | ast.UnionItem, index: int) -> SourceItem:
    tables = node.branches if isinstance(node, ast.UnionItem) else (node,)
    return SourceItem(node, SourceNames(index, [table.name for table in tables], node.alias), None)


def _names(branch: _Branch, index: int, alias: str | None, tables: Tables) -> SourceNames:
    shown = [branch.table.name]
    if branch.protocol is not None:
        return _packet_names(index, shown, alias, [branch.protocol], tables)
    if branch.query is None or branch.query.schema is None:
        return SourceNames(index, shown, alias)
    return StreamNames(index, shown, alias, branch.query.schema)


def _packet_names(
    index: int,
    shown: Sequence[str],
    alias: str | None,
    protocols: Sequence[Protocol],
    tables: Tables,
) -> PacketNames:
    names = PacketNames(index, shown, alias, protocols, tables.catalog)
    names.decapsulation = tables.decapsulation
    names.reassembly = tables.reassembly
    return names


# One table


def _branch(table: ast.Table, tables: Tables) -> _Branch | None:
    protocol = tables.catalog.protocol(table.name)
    if protocol is not None:
        return _packets(table, protocol, tables)
    query = tables.queries.get(table.name.lower())
    if query is not None:
        return _output(table, query, tables.sink)
    stream = tables.catalog.streams.get(table.name.lower())
    if stream is not None:
        return _records(table, stream.protocol, tables)
    _report_unknown(table, tables)
    return None


def _output(table: ast.Table, query: QueryOutput, sink: DiagnosticSink) -> _Branch | None:
    if table.interface is not None or table.interface_set is not None:
        message = f"{table.name} is a query: it is read over no interface"
        sink.error("wrong-source", message, table.interface_span, "leave the interface out")
        return None
    return None if query.schema is None else _Branch(table, query=query)


def _records(table: ast.Table, protocol: Protocol, tables: Tables) -> _Branch | None:
    """The records of a STREAM, which come by an interface of their own."""
    sink, interface = tables.sink, stream_interface(protocol.name)
    if table.interface is not None or table.interface_set is not None:
        message = f"{table.name} is a STREAM: it is read over no interface"
        sink.error("wrong-source", message, table.interface_span, "leave the interface out")
        return None
    if tables.interfaces is not None and interface not in tables.interfaces:
        message = f"nothing says where the records of {protocol.name} come from"
        hint = f"--stream {protocol.name}=FILE, or a folder, or tcp://HOST:PORT"
        sink.error("no-source", message, table.name_span, hint)
        return None
    return _Branch(table, protocol, interface=interface)


def _packets(table: ast.Table, protocol: Protocol, tables: Tables) -> _Branch | None:
    if table.host is not None and table.host.lower() not in LOCAL_HOSTS:
        return _of_host(table, protocol, tables)
    if table.interface_set is not None:
        if _is_set(table.interface_set, tables):
            return _Branch(table, protocol, interface_set=table.interface_set)
        _report_set(table, table.interface_set, tables)
        return None
    if table.interface is None:
        return _Branch(table, protocol, interface_set="default")
    return _over_interface(table, protocol, table.interface, tables)


def _over_interface(
    table: ast.Table, protocol: Protocol, name: str, tables: Tables
) -> _Branch | None:
    """An interface, or a set without brackets: known sets go first."""
    known = tables.interfaces
    if name.lower() in tables.catalog.interface_sets:
        return _Branch(table, protocol, interface_set=name)
    if known is None or name in known:
        return _Branch(table, protocol, interface=name)
    sets = [item.name for item in tables.catalog.interface_sets.values()]
    hint = did_you_mean(name, [*known, *sets])
    links = sorted(each for each in known if not is_of_stream(each))
    hint = hint or f"known are {', '.join(links) or 'none'}: -r {name}=FILE gives one"
    tables.sink.error("unknown-interface", f"no interface {name}", table.interface_span, hint)
    return None


def _of_host(table: ast.Table, protocol: Protocol, tables: Tables) -> _Branch | None:
    """`'host'.iface.P`: the interface here whose packets come from there, as its properties say."""
    if tables.properties is None:
        message = f"which interfaces are of the host {table.host} is not known"
        hint = "-c FILE.toml names a configuration with their properties, [interface.NAME]"
        tables.sink.error("unknown-interface", message, table.span, hint)
        return None
    known = [
        name
        for name, own in tables.properties.items()
        if own.get("host", "").lower() == (table.host or "").lower()
        and own.get("name", name) == table.interface
    ]
    if len(known) == 1:
        return _Branch(table, protocol, interface=known[0])
    what = "several interfaces here are" if known else "no interface here is"
    message = f"{what} {table.interface} of the host {table.host}"
    hint = "[interface.NAME] of a configuration says so: host = 'HOST', and name = 'IFACE' there"
    tables.sink.error("unknown-interface", message, table.span, hint)
    return None


def _is_set(name: str, tables: Tables) -> bool:
    return name.lower() == "default" or name.lower() in tables.catalog.interface_sets


def _report_set(table: ast.Table, name: str, tables: Tables) -> None:
    sets = ["default", *(item.name for item in tables.catalog.interface_sets.values())]
    hint = did_you_mean(name, sets)
    if hint is None and tables.interfaces is not None and name in tables.interfaces:
        hint = f"it is an interface: write {name}.{table.name}"
    hint = hint or f"sets are {', '.join(sets)}"
    tables.sink.error("unknown-set", f"no interface set {name}", table.interface_span, hint)


def _report_unknown(table: ast.Table, tables: Tables) -> None:
    catalog = tables.catalog
    protocols = [protocol.name for protocol in catalog.protocols.values()]
    queries = [query.name for query in tables.queries.values() if query.name]
    streams = [stream.name for stream in catalog.streams.values()]
    hint = did_you_mean(table.name, [*protocols, *queries, *streams])
    if hint is None:
        hint = f"protocols are {', '.join(protocols)}"
        hint += f"; queries are {', '.join(queries)}" if 1 < len(queries) <= 8 else ""
    message = f"no protocol or query {table.name}"
    tables.sink.error("unknown-table", message, table.name_span, hint)


# Unions


def _union(
    node: ast.Table | ast.UnionItem, branches: list[_Branch], index: int, tables: Tables
) -> SourceItem:
    branches = [_with_columns(branch, tables.catalog) for branch in branches]
    protocols = [branch.protocol for branch in branches if branch.schema is None]
    shown = [branch.table.name for branch in branches]
    if len(protocols) < len(branches):
        return _union_of_rows(node, branches, index, tables)
    kinds = [protocol for protocol in protocols if protocol is not None]
    names = _packet_names(index, shown, node.alias, kinds, tables)
    return SourceItem(
        node, names, lambda: UnionSource(tuple(branch.source(names) for branch in branches))
    )


def _union_of_rows(
    node: ast.Table | ast.UnionItem, branches: list[_Branch], index: int, tables: Tables
) -> SourceItem:
    """Of queries, STREAMs, and perhaps packets: of these the fields named as their columns."""
    queries = [branch for branch in branches if branch.schema is not None]
    like = _shared_schema(queries, tables.sink)
    if like is None:
        return _broken(node, index)
    rows = [_rows(branch, like, tables) for branch in branches]
    good = [branch for branch in rows if branch is not None]
    schema = _shared_schema(good, tables.sink) if len(good) == len(branches) else None
    if schema is None:
        return _broken(node, index)
    names = StreamNames(index, [branch.table.name for branch in branches], node.alias, schema)
    return SourceItem(
        node, names, lambda: UnionSource(tuple(branch.source(names) for branch in good))
    )


def _with_columns(branch: _Branch, catalog: Catalog) -> _Branch:
    """The records of a STREAM have all its columns, in their order; others are as they are."""
    if branch.protocol is None or not branch.protocol.is_stream:
        return branch
    names = PacketNames(0, [branch.table.name], None, [branch.protocol], catalog)
    columns = columns_of(names, names.everything(branch.table.name_span))
    return replace(branch, packets=names, columns=columns)


def _rows(branch: _Branch, like: Schema, tables: Tables) -> _Branch | None:
    """A branch that gives rows of these columns; packets give their fields of these names."""
    if branch.schema is not None or branch.protocol is None:
        return branch
    names = _packet_names(0, [branch.table.name], None, [branch.protocol], tables)
    columns = fields_like(names, like, branch.table.name_span, tables.sink)
    return None if columns is None else replace(branch, packets=names, columns=columns)


def _shared_schema(branches: list[_Branch], sink: DiagnosticSink) -> Schema | None:
    """The first input's columns, as far as all inputs agree on what they promise."""
    schemas = [branch.schema for branch in branches]
    shared = schemas[0]
    for branch, schema in zip(branches[1:], schemas[1:], strict=True):
        if shared is None or schema is None:
            return None
        shared = _met(branch, shared, schema, sink)
    return shared


def _met(branch: _Branch, left: Schema, right: Schema, sink: DiagnosticSink) -> Schema | None:
    if len(left.columns) != len(right.columns):
        counts = f"{_columns(right)}, what stands before it {_columns(left)}"
        message = f"{branch.table.name} has {counts}"
        _refuse_union(branch, message, sink)
        return None
    for position, (a, b) in enumerate(zip(left.columns, right.columns, strict=True), 1):
        if a.type is not b.type:
            message = (
                f"column {position} of {branch.table.name}, {b.name}, is {b.type}, not {a.type}"
            )
            _refuse_union(branch, message, sink)
            return None
    pairs = zip(left.columns, right.columns, strict=True)
    return Schema(tuple(met_column(a, b) for a, b in pairs))


def _columns(schema: Schema) -> str:
    count = len(schema.columns)
    return f"{count} column" if count == 1 else f"{count} columns"


def _refuse_union(branch: _Branch, message: str, sink: DiagnosticSink) -> None:
    hint = "the inputs of a UNION have the same columns in the same places; CAST(x AS type)"
    sink.error("different-schemas", message, branch.table.name_span, hint)


def met_column(a: Column, b: Column) -> Column:
    """A union's column is temporal only if it is so, in one direction, in every input."""
    return replace(
        a,
        temporal=a.temporal if a.temporal is b.temporal else Temporal.VARYING,
        nullable=a.nullable or b.nullable,
        subtype=a.subtype if a.subtype == b.subtype else "",
        clock=a.clock if a.clock == b.clock else "",
    )

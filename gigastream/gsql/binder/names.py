# SPDX-License-Identifier: Apache-2.0
"""What the names in a query mean: fields of packets, columns of streams, group variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence

from gigastream.gsql.catalog.catalog import Catalog, Field, Protocol
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.expressions import ColumnRef, Expression, FieldRef
from gigastream.gsql.other_sql import column_hint
from gigastream.gsql.reassembly import Reassembly
from gigastream.gsql.source import Span
from gigastream.gsql.stream_names import is_of_stream
from gigastream.gsql.syntax import ast
from gigastream.gsql.tunnels import Decapsulation
from gigastream.gsql.types import Schema, Type
from gigastream.late_dataclass import dataclass, field, replace

WINDOW_COLUMNS = ("window_start", "window_end", "wid_start", "wid_end")
"""The columns that a window adds."""

OUTER = "outer_"
"""What the fields of the packet around a decapsulated one begin with."""

RECORD_CAPLEN = "record_caplen"
"""The accessor of `caplen` where the packet's own bytes end with those that a tunnel carries."""

_ALL_OUTER = "DataProtocol"
"""The protocol whose fields the outer packet may have."""

FAMILIES = {4: "IPV4", 6: "IPV6"}
"""The protocol of the packets with this `ipversion`."""


Qualifier = tuple[str, ...]
"""What stands before the name of a column."""

Equated = Mapping[str, Sequence[frozenset[Qualifier]]]
"""Names, in lower case, and the sources of which conditions say that they have the same."""


class SourceNames:
    """The columns of one FROM item. This class alone is an item that was wrong, and reported."""

    is_known = False

    def __init__(self, index: int, tables: Sequence[str], alias: str | None) -> None:
        self.index = index
        self.tables = tables
        """One, or the branches of a union."""
        self.alias = alias

    @property
    def shown(self) -> str:
        """How a message calls it."""
        return self.alias or " UNION ".join(dict.fromkeys(self.tables))

    def is_called(self, qualifier: Sequence[str]) -> bool:
        """True if the qualifier is its alias, or a table's name that no alias stands for."""
        alias = self.alias
        return (
            self.answers_to(qualifier) and (alias or qualifier[-1]).lower() == qualifier[-1].lower()
        )

    def answers_to(self, qualifier: Sequence[str]) -> bool:
        """True if `alias.col` or `Table.col` can mean this item."""
        names = {name.lower() for table in self.tables for name in (table, _base_name(table))}
        if self.alias is not None:
            names.add(self.alias.lower())
        return qualifier[-1].lower() in names

    def find(self, name: str, span: Span) -> Expression | None:
        """The column of that name, as an expression."""
        return None

    def everything(self, span: Span) -> list[tuple[str, Expression]]:
        """The columns that `*` stands for."""
        return []

    @property
    def names(self) -> list[str]:
        """The names that a misspelt one may have been meant as."""
        return []


def _base_name(table: str) -> str:
    """What a library query is called beside its folder."""
    return table.rsplit("/", 1)[-1]


class StreamNames(SourceNames):
    """The columns of another query's output."""

    is_known = True

    def __init__(
        self, index: int, tables: Sequence[str], alias: str | None, schema: Schema
    ) -> None:
        super().__init__(index, tables, alias)
        self.schema = schema

    def find(self, name: str, span: Span) -> Expression | None:
        position = self.schema.index(name)
        return None if position is None else self._column(position, span)

    def everything(self, span: Span) -> list[tuple[str, Expression]]:
        columns = enumerate(self.schema.columns)
        return [(column.name, self._column(position, span)) for position, column in columns]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.schema.columns]

    def _column(self, position: int, span: Span) -> ColumnRef:
        return ColumnRef.to(self.schema.columns[position], position, port=self.index, span=span)


class PacketNames(SourceNames):
    """The fields of packets: of one protocol, or those that all protocols of a union share."""

    is_known = True

    def __init__(
        self,
        index: int,
        tables: Sequence[str],
        alias: str | None,
        protocols: Sequence[Protocol],
        catalog: Catalog,
    ) -> None:
        super().__init__(index, tables, alias)
        self.protocols = protocols
        self.catalog = catalog
        self.decapsulation: Decapsulation | None = None
        """The tunnels that are opened; without any the packets have no outer fields."""
        self.reassembly: Reassembly | None = None
        self.narrowed: Protocol | None = None
        """IPV4 or IPV6, where WHERE lets no other packet through."""
        self._used: dict[str, FieldRef] = {}

    def find(self, name: str, span: Span) -> Expression | None:
        found = self._field(name)
        if found is None:
            return None
        reference = self._reference(found, span)
        self._used.setdefault(reference.accessor, reference)
        return reference

    def everything(self, span: Span) -> list[tuple[str, Expression]]:
        """All fields; what a packet lacks of them is NULL, for `*` names none."""
        chosen: list[tuple[str, Expression | None]] = []
        for item in self._shared:
            found = self._field(item.name)
            if found is None or item.alias_of or item.is_unlisted:
                continue
            if found.required or self._reference(found, span).accessor in self._used:
                chosen.append((item.name, self.find(item.name, span)))
            else:
                reference = self._reference(found, span)
                chosen.append((item.name, replace(reference, is_optional=True, nullable=True)))
        return [(name, reference) for name, reference in chosen if reference is not None]

    def chosen(self, wanted: Container[str], span: Span) -> list[tuple[str, Expression]]:
        """The fields, and their other names, that are among these, in lower case."""
        names = [item.name for item in self._shared if item.name.lower() in wanted]
        found = [(name, self.find(name, span)) for name in names]
        return [(name, reference) for name, reference in found if reference is not None]

    @property
    def names(self) -> list[str]:
        return [item.name for item in self._shared]

    @property
    def are_records(self) -> bool:
        """Whether they are those of a STREAM, which have columns in an order."""
        return self.protocols[0].is_stream

    def required(self, protocol: Protocol) -> tuple[FieldRef, ...]:
        """What a packet must have to be a tuple of `protocol` for this query (GSQL section 2)."""
        needed = {
            reference.accessor: reference
            for reference in self._used.values()
            if not self._is_certain(reference)
        }
        for item in protocol.fields.values():
            if item.required and not self._is_builtin(item):
                needed.setdefault(item.accessor, self._reference(item, protocol.span))
        return tuple(needed.values())

    def declared(self, reference: FieldRef) -> Field:
        """The declaration of a field that was found here."""
        if reference.field.startswith(OUTER):
            outer = outer_field(reference.field, self.catalog)
            if outer is not None:
                return outer
        accessor = "caplen" if reference.accessor == RECORD_CAPLEN else reference.accessor
        places = [*self.protocols, *([] if self.narrowed is None else [self.narrowed])]
        for protocol in places:
            for item in protocol.fields.values():
                if (item.accessor, item.name) == (accessor, reference.field):
                    return item
        raise KeyError(reference.field)

    @property
    def _shared(self) -> list[Field]:
        return [item for item in self.protocols[0].fields.values() if self._field(item.name)]

    def _field(self, name: str) -> Field | None:
        found = [protocol.field(name) for protocol in self.protocols]
        first = found[0]
        if first is None and self.decapsulation is not None:
            return outer_field(name, self.catalog)
        if first is None or any(other is None or other != first for other in found):
            return None
        if self.decapsulation is not None and first.accessor == "caplen":
            return replace(first, accessor=RECORD_CAPLEN)
        return self._narrow(first)

    def _narrow(self, item: Field) -> Field:
        """Of two families' fields the one of the family that alone is left: four bytes, not 16."""
        if self.narrowed is None or item.protocol != "IP" or item.name == "ipversion":
            return item
        own = self.narrowed.field(item.name)
        return item if own is None else own

    def _reference(self, item: Field, span: Span) -> FieldRef:
        return FieldRef(
            type=item.type,
            temporal=item.temporal,
            protocol=item.protocol,
            field=item.alias_of or item.name,
            accessor=item.accessor,
            cost=self._cost(item),
            port=self.index,
            clock=item.clock,
            span=span,
        )

    def _cost(self, item: Field) -> int:
        """That of the cheapest function that unpacks it, where it needs one."""
        functions = self.catalog.unpack_functions
        return min((functions[name.lower()].cost for name in item.unpack), default=1)

    def _is_certain(self, reference: FieldRef) -> bool:
        item = self.declared(reference)
        return item.required and self._is_builtin(item)

    def _is_builtin(self, item: Field) -> bool:
        declaring = self.catalog.protocol(item.protocol)
        is_builtin = declaring is not None and declaring.is_builtin
        return is_builtin or is_of_stream(item.protocol)


def outer_field(name: str, catalog: Catalog) -> Field | None:
    """What `outer_srcIP` is: the field of the packet that was captured, around the tunnel's.

    Those of links, of both IP families and of ports have such a form; the record's (`time`, `len`)
    are the inner packet's, too.
    """
    everything = catalog.protocol(_ALL_OUTER)
    if not name.lower().startswith(OUTER) or everything is None:
        return None
    item = everything.field(name[len(OUTER) :])
    if item is None or item.protocol == "PKT" or item.type is Type.STRING:
        return None
    return replace(
        item,
        name=OUTER + item.name,
        accessor=OUTER + item.accessor,
        alias_of=OUTER + item.alias_of if item.alias_of else "",
        required=False,
        snap_len=None,
    )


def narrow(names: PacketNames, version: int) -> None:
    """Let the fields of both IP families be those of one."""
    if all("ip" in protocol.ancestors for protocol in names.protocols):
        names.narrowed = names.catalog.protocol(FAMILIES.get(version, ""))


@dataclass(frozen=True, slots=True)
class Scope:
    """Which names an expression may use."""

    sources: tuple[SourceNames, ...]
    variables: Mapping[str, Expression | None] = field(default_factory=dict)
    """What the names of group variables stand for, in lower case; they go before columns. None is
    one that was wrong, and reported."""
    aliases: Mapping[str, Expression | None] = field(default_factory=dict)
    """Names of the SELECT list; they go behind columns."""
    is_windowed: bool = False
    """There is a window, whose ends have names."""
    equated: Equated = field(default_factory=dict)
    """Columns, in lower case, that a join's predicate equates: either side's will do."""
    seen: Callable[[Sequence[Expression]], Expression] | None = None
    """What a column is where rows are joined; several are columns that a join equates."""

    def resolve(self, node: ast.Name, sink: DiagnosticSink) -> Expression | None:
        """The meaning of a name; an error if it has none, or several."""
        key = node.name.lower()
        if not node.qualifier and key in self.variables:
            return _at(self.variables[key], node.span)
        candidates = self.candidates(node.qualifier)
        if not candidates:
            _report_qualifier(node, self.sources, sink)
            return None
        found = [(source, source.find(node.name, node.span)) for source in candidates]
        good = [(source, item) for source, item in found if item is not None]
        if len(good) > 1 and not self.are_equated(key, [source for source, _ in good]):
            _report_ambiguous(node, [source for source, _ in good], sink)
            return None
        if good:
            return self.as_seen([item for _, item in good])
        if not node.qualifier and key in self.aliases:
            return _at(self.aliases[key], node.span)
        if self.is_windowed and not node.qualifier and key in WINDOW_COLUMNS:
            message = f"{node.name} is the window's: no row has it before the window is complete"
            hint = "SELECT, HAVING and ORDER BY may name it; the window groups without being named"
            sink.error("misplaced-window", message, node.span, hint)
        elif self._is_outer(node, candidates):
            message = f"{node.name} is of the packet that a tunnel's came in, and none is opened"
            hint = "DEFINE { decapsulate 'gre'; }, or vxlan, all, …"
            sink.error("unknown-column", message, node.span, hint)
        elif all(source.is_known for source in candidates):
            self._report_unknown(node, candidates, sink)
        return None

    def are_equated(self, key: str, sources: Sequence[SourceNames]) -> bool:
        """Whether the columns of that name are the same in all of these."""
        return any(
            all(any(source.answers_to(qualifier) for qualifier in group) for source in sources)
            for group in self.equated.get(key, ())
        )

    def candidates(self, qualifier: Sequence[str]) -> Sequence[SourceNames]:
        """The FROM items that a qualifier may mean; in a self-join the one that it is called."""
        if not qualifier:
            return self.sources
        called = [source for source in self.sources if source.is_called(qualifier)]
        return called or [source for source in self.sources if source.answers_to(qualifier)]

    def everything(
        self, sources: Sequence[SourceNames], span: Span
    ) -> list[tuple[str, Expression]]:
        """The columns that `*` stands for; a name that several sources have tells its source."""
        pairs = [(source, *pair) for source in sources for pair in source.everything(span)]
        counts = Counter(name.lower() for _, name, _ in pairs)
        return [
            (
                name if counts[name.lower()] == 1 else f"{source.shown}_{name}",
                self.as_seen([expression]),
            )
            for source, name, expression in pairs
        ]

    def as_seen(self, columns: Sequence[Expression]) -> Expression:
        """A source's column, or one of several that are equated, in the rows that are spoken of."""
        return columns[0] if self.seen is None else self.seen(columns)

    def _is_outer(self, node: ast.Name, candidates: Sequence[SourceNames]) -> bool:
        """True of a field that packets would have if a tunnel were opened."""
        packets = [source for source in candidates if isinstance(source, PacketNames)]
        return any(outer_field(node.name, source.catalog) for source in packets)

    def _report_unknown(
        self, node: ast.Name, candidates: Sequence[SourceNames], sink: DiagnosticSink
    ) -> None:
        where = " or ".join(source.shown for source in candidates)
        names = [name for source in candidates for name in source.names]
        variables = [] if node.qualifier else [*self.variables, *self.aliases]
        hint = column_hint(node.name, names) or _of_other_protocols(node.name, candidates)
        hint = hint or did_you_mean(node.name, [*names, *variables])
        if hint is None:
            hint = _all_columns(candidates, names)
        sink.error("unknown-column", f"{where} has no column {node.name}", node.span, hint)


def _of_other_protocols(name: str, sources: Sequence[SourceNames]) -> str | None:
    """The protocols that have a field of packets which these lack."""
    for source in sources:
        if not isinstance(source, PacketNames) or len(source.protocols) > 1:
            continue
        if source.protocols[0].is_stream:
            continue
        every = source.catalog.protocols.values()
        names = [p.name for p in every if p.field(name) is not None and not p.is_stream]
        return f"{', '.join(names)} {'have' if len(names) > 1 else 'has'} it" if names else None
    return None


def _all_columns(sources: Sequence[SourceNames], names: Sequence[str]) -> str | None:
    """Where to read which columns there are."""
    if len(names) <= 12:
        return f"it has {', '.join(names)}"
    tables = dict.fromkeys(table for source in sources for table in source.tables)
    if len(sources) == 1 and len(tables) > 1:
        return (
            "a union of protocols has the fields of a protocol that all are made on; for others "
            "name queries: SELECT … FROM each"
        )
    packets = all(isinstance(source, PacketNames) for source in sources)
    return f"`gigastream fields {next(iter(tables))}` lists them" if packets else None


def _at(expression: Expression | None, span: Span) -> Expression | None:
    return None if expression is None else replace(expression, span=span)


def _report_qualifier(node: ast.Name, sources: Sequence[SourceNames], sink: DiagnosticSink) -> None:
    name = ".".join(node.qualifier)
    known = [source.shown for source in sources]
    hint = did_you_mean(name, known) or f"FROM has {', '.join(known)}"
    sink.error("unknown-source", f"{name} does not stand in FROM", node.span, hint)


def _report_ambiguous(node: ast.Name, sources: Sequence[SourceNames], sink: DiagnosticSink) -> None:
    places = [f"{source.shown}.{node.name}" for source in sources]
    message = f"{node.name} is ambiguous: it is {' and '.join(places)}"
    is_one = len(set(places)) == 1
    hint = "give each source its own name" if is_one else f"write {places[0]}"
    sink.error("ambiguous-name", message, node.span, hint)

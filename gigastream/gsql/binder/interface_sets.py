# SPDX-License-Identifier: Apache-2.0
"""Interface sets: predicates over the properties of interfaces (GSQL section 6, last lines).

    main : Contains[type, pcap] and not Equals[role, 'backup'];

Contains: the property is a list with the word in it, `a,b,c`; Equals: it is the word; Exists: the
interface has it. The property `name` is the interface's name, unless it is given another value.
The set `default`, where nothing defines it, is every interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.queries import (
    CheckedQuery,
    JoinSource,
    PacketRows,
    ProtocolSource,
    Source,
    UnionSource,
)
from gigastream.gsql.source import Span
from gigastream.gsql.stream_names import is_of_stream
from gigastream.gsql.syntax import ast, declarations
from gigastream.late_dataclass import replace
from gigastream.timestamps import IN_ORDER

Properties = Mapping[str, str]


def bind_interfaces(
    queries: Sequence[CheckedQuery],
    sets: Mapping[str, declarations.InterfaceSet],
    interfaces: Mapping[str, Properties],
    sink: DiagnosticSink,
) -> list[CheckedQuery]:
    """The queries with the interfaces of each set; errors, an empty set among them, to the sink.

    `sets` are those that are defined, by lower-case name; `interfaces` all that there are.
    """
    binder = _Binder(sets, interfaces, sink)
    return [replace(query, sources=binder.sources(query)) for query in queries]


class _Binder:
    """The sets of one run, each evaluated once."""

    def __init__(
        self,
        sets: Mapping[str, declarations.InterfaceSet],
        interfaces: Mapping[str, Properties],
        sink: DiagnosticSink,
    ) -> None:
        self._sets = sets
        self._interfaces = {
            name: {"name": name, **own}
            for name, own in interfaces.items()
            if not is_of_stream(name)
        }
        self._sink = sink
        self._found: dict[str, tuple[str, ...]] = {}

    def sources(self, query: CheckedQuery) -> tuple[Source, ...]:
        return tuple(self._source(source, query.span) for source in query.sources)

    def _source(self, source: Source, span: Span) -> Source:
        if isinstance(source, UnionSource):
            parts = tuple(self._source(part, span) for part in source.inputs)
            return UnionSource(parts)  # type: ignore[arg-type]
        if isinstance(source, PacketRows):
            packets = self._source(source.source, span)
            return replace(source, source=packets)  # type: ignore[arg-type]
        if isinstance(source, JoinSource):
            left, right = (replace(i, source=self._source(i.source, span)) for i in source.inputs)
            return replace(source, inputs=(left, right))
        if not isinstance(source, ProtocolSource):
            return source
        if not source.interface and source.interface_set.lower() in self._sets:
            source = replace(source, interfaces=self._members(source.interface_set, span))
        return replace(source, is_in_order=self._is_in_order(source))

    def _is_in_order(self, source: ProtocolSource) -> bool:
        """By construction: this host's clock stamps them as it reads them (OPERATORS section 1)."""
        if source.reassembly is not None and source.reassembly.segments:
            return False
        names = [source.interface] if source.interface else source.interfaces or self._interfaces
        return [IN_ORDER in self._interfaces.get(name, {}) for name in names] == [True]

    def _members(self, name: str, span: Span) -> tuple[str, ...]:
        key = name.lower()
        if key not in self._found:
            self._found[key] = self._evaluated(self._sets[key], span)
        return self._found[key]

    def _evaluated(self, item: declarations.InterfaceSet, span: Span) -> tuple[str, ...]:
        errors = self._sink.error_count
        members = tuple(
            name
            for name, properties in self._interfaces.items()
            if _holds(item.predicate, properties, self._sink)
        )
        if not members and self._sink.error_count == errors:
            message = f"no interface is in the set {item.name}"
            hint = f"interfaces are {', '.join(self._interfaces)}; [interface.NAME] of a"
            hint += " configuration file gives one its properties"
            self._sink.error("empty-set", message, span, hint)
        return members


def _holds(node: ast.SyntaxExpression, properties: Properties, sink: DiagnosticSink) -> bool:
    if isinstance(node, ast.Logical):
        parts = [_holds(operand, properties, sink) for operand in node.operands]
        return all(parts) if node.op == "AND" else any(parts)
    if isinstance(node, ast.Unary) and node.op in ("NOT", "!"):
        return not _holds(node.operand, properties, sink)
    if isinstance(node, ast.PredicateCall):
        return _called(node, properties, sink)
    message = "an interface set is made of Contains, Equals and Exists"
    sink.error("bad-interface-set", message, node.span, "Equals[role, backup]")
    return False


def _called(node: ast.PredicateCall, properties: Properties, sink: DiagnosticSink) -> bool:
    predicate = _PREDICATES.get(node.name.lower())
    if predicate is None:
        hint = did_you_mean(node.name, ("Contains", "Equals", "Exists"))
        message = f"no predicate {node.name} over interfaces"
        sink.error("bad-interface-set", message, node.name_span, hint)
        return False
    test, count, example = predicate
    words = [_word(argument) for argument in node.args]
    if len(words) != count or None in words:
        message = f"{node.name} takes {'a property and a value' if count == 2 else 'a property'}"
        sink.error("bad-interface-set", message, node.span, example)
        return False
    value = properties.get(words[0] or "")
    return value is not None and test(value, *words[1:])


def _word(node: ast.SyntaxExpression) -> str | None:
    """A property's name or a value, as a configuration file gives it."""
    if isinstance(node, ast.Name) and not node.qualifier:
        return node.name
    if isinstance(node, ast.Literal) and isinstance(node.value, str | int | float):
        text = str(node.value)
        return text.lower() if isinstance(node.value, bool) else text
    return None


def _contains(value: str, word: str) -> bool:
    return word in (item.strip() for item in value.split(","))


def _equals(value: str, word: str) -> bool:
    return value == word


def _exists(value: str) -> bool:
    return True


_PREDICATES: dict[str, tuple[Callable[..., bool], int, str]] = {
    "contains": (_contains, 2, "Contains[type, pcap]"),
    "equals": (_equals, 2, "Equals[role, backup]"),
    "exists": (_exists, 1, "Exists[role]"),
}

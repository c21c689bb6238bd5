# SPDX-License-Identifier: Apache-2.0
"""PROTOCOL blocks to protocols: inheritance without cycles or duplicate fields (GSQL section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gigastream.gsql.catalog.catalog import Field, Protocol
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.other_sql import type_hint
from gigastream.gsql.syntax import ast, declarations
from gigastream.gsql.types import (
    TYPE_NAMES,
    Temporal,
    Type,
    type_named,
)
from gigastream.late_dataclass import dataclass
from gigastream.opaque import OPAQUE_MAX, opaque_size

OPAQUE_HINT = f"fstring1 to fstring{OPAQUE_MAX} are so many bytes"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a protocol was declared."""

    is_shipped: bool
    header: str


def build_protocols(
    nodes: Iterable[declarations.ProtocolBlock],
    origins: Mapping[int, Origin],
    unpack: Mapping[str, declarations.UnpackFunction],
    sink: DiagnosticSink,
) -> dict[str, Protocol]:
    """Return the protocols by lower-case name; `origins` has the id of each node."""
    builder = _Builder(origins, unpack, sink)
    for node in nodes:
        if node.name.lower() in builder.nodes:
            message = f"a second protocol called {node.name}"
            sink.error("duplicate-name", message, node.name_span)
        builder.nodes.setdefault(node.name.lower(), node)
    for node in builder.nodes.values():
        builder.build(node)
    return {name: builder.built[name] for name in builder.nodes if name in builder.built}


def resolved_type(node: ast.TypeName, sink: DiagnosticSink) -> Type | None:
    """The type of that name; an error if there is none."""
    found = type_named(node.name)
    if found is None and opaque_size(node.name) is not None:
        message = f"{node.name.lower()} is of no size that a value has"
        sink.error("unknown-type", message, node.span, OPAQUE_HINT)
    elif found is None:
        hint = type_hint(node.name) or did_you_mean(node.name, TYPE_NAMES)
        hint = hint or f"types are {', '.join(TYPE_NAMES)}"
        sink.error("unknown-type", f"{node.name} is not a type", node.span, hint)
    return found


class _Builder:
    """Protocols under construction; bases may stand behind what inherits from them."""

    def __init__(
        self,
        origins: Mapping[int, Origin],
        unpack: Mapping[str, declarations.UnpackFunction],
        sink: DiagnosticSink,
    ) -> None:
        self.nodes: dict[str, declarations.ProtocolBlock] = {}
        self.built: dict[str, Protocol] = {}
        self._origins = origins
        self._unpack = unpack
        self._sink = sink
        self._open: list[str] = []

    def build(self, node: declarations.ProtocolBlock) -> Protocol | None:
        """Return the protocol of a node, after its bases; None where it inherits from itself."""
        key = node.name.lower()
        if key in self.built:
            return self.built[key]
        self._open.append(key)
        bases = [self._base(name) for name in node.bases]
        self._open.pop()
        protocol = self._protocol(node, [base for base in bases if base is not None])
        self.built[key] = protocol
        return protocol

    def _base(self, name: ast.Name) -> Protocol | None:
        key = name.name.lower()
        if key not in self.nodes:
            hint = did_you_mean(name.name, [node.name for node in self.nodes.values()])
            self._sink.error("unknown-name", f"no protocol {name.name}", name.span, hint)
            return None
        if key in self._open:
            way = [self.nodes[step].name for step in self._open[self._open.index(key) :]]
            cycle = " -> ".join((*way, way[0]))
            message = f"protocols inherit from each other: {cycle}"
            self._sink.error("cycle", message, name.span)
            return None
        return self.build(self.nodes[key])

    def _protocol(self, node: declarations.ProtocolBlock, bases: list[Protocol]) -> Protocol:
        origin = self._origins[id(node)]
        ancestors = frozenset({node.name.lower()}).union(*(base.ancestors for base in bases))
        headers = dict.fromkeys(header for base in bases for header in base.headers)
        if origin.header:
            headers[origin.header] = None
        return Protocol(
            name=node.name,
            bases=tuple(base.name for base in bases),
            fields=self._fields(node, bases),
            ancestors=ancestors,
            is_builtin=origin.is_shipped,
            base_protocol=node.name if origin.is_shipped else self._base_protocol(node, bases),
            headers=tuple(headers),
            span=node.name_span,
        )

    def _base_protocol(self, node: declarations.ProtocolBlock, bases: list[Protocol]) -> str:
        """The nearest built-in protocol; of several, the one that inherits from all others."""
        names = list(dict.fromkeys(base.base_protocol for base in bases if base.base_protocol))
        for name in names:
            inherited = self.built[name.lower()].ancestors
            if all(other.lower() in inherited for other in names):
                return name
        if names:
            message = f"{' and '.join(names)} are kinds of packets of which none is the other"
            self._sink.error("wrong-base", message, node.bases[0].span)
        elif not node.bases:
            hint = f"PROTOCOL {node.name} (PKT), or another protocol whose packets it is found in"
            message = f"{node.name} inherits from no protocol"
            self._sink.error("wrong-base", message, node.name_span, hint)
        return ""

    # Fields

    def _fields(self, node: declarations.ProtocolBlock, bases: list[Protocol]) -> dict[str, Field]:
        fields: dict[str, Field] = {}
        for base, name in zip(bases, node.bases, strict=False):
            for key, item in base.fields.items():
                if key in fields and fields[key] != item:
                    message = f"{item.name} is a field of {fields[key].protocol} and of {base.name}"
                    self._sink.error("duplicate-name", message, name.span)
                fields.setdefault(key, item)
        by_accessor = {item.accessor: item.name for item in reversed(list(fields.values()))}
        for declaration in node.fields:
            self._add(node, declaration, fields, by_accessor)
        return fields

    def _add(
        self,
        node: declarations.ProtocolBlock,
        declaration: declarations.FieldDeclaration,
        fields: dict[str, Field],
        by_accessor: dict[str, str],
    ) -> None:
        key = declaration.name.lower()
        if key in fields:
            where = fields[key].protocol
            also = "twice" if where == node.name else f"in {where} already, which is inherited"
            message = f"the field {declaration.name} is declared {also}"
            self._sink.error("duplicate-name", message, declaration.name_span)
            return
        item = self._field(node, declaration, by_accessor)
        if item is not None:
            fields[key] = item
            by_accessor.setdefault(item.accessor, item.name)

    def _field(
        self,
        node: declarations.ProtocolBlock,
        declaration: declarations.FieldDeclaration,
        by_accessor: Mapping[str, str],
    ) -> Field | None:
        type_ = resolved_type(declaration.type, self._sink)
        if type_ is None:
            return None
        attributes = {item.name: item for item in declaration.attributes}
        accessor = declaration.accessor or declaration.name
        return Field(
            name=declaration.name,
            type=type_,
            accessor=accessor,
            protocol=node.name,
            temporal=self._temporal(type_, attributes),
            clock=_value(attributes, "clock"),
            required="required" in attributes,
            snap_len=self._snap_len(attributes),
            subtype=_value(attributes, "subtype"),
            low_cardinality="low_cardinality" in attributes,
            is_unlisted="unlisted" in attributes,
            unpack=self._unpack_names(declaration.unpack or node.unpack),
            alias_of=by_accessor.get(accessor, ""),
            span=declaration.name_span,
        )

    def _temporal(self, type_: Type, attributes: Mapping[str, declarations.Attribute]) -> Temporal:
        named = [name for name in ("increasing", "decreasing") if name in attributes]
        if "clock" in attributes and named != ["increasing"]:
            message = "a clock is increasing"
            hint = "write (increasing, clock s)"
            self._sink.error("bad-attribute", message, attributes["clock"].span, hint)
        if len(named) == 2:
            message = "a field is increasing or decreasing, not both"
            self._sink.error("bad-attribute", message, attributes["decreasing"].span)
        if named and not (type_.is_integer or type_ is Type.TIMESTAMP):
            message = f"a temporal field is a whole number or a timestamp, not {type_}"
            self._sink.error("bad-attribute", message, attributes[named[0]].span)
            return Temporal.VARYING
        return Temporal[named[0].upper()] if named else Temporal.VARYING

    def _snap_len(self, attributes: Mapping[str, declarations.Attribute]) -> int | None:
        if "snap_len" not in attributes:
            return None
        text = attributes["snap_len"].value or ""
        if text.isdigit() and len(text) < 7:
            return int(text)
        message = "snap_len is a number of bytes"
        self._sink.error("bad-attribute", message, attributes["snap_len"].span, "snap_len 54")
        return None

    def _unpack_names(self, names: tuple[ast.Name, ...]) -> tuple[str, ...]:
        known = [name for name in names if name.name.lower() in self._unpack]
        for name in names:
            if name not in known:
                hint = did_you_mean(name.name, [item.name for item in self._unpack.values()])
                hint = hint or "UNPACK_FCNS { name function cost; } declares one"
                message = f"no unpack function {name.name}"
                self._sink.error("unknown-name", message, name.span, hint)
        return tuple(name.name for name in known)


def _value(attributes: Mapping[str, declarations.Attribute], name: str) -> str:
    return (attributes[name].value or "") if name in attributes else ""

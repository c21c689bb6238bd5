# SPDX-License-Identifier: Apache-2.0
"""STREAM blocks: records that arrive from outside, as a kind of packets (GSQL section 2).

Each record becomes a frame that has every field at a fixed place, so that all that is done with
packets is done with records: csrc/abi/gs_fields_record.h reads what gigastream/records/ writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gigastream.gsql.catalog.catalog import Field, Protocol, RecordField, RecordStream
from gigastream.gsql.catalog.protocols import resolved_type
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.stream_names import stream_interface
from gigastream.gsql.syntax import declarations
from gigastream.gsql.types import Temporal, Type

MAX_FIELDS = 1024
_TIME_HINT = "timestamp at (increasing); or uint at (increasing, clock s)"
_WORD, _ADDRESS = 8, 16
"""Bytes of a field's place."""
_ATTRIBUTES = ("increasing", "clock", "subtype", "low_cardinality", "unlisted", "required")


def build_streams(
    nodes: Mapping[str, declarations.Stream],
    protocols: Mapping[str, Protocol],
    sink: DiagnosticSink,
) -> dict[str, RecordStream]:
    """Return the streams by lower-case name; what is wrong with one goes to the sink."""
    found = {key: _stream(node, protocols, sink) for key, node in nodes.items()}
    return {key: stream for key, stream in found.items() if stream is not None}


def _stream(
    node: declarations.Stream, protocols: Mapping[str, Protocol], sink: DiagnosticSink
) -> RecordStream | None:
    errors = sink.error_count
    if node.name.lower() in protocols:
        message = f"{node.name} is a protocol already"
        sink.error("duplicate-name", message, node.name_span, "give the STREAM another name")
    if len(node.fields) > MAX_FIELDS:
        message = f"a STREAM of {len(node.fields)} fields: {MAX_FIELDS} are the most"
        sink.error("bad-stream", message, node.name_span)
        return None
    placed, size = _placed(node.fields, sink)
    _check_time(node, sink)
    if sink.error_count > errors:
        return None
    fields = {
        item.name.lower(): _field(node.name, declaration, item)
        for declaration, item in zip(node.fields, placed, strict=True)
    }
    protocol = Protocol(
        name=node.name,
        bases=(),
        fields=fields,
        ancestors=frozenset({node.name.lower()}),
        is_builtin=True,
        base_protocol="PKT",
        is_stream=True,
        span=node.name_span,
    )
    return RecordStream(node.name, tuple(placed), protocol, size)


def _check_time(node: declarations.Stream, sink: DiagnosticSink) -> None:
    """A STREAM has one time, by which it is punctuated."""
    temporal = [item for item in node.fields if {"increasing", "decreasing"} & _named(item)]
    for item in temporal:
        _check_temporal(item, sink)
    for item in node.fields:
        for attribute in item.attributes:
            if attribute.name == "clock" and item not in temporal:
                message, hint = "a clock is increasing", "write (increasing, clock s)"
                sink.error("bad-attribute", message, attribute.span, hint)
            elif attribute.name not in (*_ATTRIBUTES, "decreasing"):
                message = f"{attribute.name} is of a packet's field"
                sink.error("bad-attribute", message, attribute.span, "leave it out")
    if not temporal:
        message = f"{node.name} has no time: no window over it would ever end"
        sink.error("bad-stream", message, node.name_span, _TIME_HINT)
    for item in temporal[1:]:
        message = f"{node.name} has a second time: its promise is of one"
        hint = "let one field be increasing; the others are what they are"
        sink.error("bad-stream", message, item.name_span, hint)


def _check_temporal(item: declarations.FieldDeclaration, sink: DiagnosticSink) -> None:
    names = _named(item)
    type_ = Type[item.type.name.upper()] if item.type.name.upper() in Type.__members__ else None
    if "decreasing" in names:
        message = "the time of a STREAM is increasing"
        sink.error("bad-attribute", message, item.name_span, _TIME_HINT)
    elif type_ is not None and not (type_.is_integer or type_ is Type.TIMESTAMP):
        message = f"a temporal field is a whole number or a timestamp, not {type_}"
        sink.error("bad-attribute", message, item.name_span, _TIME_HINT)
    elif type_ is not Type.TIMESTAMP and "clock" not in names:
        message = f"{item.name} says not what it counts: the time of a STREAM has a clock"
        sink.error("bad-attribute", message, item.name_span, _TIME_HINT)


def _named(item: declarations.FieldDeclaration) -> set[str]:
    return {attribute.name for attribute in item.attributes}


def _placed(
    fields: Sequence[declarations.FieldDeclaration], sink: DiagnosticSink
) -> tuple[list[RecordField], int]:
    """Each field at its place, and the bytes of all."""
    found, offset = [], 0
    for item in fields:
        type_ = resolved_type(item.type, sink)
        if type_ is None or type_.is_opaque:
            if type_ is not None:
                message = f"a value of {type_} cannot arrive from outside"
                sink.error("wrong-type", message, item.type.span)
            continue
        clock = next((a.value for a in item.attributes if a.name == "clock"), None)
        is_time = "increasing" in _named(item)
        found.append(RecordField(item.name, type_, offset, clock or "ns", is_time))
        offset += _ADDRESS if type_ in (Type.IPV6, Type.INET) else _WORD
    return found, offset


def _field(stream: str, declaration: declarations.FieldDeclaration, item: RecordField) -> Field:
    attributes = {attribute.name: attribute.value or "" for attribute in declaration.attributes}
    clock = "ns" if item.is_time and item.type is Type.TIMESTAMP else attributes.get("clock", "")
    return Field(
        name=item.name,
        type=item.type,
        accessor=f"record_{str(item.type).lower()}_{item.offset}",
        protocol=stream_interface(stream),
        temporal=Temporal.INCREASING if item.is_time else Temporal.VARYING,
        clock=clock,
        required=True,
        snap_len=0,
        subtype=attributes.get("subtype", ""),
        low_cardinality="low_cardinality" in attributes,
        is_unlisted="unlisted" in attributes,
        span=declaration.name_span,
    )

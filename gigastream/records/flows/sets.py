# SPDX-License-Identifier: Apache-2.0
"""NetFlow v9 (RFC 3954) and IPFIX (RFC 7011): sets of templates, of options, of records."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from gigastream.late_dataclass import dataclass
from gigastream.records.flows.account import FlowAccount
from gigastream.records.flows.columns import COLUMNS, FlowRows, Values
from gigastream.records.flows.datagram import Datagram
from gigastream.records.flows.exporters import Exporters, ExportStream, StreamKey
from gigastream.records.flows.templates import (
    MAX_FIELDS,
    ElementField,
    Template,
    TemplateError,
    compile_template,
)
from gigastream.records.flows.values import NS_PER_S, Clock, columns_of

_V9_HEADER = struct.Struct(">HHIIII")
_IPFIX_HEADER = struct.Struct(">HHIII")
_FIRST_DATA_SET = 256
_NS_PER_MS = 10**6
_MOST_MS = 1 << 43
"""In ns a timestamp still."""


@dataclass(slots=True)
class _Reading:
    """A datagram that is being read."""

    datagram: Datagram
    key: StreamKey
    stream: ExportStream
    exporters: Exporters
    rows: FlowRows
    account: FlowAccount
    clock: Clock
    is_ipfix: bool
    records: int = 0
    """Data records so far, those of options among them: IPFIX numbers them."""


def read_netflow9(
    datagram: Datagram, exporters: Exporters, rows: FlowRows, account: FlowAccount
) -> bool:
    """Decode a datagram; return whether its header could be read."""
    if len(datagram.data) < _V9_HEADER.size:
        return False
    _, _, uptime_ms, seconds, sequence, domain = _V9_HEADER.unpack_from(datagram.data)
    export_ns = seconds * NS_PER_S
    clock = Clock(export_ns, export_ns - uptime_ms * _NS_PER_MS)
    key: StreamKey = (datagram.exporter, domain, "netflow9")
    stream = exporters.stream(key)
    account.missing += stream.missing(sequence, 1)
    reading = _Reading(datagram, key, stream, exporters, rows, account, clock, is_ipfix=False)
    _read_sets(reading, datagram.data[_V9_HEADER.size :])
    return True


def read_ipfix(
    datagram: Datagram, exporters: Exporters, rows: FlowRows, account: FlowAccount
) -> bool:
    """Decode a message; return whether its header could be read."""
    if len(datagram.data) < _IPFIX_HEADER.size:
        return False
    _, length, seconds, sequence, domain = _IPFIX_HEADER.unpack_from(datagram.data)
    key: StreamKey = (datagram.exporter, domain, "ipfix")
    stream = exporters.stream(key)
    clock = Clock(seconds * NS_PER_S, stream.begun_ns)
    reading = _Reading(datagram, key, stream, exporters, rows, account, clock, is_ipfix=True)
    account.damaged_sets += length > len(datagram.data)
    _read_sets(reading, datagram.data[_IPFIX_HEADER.size : max(length, _IPFIX_HEADER.size)])
    account.missing += stream.missing(sequence, reading.records)
    return True


def _read_sets(reading: _Reading, data: memoryview) -> None:
    """One that is damaged does not take those behind it along: its length leads over it."""
    while len(data) >= 4:
        number, length = struct.unpack_from(">HH", data)
        if length < 4:
            reading.account.damaged_sets += 1
            return
        if length > len(data):
            reading.account.damaged_sets += 1
        try:
            _read_set(reading, number, data[4:length])
        except TemplateError:
            reading.account.damaged_sets += 1
        data = data[length:]


def _read_set(reading: _Reading, number: int, data: memoryview) -> None:
    first_template = 2 if reading.is_ipfix else 0
    if number == first_template:
        _announce(reading, _ipfix_templates(data) if reading.is_ipfix else _templates(data))
    elif number == first_template + 1:
        found = _ipfix_templates(data, is_options=True) if reading.is_ipfix else _options(data)
        _announce(reading, found, is_options=True)
    elif number >= _FIRST_DATA_SET:
        _read_records(reading, number, data)
    else:
        reading.account.damaged_sets += 1


# ---- templates ----

_Announced = Iterator[tuple[int, list[ElementField]]]
"""Number and fields; no fields withdraw it."""


def _announce(reading: _Reading, found: _Announced, *, is_options: bool = False) -> None:
    for number, fields in found:
        if fields:
            try:
                template = compile_template(fields, is_options=is_options)
            except TemplateError:
                reading.account.damaged_sets += 1
                reading.exporters.withdraw(reading.key, number)
                continue
            reading.exporters.announce(reading.key, number, template)
        elif number < _FIRST_DATA_SET:
            reading.exporters.withdraw_all(reading.key, is_options=is_options)
        else:
            reading.exporters.withdraw(reading.key, number)


def _templates(data: memoryview) -> _Announced:
    while len(data) >= 4:
        number, count = struct.unpack_from(">HH", data)
        if number < _FIRST_DATA_SET:  # padding
            return
        fields, data = _fields(data[4:], count)
        yield number, fields


def _options(data: memoryview) -> _Announced:
    """Of NetFlow v9: lengths in bytes; a scope is no element of IPFIX."""
    while len(data) >= 6:
        number, scope_bytes, option_bytes = struct.unpack_from(">HHH", data)
        if number < _FIRST_DATA_SET:
            return
        scopes, data = _fields(data[6:], scope_bytes // 4)
        fields, data = _fields(data, option_bytes // 4)
        yield (
            number,
            [ElementField(f.element, f.length, is_of_enterprise=True) for f in scopes] + fields,
        )


def _ipfix_templates(data: memoryview, *, is_options: bool = False) -> _Announced:
    while len(data) >= 4:
        number, count = struct.unpack_from(">HH", data)
        if not number:
            return
        if not count:
            yield number, []
            data = data[4:]
            continue
        if number < _FIRST_DATA_SET:
            raise TemplateError("a template of a number that is a set's of templates")
        fields, data = _fields(data[6 if is_options else 4 :], count, has_enterprises=True)
        yield number, fields


def _fields(
    data: memoryview, count: int, *, has_enterprises: bool = False
) -> tuple[list[ElementField], memoryview]:
    """So many fields, and what is behind them."""
    if count > MAX_FIELDS:
        raise TemplateError(f"a template of {count} fields")
    fields, at = [], 0
    for _ in range(count):
        if at + 4 > len(data):
            raise TemplateError("a template goes beyond its set")
        element, length = struct.unpack_from(">HH", data, at)
        is_of_enterprise = has_enterprises and element >= 0x8000
        at += 8 if is_of_enterprise else 4
        fields.append(
            ElementField(element & 0x7FFF if has_enterprises else element, length, is_of_enterprise)
        )
    return fields, data[min(at, len(data)) :]


# ---- records ----


def _read_records(reading: _Reading, number: int, data: memoryview) -> None:
    template = reading.exporters.template(reading.key, number)
    if template is None:
        reading.account.unknown_sets += 1
        return
    records, is_whole = template.records(data)
    reading.records += len(records)
    reading.account.damaged_sets += not is_whole
    if not records:
        return
    columns = columns_of(template, records, reading.clock)
    if template.is_options:
        _take_options(reading.stream, columns, len(records))
    elif template.wanted:
        _add(reading, template, columns, len(records))


def _add(reading: _Reading, template: Template, columns: dict[str, Values], count: int) -> None:
    constant = {
        "timestamp": reading.datagram.timestamp_ns,
        "exporter": reading.datagram.exporter,
        "domain": reading.key[1],
        "format": reading.key[2],
        "sampling_rate": reading.stream.rate_of(None) or 1,
    }
    columns.setdefault("ipversion", _versions(columns.get("srcIP"), count))
    rates = _rates(reading.stream, columns, count)
    if rates is not None:
        columns["sampling_rate"] = rates
    given = {name: values for name, values in columns.items() if name in COLUMNS}
    reading.rows.add(count, given, constant)
    reading.account.records += count


def _versions(addresses: Values | None, count: int) -> Values:
    if addresses is None:
        return [None] * count
    return [None if a is None else 4 if a.startswith(_V4) else 6 for a in addresses]


_V4 = b"\0" * 10 + b"\xff\xff"


def _rates(stream: ExportStream, columns: dict[str, Values], count: int) -> Values | None:
    """One in how many packets: as the record says, else its sampler's, else the stream's."""
    said = _said_rates(columns)
    samplers = columns.get("sampler")
    if said is None and samplers is None:
        return None
    said = said if said is not None else [None] * count
    samplers = samplers if samplers is not None else [None] * count
    return [
        rate or stream.rate_of(sampler) or 1 for rate, sampler in zip(said, samplers, strict=True)
    ]


def _said_rates(columns: dict[str, Values]) -> Values | None:
    if "sampling_rate" in columns:
        return columns["sampling_rate"]
    if "sampled_packets" in columns and "passed_packets" in columns:
        pairs = zip(columns["sampled_packets"], columns["passed_packets"], strict=True)
        return [_rate_behind(one, passed) for one, passed in pairs]
    if "sampled_size" in columns and "sampled_population" in columns:
        pairs = zip(columns["sampled_population"], columns["sampled_size"], strict=True)
        return [_rate(population, size) for population, size in pairs]
    return None


def _rate_behind(sampled: int | None, passed: int | None) -> int | None:
    return None if sampled is None or passed is None else _rate(sampled + passed, sampled)


def _rate(packets: int | None, sampled: int | None) -> int | None:
    rate = packets // sampled if packets and sampled else 0
    return rate if 0 < rate < 1 << 32 else None


def _take_options(stream: ExportStream, columns: dict[str, Values], count: int) -> None:
    """What a stream says of itself: sampling rates, when it began."""
    begun_ms = (columns.get("begun_ms") or [None])[-1]
    if begun_ms is not None and begun_ms < _MOST_MS:
        stream.begun_ns = begun_ms * _NS_PER_MS
    rates = _said_rates(columns)
    if rates is None:
        return
    samplers: Any = columns.get("sampler") or [-1] * count
    for sampler, rate in zip(samplers, rates, strict=True):
        if rate:
            stream.samplers.put(sampler, rate)

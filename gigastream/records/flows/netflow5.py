# SPDX-License-Identifier: Apache-2.0
"""NetFlow v5: a header of 24 bytes, records of 48."""

from __future__ import annotations

import struct

from gigastream.records.flows.account import FlowAccount
from gigastream.records.flows.columns import FlowRows
from gigastream.records.flows.datagram import Datagram
from gigastream.records.flows.exporters import Exporters, StreamKey
from gigastream.records.flows.templates import ElementField, compile_template
from gigastream.records.flows.values import NS_PER_S, Clock, columns_of

_HEADER = struct.Struct(">HHIIIIBBH")
_RECORD = compile_template(
    [
        *(ElementField(number, 4) for number in (8, 12, 15)),
        *(ElementField(number, 2) for number in (10, 14)),
        *(ElementField(number, 4) for number in (2, 1, 22, 21)),
        *(ElementField(number, 2) for number in (7, 11)),
        *(ElementField(number, 1) for number in (210, 6, 4, 5)),
        *(ElementField(number, 2) for number in (16, 17)),
        *(ElementField(number, 1) for number in (9, 13)),
        ElementField(210, 2),
    ]
)
"""In terms of elements; 210 is padding."""


def read_netflow5(
    datagram: Datagram, exporters: Exporters, rows: FlowRows, account: FlowAccount
) -> bool:
    """Decode a datagram; return whether its header could be read."""
    if len(datagram.data) < _HEADER.size:
        return False
    _, count, uptime_ms, seconds, nanoseconds, sequence, engine_type, engine, sampling = (
        _HEADER.unpack_from(datagram.data)
    )
    domain = engine_type << 8 | engine
    key: StreamKey = (datagram.exporter, domain, "netflow5")
    account.missing += exporters.stream(key).missing(sequence, count)
    export_ns = seconds * NS_PER_S + nanoseconds
    clock = Clock(export_ns, export_ns - uptime_ms * 10**6)
    whole, _ = _RECORD.records(datagram.data[_HEADER.size :])
    records = whole[:count]
    account.damaged_sets += len(records) < count
    rate = sampling & 0x3FFF or 1
    constant = {
        "timestamp": datagram.timestamp_ns,
        "exporter": datagram.exporter,
        "domain": domain,
        "format": "netflow5",
        "ipversion": 4,
        "sampling_rate": rate,
    }
    if records:
        rows.add(len(records), columns_of(_RECORD, records, clock), constant)
    account.records += len(records)
    return True

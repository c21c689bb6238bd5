# SPDX-License-Identifier: Apache-2.0
"""sFlow version 5 (sflow.org): each sampled packet is a record of one packet and its sampling rate.

Counters are counted, and no records. All numbers are of 32 bits; each sample and each record in it
has its length, so that a damaged one does not take those behind it along.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from gigastream.records.flows.account import FlowAccount
from gigastream.records.flows.columns import COLUMNS, FlowRows
from gigastream.records.flows.datagram import Datagram
from gigastream.records.flows.exporters import Exporters, StreamKey
from gigastream.records.flows.sampled_packet import read_ethernet, read_ipv4, read_ipv6
from gigastream.records.flows.values import address

_AGENT_BYTES = {1: 4, 2: 16}
_SAMPLES = (1, 3)
"""Flow sample, and the one of longer interface numbers."""
_RAW_READERS: dict[int, Callable[[memoryview], dict[str, Any]]] = {
    1: read_ethernet,
    11: read_ipv4,
    12: read_ipv6,
}
"""By the number of the header's protocol."""


class _DamagedError(Exception):
    """A length goes beyond what it is in."""


def read_sflow5(
    datagram: Datagram, exporters: Exporters, rows: FlowRows, account: FlowAccount
) -> bool:
    """Decode a datagram; return whether its header could be read."""
    data = datagram.data
    agent_bytes = _AGENT_BYTES.get(int.from_bytes(data[4:8], "big"))
    if agent_bytes is None or len(data) < 24 + agent_bytes:
        return False
    agent = address(bytes(data[8 : 8 + agent_bytes]))
    domain, sequence, _, count = struct.unpack_from(">IIII", data, 8 + agent_bytes)
    key: StreamKey = (datagram.exporter, domain, "sflow5")
    account.missing += exporters.stream(key).missing(sequence, 1)
    constant = {
        "timestamp": datagram.timestamp_ns,
        "exporter": agent,
        "domain": domain,
        "format": "sflow5",
        "packets": 1,
    }
    found = [*_flows(data[24 + agent_bytes :], count, account)]
    if found:
        columns = {name: [flow.get(name) for flow in found] for name in COLUMNS}
        given = {name: values for name, values in columns.items() if name not in constant}
        rows.add(len(found), given, constant)
    account.records += len(found)
    return True


def _flows(data: memoryview, count: int, account: FlowAccount) -> Iterator[dict[str, Any]]:
    """The flows of a datagram's samples; the others are counted."""
    try:
        for kind, sample in _parts(data, count):
            if kind not in _SAMPLES:
                account.other_samples += 1
                continue
            try:
                flow = _flow(sample, is_expanded=kind == 3)
            except (_DamagedError, struct.error):
                account.damaged_sets += 1
                continue
            if "srcIP" in flow:
                yield flow
            else:
                account.other_samples += 1
    except _DamagedError:
        account.damaged_sets += 1


def _parts(data: memoryview, count: int) -> Iterator[tuple[int, memoryview]]:
    """Number of the format and bytes of each sample, or record of one."""
    for _ in range(count):
        if len(data) < 8:
            raise _DamagedError
        kind, length = struct.unpack_from(">II", data)
        if length > len(data) - 8:
            raise _DamagedError
        yield kind, data[8 : 8 + length]
        data = data[8 + length :]


def _flow(sample: memoryview, *, is_expanded: bool) -> dict[str, Any]:
    """Raises _DamagedError, struct.error."""
    if is_expanded:
        _, _, _, rate, _, _, _, come_in, _, go_out, count = struct.unpack_from(">11I", sample)
        rest = sample[44:]
    else:
        _, _, rate, _, _, come_in, go_out, count = struct.unpack_from(">8I", sample)
        come_in, go_out = _number_of(come_in), _number_of(go_out)
        rest = sample[32:]
    flow: dict[str, Any] = {
        "sampling_rate": rate or 1,
        "input_interface": come_in,
        "output_interface": go_out,
    }
    for kind, record in _parts(rest, count):
        read = _RECORDS.get(kind)
        if read is not None:
            flow |= read(record)
    return flow


def _number_of(interface: int) -> int | None:
    """The upper two bits say what kind of thing it is: 0 is an interface."""
    return interface if interface >> 30 == 0 else None


def _raw(record: memoryview) -> dict[str, Any]:
    protocol, length, stripped, size = struct.unpack_from(">4I", record)
    del stripped
    if size > len(record) - 16:
        raise _DamagedError
    read = _RAW_READERS.get(protocol)
    return {"bytes": length, **(read(record[16 : 16 + size]) if read is not None else {})}


def _sampled_ipv4(record: memoryview) -> dict[str, Any]:
    length, protocol, source, destination, *ports = struct.unpack_from(">II4s4s4I", record)
    return _sampled(4, length, protocol, source, destination, ports)


def _sampled_ipv6(record: memoryview) -> dict[str, Any]:
    length, protocol, source, destination, *ports = struct.unpack_from(">II16s16s4I", record)
    return _sampled(6, length, protocol, source, destination, ports)


def _sampled(
    version: int, length: int, protocol: int, source: bytes, destination: bytes, rest: list[int]
) -> dict[str, Any]:
    source_port, destination_port, flags, tos = rest
    return {
        "ipversion": version,
        "bytes": length,
        "protocol": protocol & 0xFF,
        "srcIP": address(source),
        "destIP": address(destination),
        "srcPort": source_port & 0xFFFF,
        "destPort": destination_port & 0xFFFF,
        "flags": flags & 0xFF,
        "tos": tos & 0xFF,
    }


def _switch(record: memoryview) -> dict[str, Any]:
    vlan, *_ = struct.unpack_from(">4I", record)
    return {"vlan": vlan & 0xFFF}


def _router(record: memoryview) -> dict[str, Any]:
    hop, rest = _address_at(record)
    source_mask, destination_mask = struct.unpack_from(">II", rest)
    return {
        "next_hop": hop,
        "src_mask": source_mask & 0xFF,
        "dest_mask": destination_mask & 0xFF,
    }


def _gateway(record: memoryview) -> dict[str, Any]:
    _, rest = _address_at(record)
    _, source, _, segments = struct.unpack_from(">4I", rest)
    last, rest = None, rest[16:]
    for _ in range(min(segments, len(rest) // 8)):
        _, length = struct.unpack_from(">II", rest)
        if length > (len(rest) - 8) // 4:
            raise _DamagedError
        if length:
            (last,) = struct.unpack_from(">I", rest, 4 + 4 * length)
        rest = rest[8 + 4 * length :]
    return {"src_as": source, "dest_as": last}


def _address_at(record: memoryview) -> tuple[bytes | None, memoryview]:
    size = _AGENT_BYTES.get(int.from_bytes(record[:4], "big"))
    if size is None or len(record) < 4 + size:
        raise _DamagedError
    return address(bytes(record[4 : 4 + size])), record[4 + size :]


_RECORDS: dict[int, Callable[[memoryview], dict[str, Any]]] = {
    1: _raw,
    3: _sampled_ipv4,
    4: _sampled_ipv6,
    1001: _switch,
    1002: _router,
    1003: _gateway,
}

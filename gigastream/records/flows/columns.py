# SPDX-License-Identifier: Apache-2.0
"""The columns of a flow record, whatever exported it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

BITS = {
    "ushort": 16,
    "uint": 32,
    "ullong": 64,
}
COLUMNS = {
    "timestamp": "timestamp",
    "exporter": "INET",
    "domain": "uint",
    "format": "string",
    "flow_start": "timestamp",
    "flow_end": "timestamp",
    "packets": "ullong",
    "bytes": "ullong",
    "sampling_rate": "uint",
    "ipversion": "ushort",
    "srcIP": "INET",
    "destIP": "INET",
    "srcPort": "ushort",
    "destPort": "ushort",
    "protocol": "ushort",
    "flags": "ushort",
    "tos": "ushort",
    "icmp_type": "ushort",
    "icmp_code": "ushort",
    "flow_label": "uint",
    "srcMAC": "ullong",
    "destMAC": "ullong",
    "etherType": "ushort",
    "vlan": "ushort",
    "mpls_label": "uint",
    "input_interface": "uint",
    "output_interface": "uint",
    "next_hop": "INET",
    "src_as": "uint",
    "dest_as": "uint",
    "src_mask": "ushort",
    "dest_mask": "ushort",
    "direction": "ushort",
}
"""GSQL type by name. `timestamp` is when the datagram came; addresses are 16 bytes."""

Values = Sequence[Any]
"""Of one column: ints, 16 bytes of an address, texts; None where the exporter says nothing."""


class FlowRows:
    """Rows in columns, as they are decoded."""

    def __init__(self) -> None:
        self.count = 0
        self.columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}

    def add(self, count: int, given: Mapping[str, Values], constant: Mapping[str, Any]) -> None:
        """Take rows of one datagram: columns that differ by row, and those that do not."""
        self.count += count
        for name, column in self.columns.items():
            values = given.get(name)
            column.extend(repeat(constant.get(name), count) if values is None else values)

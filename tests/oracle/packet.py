# SPDX-License-Identifier: Apache-2.0
"""From a record to the tuple that it is in each protocol of GSQL §2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.oracle.community import community_id
from tests.oracle.frame import Fields, Frame, Link
from tests.oracle.links import walk_link
from tests.oracle.network import Network, parse_network
from tests.oracle.records import Record
from tests.oracle.transport import parse_transport
from tests.oracle.values import Timestamp

ALIASES = {
    "sourceIP": "srcIP",
    "source_port": "srcPort",
    "dest_port": "destPort",
    "hop_limit": "ttl",
}

PACKET_FIELDS = frozenset(
    {"systemTime", "time", "time_ms", "timestamp", "len", "caplen", "interface", "packet_id"}
) | {"sampling_rate"}
LINK_FIELDS = frozenset({"srcMAC", "destMAC", "etherType", "vlan", "inner_vlan", "mpls_label"})
NETWORK_FIELDS = frozenset(
    {
        *("ipversion", "hdr_length", "tos", "dscp", "ecn", "total_length", "id", "dont_frag"),
        *("more_frag", "offset", "ttl", "protocol", "srcIP", "destIP", "flow_label"),
        "community_id",
    }
)
PORT_FIELDS = frozenset({"srcPort", "destPort", "data_length"})
TCP_FIELDS = frozenset({"sequence_number", "ack_number", "flags", "window", "TCP_data"})
TCP_FIELDS |= {"syn", "ack", "fin", "rst", "psh", "urg"}
UDP_FIELDS = frozenset({"UDP_data"})
ICMP_FIELDS = frozenset({"icmp_type", "icmp_code"})

_IP_SCHEMA = PACKET_FIELDS | LINK_FIELDS | NETWORK_FIELDS
SCHEMAS: dict[str, frozenset[str]] = {
    "PKT": PACKET_FIELDS,
    "ETH": PACKET_FIELDS | LINK_FIELDS,
    "IPV4": _IP_SCHEMA - {"flow_label"},
    "IPV6": _IP_SCHEMA - {"dont_frag"},
    "IP": _IP_SCHEMA,
    "TCP": _IP_SCHEMA | PORT_FIELDS | TCP_FIELDS,
    "UDP": _IP_SCHEMA | PORT_FIELDS | UDP_FIELDS,
    "ICMP": _IP_SCHEMA | ICMP_FIELDS,
    "DataProtocol": _IP_SCHEMA | PORT_FIELDS,
}
"""The fields of each protocol; a packet may lack some of them."""


class FieldAbsentError(Exception):
    """A field of the protocol that the packet lacks: it is no tuple for a query that names it."""


class Packet(dict[str, Any]):
    """The fields of one packet as a tuple of one protocol; absent fields are missing.

    Asking for a field that the packet lacks raises FieldAbsentError, for one that the protocol does
    not have KeyError.
    """

    def __init__(self, protocol: str, fields: Fields, record: Record) -> None:
        super().__init__(fields)
        self.protocol = protocol
        self.record = record

    def __missing__(self, name: str) -> Any:
        own = name.removeprefix("outer_")
        if own in ALIASES:
            return self[f"{name[: len(name) - len(own)]}{ALIASES[own]}"]
        if name in SCHEMAS[self.protocol] or name.startswith("outer_"):
            raise FieldAbsentError(name)
        raise KeyError(f"{self.protocol} has no field {name}")


@dataclass(frozen=True)
class Layers:
    """A record taken apart once; `as_protocol` presents it."""

    record: Record
    packet: Fields
    is_ethernet: bool
    network: Network | None
    network_fields: Fields
    transport_name: str | None
    transport: Fields
    frame: Frame
    """The bytes that it was read from."""
    behind_labels: int | None = None
    """Where in them a stack of MPLS labels ends."""
    outer: Fields = field(default_factory=dict)
    """Of the packet that was captured, where this one was in a tunnel."""

    def as_protocol(self, protocol: str) -> Packet | None:
        """The packet as a tuple of this protocol, or None if it is not one."""
        if not self._is_of(protocol):
            return None
        fields = self.packet | self.network_fields | self.transport | self._addresses(protocol)
        kept = {name: fields[name] for name in fields.keys() & SCHEMAS[protocol]} | self.outer
        return Packet(protocol, kept, self.record)

    def _is_of(self, protocol: str) -> bool:
        version = self.network.version if self.network else None
        return {
            "PKT": True,
            "ETH": self.is_ethernet,
            "IPV4": version == 4,
            "IPV6": version == 6,
            "IP": version is not None,
            "DataProtocol": self.transport_name in ("TCP", "UDP"),
        }.get(protocol, self.transport_name == protocol)

    def _addresses(self, protocol: str) -> Fields:
        if self.network is None:
            return {}
        own = protocol in ("IPV4", "IPV6")
        source, destination = self.network.addresses if own else self.network.inet
        return {"srcIP": source, "destIP": destination}


def parse(record: Record) -> Layers | None:
    """Take a record apart; None if it is undecodable (its link type or its timestamp)."""
    frame = Frame(record.data, record.length)
    link = walk_link(frame, record.link_type)
    if link is None or record.timestamp_ns is None:
        return None
    return layers_of(record, frame, link)


def layers_of(record: Record, frame: Frame, link: Link) -> Layers:
    """What a frame holds, from where its link ends."""
    assert record.timestamp_ns is not None
    network = parse_network(frame, link.version, link.ip_at)
    transport = parse_transport(frame, network) if network else None
    name, fields = transport or (None, {})
    return Layers(
        record=record,
        packet=_packet_fields(record, record.timestamp_ns) | link.fields,
        is_ethernet=link.is_ethernet,
        network=network,
        network_fields=_network_fields(frame, network),
        transport_name=name,
        transport=fields,
        frame=frame,
        behind_labels=link.behind_labels,
    )


def _network_fields(frame: Frame, network: Network | None) -> Fields:
    if network is None:
        return {}
    identifier = community_id(frame, network)
    return network.fields | ({} if identifier is None else {"community_id": identifier})


def _packet_fields(record: Record, timestamp_ns: int) -> Fields:
    seconds = timestamp_ns // 1_000_000_000 % 2**32
    return {
        "systemTime": seconds,
        "time": seconds,
        "time_ms": timestamp_ns // 1_000_000,
        "timestamp": Timestamp(timestamp_ns),
        "len": record.length,
        "caplen": record.captured_length,
        "interface": record.interface_id,
        "packet_id": record.index,
        "sampling_rate": 1,
    }

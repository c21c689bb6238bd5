# SPDX-License-Identifier: Apache-2.0
"""The types of the fields of packets (GSQL §2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.answers.reference.typed import INCREASING, VARYING, Typed
from tests.answers.reference.types import Value
from tests.oracle.packet import ALIASES, SCHEMAS, FieldAbsentError
from tests.oracle.tunnels import OF_LINK_NETWORK_AND_PORTS

TYPES = {
    "uint": "time systemTime len caplen mpls_label total_length id flow_label data_length"
    " sequence_number ack_number",
    "llong": "time_ms",
    "timestamp": "timestamp",
    "ullong": "packet_id sampling_rate srcMAC destMAC",
    "string": "interface community_id TCP_data UDP_data",
    "bool": "dont_frag more_frag syn ack fin rst psh urg",
    "ushort": "etherType vlan inner_vlan ipversion hdr_length tos dscp ecn offset ttl protocol"
    " srcPort destPort flags window icmp_type icmp_code",
}
TYPE_OF = {name: type_ for type_, names in TYPES.items() for name in names.split()}
TIMES = frozenset({"time", "systemTime", "time_ms", "timestamp"})
ADDRESSES = frozenset({"srcIP", "destIP"})
CLOCKS = {"time": "s", "systemTime": "s", "time_ms": "ms"}
STAR = (
    "time time_ms timestamp len caplen interface packet_id srcMAC destMAC etherType vlan inner_vlan"
    " mpls_label ipversion hdr_length tos dscp ecn total_length id dont_frag more_frag offset ttl"
    " protocol srcIP destIP flow_label community_id srcPort destPort data_length sequence_number"
    " ack_number flags syn ack fin rst psh urg window TCP_data UDP_data icmp_type icmp_code"
)
"""The fields of all protocols in the order of their declarations, each once."""
FIRST_NAMES = {("IPV6", "ttl"): "hop_limit"}
OUTER = "outer_"
ADDRESS_OF = {"IPV4": "IP", "IPV6": "IPV6"}


def field(protocol: str, name: str) -> Typed | None:
    """A field of a protocol, read from the oracle's packet; None if it has none of that name."""
    if name.startswith(OUTER):
        return _outer(name.removeprefix(OUTER))
    own = ALIASES.get(name, name)
    if own not in SCHEMAS[protocol]:
        return None
    type_ = ADDRESS_OF.get(protocol, "INET") if own in ADDRESSES else TYPE_OF[own]
    is_mac = own.endswith("MAC")
    return Typed(
        type_,
        _reader(own, _kind(own, type_)),
        INCREASING if own in TIMES else VARYING,
        subtype="mac" if is_mac else "",
        clock=CLOCKS.get(own, ""),
    )


def _outer(name: str) -> Typed | None:
    """Of the packet around a tunnel's: what any protocol with ports has, but for the record's."""
    typed = field("DataProtocol", name)
    own = ALIASES.get(name, name)
    if typed is None or own not in OF_LINK_NETWORK_AND_PORTS:
        return None
    return replace(typed, read=_reader(OUTER + own, _kind(own, typed.type)))


def all_fields(protocol: str) -> list[tuple[str, Typed]]:
    """What `*` stands for: every field under its first name, NULL where a packet lacks it."""
    found = []
    for name in STAR.split():
        typed = field(protocol, FIRST_NAMES.get((protocol, name), name))
        if typed is not None:
            shown = FIRST_NAMES.get((protocol, name), name)
            found.append((shown, replace(typed, read=_optional(typed.read))))
    return found


def _optional(read: Callable[[Any], Value]) -> Callable[[Any], Value]:
    def found(packet: Any) -> Value:
        try:
            return read(packet)
        except FieldAbsentError:
            return None

    return found


def _kind(own: str, type_: str) -> type[int] | None:
    return bool if type_ == "bool" else int if own.endswith("MAC") else None


def _reader(own: str, kind: type[int] | None) -> Callable[[Any], Value]:
    """A MAC address is a number here: what CASE makes of one is none."""
    if kind is None:
        return lambda packet: packet[own]
    return lambda packet: None if packet[own] is None else kind(packet[own])

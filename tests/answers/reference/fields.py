# SPDX-License-Identifier: Apache-2.0
"""The types of the fields of packets (GSQL §2)."""

from __future__ import annotations

from tests.answers.reference.typed import INCREASING, VARYING, Typed
from tests.oracle.packet import ALIASES, SCHEMAS

TYPES = {
    "uint": "time systemTime len caplen mpls_label total_length id flow_label data_length"
    " sequence_number ack_number",
    "llong": "time_ms",
    "timestamp": "timestamp",
    "ullong": "packet_id srcMAC destMAC",
    "string": "interface community_id TCP_data UDP_data",
    "bool": "dont_frag more_frag syn ack fin rst psh urg",
    "ushort": "etherType vlan inner_vlan ipversion hdr_length tos dscp ecn offset ttl protocol"
    " srcPort destPort flags window icmp_type icmp_code",
}
TYPE_OF = {name: type_ for type_, names in TYPES.items() for name in names.split()}
TIMES = frozenset({"time", "systemTime", "time_ms", "timestamp"})
ADDRESSES = frozenset({"srcIP", "destIP"})
ADDRESS_OF = {"IPV4": "IP", "IPV6": "IPV6"}


def field(protocol: str, name: str) -> Typed | None:
    """A field of a protocol, read from the oracle's packet; None if it has none of that name."""
    own = ALIASES.get(name, name)
    if own not in SCHEMAS[protocol]:
        return None
    type_ = ADDRESS_OF.get(protocol, "INET") if own in ADDRESSES else TYPE_OF[own]
    return Typed(
        type_,
        (lambda packet: bool(packet[own])) if type_ == "bool" else (lambda packet: packet[own]),
        INCREASING if own in TIMES else VARYING,
        subtype="mac" if own.endswith("MAC") else "",
    )

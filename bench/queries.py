# SPDX-License-Identifier: Apache-2.0
"""The queries that the engine is asked, in GSQL."""

from __future__ import annotations

_AGGREGATION = (
    "SELECT tb, srcIP, destIP, count(*) AS packets, sum(len) AS bytes FROM {protocol}{where} "
    "GROUP BY time/60 AS tb, srcIP, destIP"
)

TALKERS = _AGGREGATION.format(protocol="IPV4", where="")
TALKERS_TCP = _AGGREGATION.format(protocol="TCP", where="")
SELECTION = "SELECT timestamp, srcIP, destIP, len FROM TCP WHERE ipversion = 4 AND destPort = 443"


def with_slots(query: str, slots_log2: int) -> str:
    """The same query with 2^slots_log2 slots in its low-level table."""
    return f"DEFINE {{ aggregate_slots {1 << slots_log2}; }} {query}"


def _predicates() -> list[tuple[str, str]]:
    """32 predicates (protocol, condition), each true for one packet in a hundred or so."""
    ports = [("TCP", f"destPort = {8000 + i}") for i in range(1, 25) if i % 8 != 7]
    udp_ports = [("UDP", f"destPort = {8000 + i}") for i in (7, 15, 23, 31)]
    narrowed = [
        ("TCP", "destPort = 443"),
        ("TCP", "ipversion = 4 AND destPort = 8025"),
        ("DataProtocol", "destPort = 8026 AND len > 60"),
        ("IPV4", "srcIP IN IP_VAL'10.7.0.0/16'"),
        ("IPV4", "destIP IN IP_VAL'172.9.0.0/16'"),
        ("TCP", "destPort >= 8027 AND destPort <= 8028"),
        ("TCP", "ipversion = 4 AND destPort > 8097"),
    ]
    return ports + udp_ports + narrowed


def predicate_queries() -> list[str]:
    """32 aggregations that differ in their predicate, each with a name, none with its semicolon."""
    return [
        f"DEFINE {{ query_name q{number}; }} "
        + _AGGREGATION.format(protocol=protocol, where=f" WHERE {condition}")
        for number, (protocol, condition) in enumerate(_predicates())
    ]

# SPDX-License-Identifier: Apache-2.0
"""What the writers of one query set share: handles, headers, names, protocols."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from gigastream.codegen.c_text import constant, identifier
from gigastream.gsql.expressions import Constant, FunctionCall
from gigastream.gsql.regular_expressions import WITH_PATTERNS, compiled
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan

PROTOCOL_BITS = {
    "PKT": "GS_PROTOCOL_PKT",
    "ETH": "GS_PROTOCOL_ETH",
    "IPV4": "GS_PROTOCOL_IPV4",
    "IPV6": "GS_PROTOCOL_IPV6",
    "IP": "GS_PROTOCOL_IP",
    "TCP": "GS_PROTOCOL_TCP",
    "UDP": "GS_PROTOCOL_UDP",
    "ICMP": "GS_PROTOCOL_ICMP",
    "DATAPROTOCOL": "GS_PROTOCOL_DATA",
}
DEPTHS = {
    "PKT": "GS_DEPTH_RECORD",
    "ETH": "GS_DEPTH_LINK",
    "IPV4": "GS_DEPTH_NETWORK",
    "IPV6": "GS_DEPTH_NETWORK",
    "IP": "GS_DEPTH_NETWORK",
}
DEPTH_ORDER = ("GS_DEPTH_RECORD", "GS_DEPTH_LINK", "GS_DEPTH_NETWORK", "GS_DEPTH_TRANSPORT")


def depth_of(plan: Plan) -> str:
    """How deep the decoder must look for any of the query set's protocols."""
    depths = [DEPTHS.get(base_of(node), "GS_DEPTH_TRANSPORT") for node in plan.low]
    return max(depths, key=DEPTH_ORDER.index, default="GS_DEPTH_RECORD")


def base_of(node: LowNode) -> str:
    """The built-in protocol, in upper case, whose bit the decoder sets."""
    return (node.source.base_protocol or node.source.protocol).upper()


@dataclass(slots=True)
class CodeContext:
    """Collected while nodes are written."""

    plan: Plan
    handles: list[tuple[str, Constant]] = field(default_factory=list)
    headers: set[str] = field(default_factory=set)
    own_headers: set[str] = field(default_factory=set)
    """Of functions of the user's: they include what they need of ours."""
    prefixes: dict[str, str] = field(default_factory=dict)

    def prefix(self, node_name: str) -> str:
        """A unique C prefix for what belongs to a node."""
        if node_name not in self.prefixes:
            self.prefixes[node_name] = f"n{len(self.prefixes)}_{identifier(node_name)}"
        return self.prefixes[node_name]

    def called(self, call: FunctionCall) -> None:
        """A function is used: its header is wanted."""
        if call.header:
            self.own_headers.add(Path(call.header).name)
        else:
            self.headers.add(call.include)

    def handle(self, call: FunctionCall) -> int:
        """The number of the handle that a call's HANDLE argument is prepared into."""
        assert call.handle is not None
        argument = call.arguments[call.handle]
        assert isinstance(argument, Constant)
        suffix = call.symbol.split("_", 2)[2]
        if call.symbol in WITH_PATTERNS and isinstance(argument.value, bytes):
            argument = replace(argument, value=compiled(argument.value).encoded())
        for number, (known, value) in enumerate(self.handles):
            if known == suffix and constant(value) == constant(argument):
                return number
        self.handles.append((suffix, argument))
        return len(self.handles) - 1


def bits_of(node: LowNode) -> str:
    """The protocol bits of the packets whose fields an LFTA reads, as a C expression."""
    bits = [PROTOCOL_BITS[base_of(node)]]
    if node.source.narrowed_to:
        bits.append(PROTOCOL_BITS[node.source.narrowed_to.upper()])
    return " | ".join(bits)

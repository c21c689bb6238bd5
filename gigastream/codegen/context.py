# SPDX-License-Identifier: Apache-2.0
"""What the writers of one query set share: handles, headers, names, protocols."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gigastream.codegen.c_text import constant, identifier
from gigastream.codegen.member_sets import MemberSet, member_set
from gigastream.gsql.expressions import Constant, FunctionCall
from gigastream.gsql.queries import ProtocolSource
from gigastream.gsql.reassembly import Reassembly
from gigastream.gsql.regular_expressions import WITH_PATTERNS, compiled
from gigastream.gsql.tunnels import Decapsulation
from gigastream.gsql.watchlists import Watchlist
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.plan.nodes import Node
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan


def bit_of(protocol: str) -> str:
    """The bit that the decoder sets for packets of a built-in protocol, in any case, in C."""
    return f"GS_PROTOCOL_{protocol.upper()}"


def depth_of(plan: Plan) -> str:
    """How deep the decoder must look for any of the query set's protocols, in C."""
    bits = dict.fromkeys(bit_of(base_of(node)) for node in plan.low)
    if any(view.is_changed for view in views_of(plan)):
        return "GS_DEPTH_TRANSPORT"  # a tunnel is known by the outer packet's port
    return f"GS_DEPTH_OF({' | '.join(bits) or 0})"


class View(NamedTuple):
    """How LFTAs see packets: as they are, unless some of it is given."""

    decapsulation: Decapsulation | None
    reassembly: Reassembly | None

    @property
    def is_changed(self) -> bool:
        """Whether it takes more than decoding."""
        return self.decapsulation is not None or self.reassembly is not None


def view_of(node: LowNode) -> View:
    """How an LFTA sees packets."""
    return View(node.source.decapsulation, node.source.reassembly)


def views_of(plan: Plan) -> list[View]:
    """The distinct ones of all LFTAs."""
    return list(dict.fromkeys(map(view_of, plan.low)))


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
    of_states: dict[tuple[str, str], str] = field(default_factory=dict)
    """C functions of UDAFs, by what they are for (user_aggregates.py)."""
    opaque_sizes: set[int] = field(default_factory=set)
    """Of values that no column has: states of UDAFs."""
    prefixes: dict[tuple[str, str], str] = field(default_factory=dict)
    presence_rows: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    """By what a packet must be, where unpack leaves whether it is so (unpack.py)."""
    member_sets: dict[str, MemberSet] = field(default_factory=dict)
    """Of the tables that several LFTAs fill, by who has them."""
    views: dict[View, int] = field(default_factory=dict)
    """How LFTAs see packets, each with its number."""

    def member_set(self, node: LowNode) -> MemberSet:
        """What is in the table that an LFTA fills with others."""
        owner = node.table_of[0]
        if owner not in self.member_sets:
            self.member_sets[owner] = member_set(self.plan, node)
        return self.member_sets[owner]

    def prefix(self, node: Node, shown: str) -> str:
        """A unique C prefix for what belongs to a node: its number, and what a person reads."""
        key = node.kind, node.name
        if key not in self.prefixes:
            self.prefixes[key] = f"n{len(self.prefixes)}_{identifier(shown)}"
        return self.prefixes[key]

    def view_number(self, node: LowNode) -> int:
        """The place in `views` of how an LFTA sees packets."""
        if not self.views:  # once: every LFTA asks
            self.views.update((view, number) for number, view in enumerate(views_of(self.plan)))
        return self.views[view_of(node)]

    def called(self, call: FunctionCall) -> None:
        """A function is used: its header is wanted."""
        if call.header:
            self.own_headers.add(Path(call.header).name)
        else:
            self.headers.add(call.include)

    def watchlist(self, watchlist: Watchlist) -> int:
        """The number of a list in the query set; its header is wanted."""
        self.headers.add("gs_watchlist.h")
        return self.plan.watchlists.index(watchlist)

    def handle(self, call: FunctionCall) -> int:
        """The number of the handle that a call's HANDLE argument is prepared into."""
        assert call.handle is not None
        argument = call.arguments[call.handle]
        assert isinstance(argument, Constant)
        suffix = call.handle_symbol.split("_", 2)[2]
        if call.symbol in WITH_PATTERNS and isinstance(argument.value, bytes):
            argument = replace(argument, value=compiled(argument.value).encoded())
        for number, (known, value) in enumerate(self.handles):
            if known == suffix and constant(value) == constant(argument):
                return number
        self.handles.append((suffix, argument))
        return len(self.handles) - 1


def bits_of(node: LowNode) -> str:
    """The protocol bits of the packets whose fields an LFTA reads, as a C expression."""
    return bits_of_source(node.source)


def bits_of_source(source: ProtocolSource) -> str:
    """The protocol bits of the packets of a source."""
    bits = [bit_of(source.base_protocol or source.protocol)]
    if source.narrowed_to:
        bits.append(bit_of(source.narrowed_to))
    return " | ".join(bits)

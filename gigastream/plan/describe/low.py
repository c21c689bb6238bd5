# SPDX-License-Identifier: Apache-2.0
"""What all LFTAs have in words: which packets they see, what they read, who reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gigastream.gsql.expressions import Expression
from gigastream.gsql.queries import ProtocolSource
from gigastream.gsql.stream_names import is_of_stream
from gigastream.gsql.watchlists import Watchlist
from gigastream.plan.costs import fields_of, lists_of
from gigastream.plan.describe.clauses import predicate_texts
from gigastream.plan.describe.filters import filter_texts
from gigastream.plan.text import expression_text
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.plan.nodes import Detail, Node
    from gigastream.plan.operators.low_node import LowNode
    from gigastream.plan.plan import Plan


def packet_details(node: LowNode, plan: Plan) -> Iterator[Detail]:
    """Which packets it sees, and which of them it lets through."""
    yield "packets", (_packets(node.source),)
    yield "opens", _tunnels(node.source)
    yield "whole", _wholes(node.source)
    yield "in order", _in_order(node.source)
    yield "tuple", _tuple_rule(node.source)
    yield "prefilter", _signature(node, plan)
    yield "where", predicate_texts(node.predicates)
    yield "filter", tuple(filter_texts(node.filter))
    yield "lists", tuple(map(_list_text, lists_of(node.expressions)))


def reader_details(node: LowNode, plan: Plan) -> Iterator[Detail]:
    """Where its fields come from, whom it feeds, when it speaks."""
    read = [field for field in fields_of(*node.expressions) if not field.accessor.startswith("@")]
    of_burst = () if node.filter is not None else plan.early_fields
    early = [field.field for field in read if field.accessor in of_burst]
    late = [field.field for field in read if field.accessor not in of_burst]
    yield "reads", _early_and_late(early, late, node.source)
    yield "feeds", _shared_by(node, plan)
    rows = [] if node.row_column is None else [f"at each {counted(node.row_unit, 'tuple')}"]
    changes = (f"when timestamp {function.forward_text} grows" for function in node.needs)
    yield "announces", (*rows, *changes, "at each heartbeat")


def _list_text(item: Watchlist) -> str:
    """Whose rows it meets, and what of them decides."""
    keys = [item.columns[at] for at in item.keys]
    names = ", ".join(column.name for column in keys)
    longest = ", the longest prefix" if any(column.type.is_address for column in keys) else ""
    return f"{item.name}: {item.path}, by {names}{longest}; looked at every {item.every_s} s"


def _packets(source: ProtocolSource) -> str:
    if is_of_stream(source.interface):
        return f"the records of {source.interface}"
    if source.interface:
        return f"{source.protocol} on interface {source.interface}"
    if source.interfaces is not None:
        names = ", ".join(source.interfaces)
        return f"{source.protocol} on the interfaces of set {source.interface_set}: {names}"
    if source.interface_set == "default":
        return f"{source.protocol} on every interface"
    return f"{source.protocol} on the interfaces of set {source.interface_set}"


def _tunnels(source: ProtocolSource) -> tuple[str, ...]:
    opened = source.decapsulation
    if opened is None:
        return ()
    names = ", ".join(opened.tunnels)
    return (f"tunnels of {names}; at most {opened.depth}, one inside of the other",)


def _wholes(source: ProtocolSource) -> tuple[str, ...]:
    reassembly = source.reassembly
    return ("datagrams, of their fragments",) if reassembly and reassembly.datagrams else ()


def _in_order(source: ProtocolSource) -> tuple[str, ...]:
    reassembly = source.reassembly
    if reassembly is None or not reassembly.segments:
        return ()
    return ("segments of TCP, by their sequence; one that comes too early is held for up to 2 s",)


def _tuple_rule(source: ProtocolSource) -> tuple[str, ...]:
    """What makes a packet a tuple."""
    if is_of_stream(source.interface):
        return ("every record",)
    bit = source.base_protocol or source.protocol
    rules = [] if bit == source.protocol else [f"a packet of {bit}"]
    if source.narrowed_to:
        rules.append(f"its fields are those of {source.narrowed_to}")
    if source.required:
        rules.append(f"the packet has {_listed(source.required)}")
    return (", ".join(rules),) if rules else (f"every packet of {source.protocol}",)


def _listed(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(expression_text, expressions))


def _signature(node: LowNode, plan: Plan) -> tuple[str, ...]:
    return tuple(f"bit {bit}: {expression_text(plan.prefilter[bit])}" for bit in node.signature)


def _early_and_late(
    early: Sequence[str], late: Sequence[str], source: ProtocolSource
) -> tuple[str, ...]:
    one = "record" if is_of_stream(source.interface) else "packet"
    found = [(early, "from the burst's columns"), (late, f"from the {one}")]
    return tuple(f"{', '.join(names)} {where}" for names, where in found if names)


def _shared_by(node: LowNode, plan: Plan) -> tuple[str, ...]:
    """The queries that read it, where there are several and it is none itself."""
    readers = plan.readers(node)
    if node.name in plan.texts or len(readers) < 2:
        return ()
    return (", ".join(_query_of(reader, plan) for reader in readers),)


def _query_of(node: Node, plan: Plan) -> str:
    """The query that a node is of: its own name, or that of what sorts or limits its rows."""
    if node.name in plan.texts:
        return node.name
    return next((reader.name for reader in plan.readers(node)), node.name)

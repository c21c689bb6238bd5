# SPDX-License-Identifier: Apache-2.0
"""The unpack stage and the prefilter, over a burst at a time.

The bit vector of Gigascope's prefilter, turned by a quarter: one bit a packet for each predicate,
so that an LFTA's signature is an AND of words over 64 packets and packets are counted by popcount.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gigastream.codegen.c_text import C_TYPE, Lines, comment, is_struct, zero
from gigastream.codegen.context import (
    CodeContext,
    View,
    base_of,
    bit_of,
    bits_of,
    bits_of_source,
    view_of,
    views_of,
)
from gigastream.codegen.expressions import CValue, ExpressionWriter
from gigastream.gsql.expressions import INTERFACE_NAME, ROW_NUMBER, Expression, FieldRef
from gigastream.gsql.reassembly import Reassembly
from gigastream.gsql.stream_names import is_of_stream
from gigastream.late_dataclass import dataclass
from gigastream.plan.costs import fields_of
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan
from gigastream.plan.position import INTERFACE_ORDINAL
from gigastream.plan.text import expression_text


@dataclass(frozen=True, slots=True)
class Presence:
    """What makes a packet a tuple of an LFTA's protocol for its query."""

    mask: str
    required: tuple[FieldRef, ...]

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        return self.mask, tuple(field.accessor for field in self.required)


def presence_of(node: LowNode) -> Presence:
    """What a packet must be for the LFTA to read its fields."""
    required = tuple(f for f in node.source.required if isinstance(f, FieldRef))
    return Presence(bits_of(node), required)


def numbered_of(node: LowNode) -> Presence:
    """What is counted as a tuple by a window of rows: of the protocol, whatever WHERE narrows."""
    required = tuple(f for f in node.source.required if isinstance(f, FieldRef))
    return Presence(bit_of(base_of(node)), required)


def filter_presence_of(node: LowNode) -> tuple[Presence, ...]:
    """What a packet must be to let others through (FILTER_JOIN)."""
    if node.filter is None:
        return ()
    source = node.filter.source
    required = tuple(f for f in source.required if isinstance(f, FieldRef))
    return (Presence(bits_of_source(source), required),)


def narrowing_of(node: LowNode) -> tuple[Presence, Presence] | None:
    """Where WHERE narrows the protocol (`ipversion = 4`): its test, and the narrower one.

    What lies between the two is rejected by the WHERE, not absent from the protocol.
    """
    if not node.source.narrowed_to:
        return None
    return Presence(bit_of(base_of(node)), ()), Presence(bits_of(node), ())


def presences(nodes: Sequence[LowNode]) -> list[Presence]:
    """The distinct presence tests of some LFTAs."""
    wanted = [presence_of(node) for node in nodes]
    wanted += [test for node in nodes for test in narrowing_of(node) or ()]
    wanted += [test for node in nodes for test in filter_presence_of(node)]
    wanted += [numbered_of(node) for node in nodes if node.row_column is not None]
    return list({test.key: test for test in wanted}.values())


def presence_row(context: CodeContext, test: Presence) -> str:
    """Where unpack leaves the bits of a presence test, for 64 packets."""
    if not context.presence_rows:  # once: every LFTA asks, and each is one of the tests
        known = enumerate(presences(context.plan.low))
        context.presence_rows.update((test.key, index) for index, test in known)
    return f"columns->present[{context.presence_rows[test.key]}][base / 64]"


def is_alone(plan: Plan, node: LowNode) -> bool:
    """Whether an LFTA shares packets with no other, and looks at each of them by itself."""
    return plan.is_fused and len(plan.low) == 1 and node.filter is None and node.row_column is None


def early_fields_of(plan: Plan, node: LowNode) -> list[FieldRef]:
    """Those of an LFTA that are unpacked for the whole burst."""
    if node.filter is not None:
        return []  # it looks at packets of two kinds, each with fields of its own
    if is_alone(plan, node):
        return []
    mine = [plan.prefilter[i] for i in node.signature]
    read = fields_of(*node.expressions, *mine)
    return [
        field for field in read if field.accessor in plan.early_fields and not field.is_optional
    ]


def early_fields(plan: Plan, nodes: Sequence[LowNode]) -> list[tuple[FieldRef, str]]:
    """Fields of some LFTAs unpacked for the whole burst, with the protocols that guard each.

    The guard is the protocol that a query reads, not the one that declares the field: what is
    inherited from ETH is asked of packets of other links too, and its accessors know that.
    """
    fields: dict[str, FieldRef] = {}
    guards: dict[str, set[str]] = {}
    for node in nodes:
        for field in early_fields_of(plan, node):
            fields.setdefault(field.accessor, field)
            guards.setdefault(field.accessor, set()).add(has_bits(bits_of(node)))
    return [(f, " || ".join(sorted(guards[accessor]))) for accessor, f in fields.items()]


def has_bits(bits: str) -> str:
    """C condition: the packet has all of the protocol bits."""
    return f"(packet->protocols & ({bits})) == ({bits})"


def read_field(field: FieldRef, packet: str, to: str) -> str:
    """C expression that reads a field and is true where the packet has it."""
    if field.accessor == INTERFACE_ORDINAL:
        return f"(({to} = burst->interface), true)"
    if field.accessor == ROW_NUMBER:
        return f"(({to} = row_number), true)"
    if field.accessor == INTERFACE_NAME:
        return f"(({to} = *burst->interface_name), true)"
    if field.accessor == "interface":
        return f"gs_field_interface({packet}, burst->interface_names, &{to})"
    if field.accessor == "community_id":
        return f"gs_field_community_id({packet}, burst->scratch, &{to})"
    place = f"{to}.bytes" if field.type.is_opaque else f"&{to}"
    if is_of_stream(field.protocol):
        reader, _, offset = field.accessor.rpartition("_")
        return f"gs_{reader}({packet}, {offset}, {place})"
    return f"gs_field_{field.accessor}({packet}, {place})"


def write_columns(lines: Lines, plan: Plan) -> None:
    """Struct burst_columns: what unpack leaves for the LFTAs."""
    lines.add("/* What the unpack stage leaves of a burst: bits and columns, by packet. */")
    with lines.block("struct burst_columns", "};"):
        lines.add(f"uint64_t present[{len(presences(plan.low)) or 1}][GS_BURST_WORDS];")
        lines.add(f"uint64_t passed[{len(plan.prefilter) or 1}][GS_BURST_WORDS];")
        for field, _ in early_fields(plan, plan.low):
            lines.add(f"{C_TYPE[field.type]} {field.accessor}[GS_BURST_CAPACITY];")
    lines.add("")


def write_views(lines: Lines, context: CodeContext) -> None:
    """The table `views`: what LFTAs open and put together, and what unpacks the packets then."""
    views = views_of(context.plan)
    for number, view in enumerate(views):
        nodes = [node for node in context.plan.low if view_of(node) == view]
        _write_unpack(lines, context, number, nodes)
        _write_rules(lines, number, view)
    with lines.block("static const struct gs_view views[] =", "};"):
        for number, view in enumerate(views):
            opened = view.decapsulation
            rules = 0 if opened is None else len(list(opened.rules))
            depth = 0 if opened is None else opened.depth
            tunnels = f"{{tunnels_{number}, {rules}, {depth}}}"
            lines.add(f"{{{tunnels}, {_reassembly(view.reassembly)}, unpack_{number}}},")
        lines.add(f"{{{{NULL, 0, 0}}, {_reassembly(None)}, NULL}},")
    lines.add("")


def _reassembly(wanted: Reassembly | None) -> str:
    """A struct gs_reassembly."""
    parts = (False, False) if wanted is None else (wanted.datagrams, wanted.segments)
    return f"{{{', '.join(str(part).lower() for part in parts)}}}"


def _write_rules(lines: Lines, number: int, view: View) -> None:
    with lines.block(f"static const struct gs_tunnel_rule tunnels_{number}[] =", "};"):
        for rule in () if view.decapsulation is None else view.decapsulation.rules:
            either = str(rule.is_port_of_either).lower()
            kind = f"GS_TUNNEL_{rule.kind}"
            lines.add(f"{{{kind}, {rule.ip_protocol}, {rule.udp_port}, {either}}},")
        lines.add("{0, 0, 0, false},")
    lines.add("")


def _write_unpack(
    lines: Lines, context: CodeContext, number: int, nodes: Sequence[LowNode]
) -> None:
    """The function `unpack` of a view, for the LFTAs that see packets so."""
    plan = context.plan
    with lines.block(f"static void unpack_{number}(const struct gs_burst *burst, void *memory)"):
        lines.add("struct burst_columns *columns = memory;")
        lines.add("(void)columns;")
        nodes = [node for node in nodes if not is_alone(plan, node)]
        rows = {test.key: row for row, test in enumerate(presences(plan.low))}
        for presence in presences(nodes):
            _write_bits(
                lines, f"columns->present[{rows[presence.key]}]", partial(present, presence)
            )
        _write_fields(lines, plan, nodes)
        for bit in sorted({bit for node in nodes for bit in node.signature}):
            predicate = plan.prefilter[bit]
            lines.add(comment(expression_text(predicate)))
            _write_tests(lines, f"columns->passed[{bit}]", partial(_predicate, lines, predicate))
    lines.add("")


def _write_tests(lines: Lines, to: str, condition: Callable[[], str]) -> None:
    """A bit for each packet by its columns alone: as bytes first, which compilers do by vectors.

    Columns have room for whole words; of what is behind the burst's end nobody takes the bits.
    """
    with lines.block("for (size_t base = 0; base < burst->count; base += 64)"):
        lines.add("uint8_t holds[64];")
        with lines.block("for (size_t at = 0; at < 64; at++)"):
            lines.add(f"holds[at] = {condition()};")
        lines.add(f"{to}[base / 64] = gs_bits_of(holds);")


def _write_bits(lines: Lines, to: str, condition: Callable[[], str]) -> None:
    with lines.block("for (uint32_t base = 0; base < burst->count; base += 64)"):
        lines.add(
            "const uint32_t end = burst->count - base < 64 ? burst->count - base : 64;",
            "uint64_t bits = 0;",
        )
        with lines.block("for (uint32_t at = 0; at < end; at++)"):
            lines.add(
                "const struct gs_packet *packet = &burst->packets[base + at];", "(void)packet;"
            )
            lines.add(f"bits |= (uint64_t)({condition()}) << at;")
        lines.add(f"{to}[base / 64] = bits;")


def present(presence: Presence) -> str:
    """C condition: `packet` is what the test asks for."""
    tests = [has_bits(presence.mask)]
    for field in presence.required:
        value = zero(field.type) if is_struct(field.type) else f"({C_TYPE[field.type]}){{0}}"
        tests.append(_absent_test(field, value))
    return "(" + " && ".join(tests) + ")"


def _absent_test(field: FieldRef, value: str) -> str:
    if field.accessor == "community_id":
        return f"(burst->scratch->used = 0, {read_field(field, 'packet', f'({value})')})"
    return read_field(field, "packet", f"({value})")


def _write_fields(lines: Lines, plan: Plan, nodes: Sequence[LowNode]) -> None:
    by_mask: dict[str, list[FieldRef]] = {}
    for field, mask in early_fields(plan, nodes):
        by_mask.setdefault(mask, []).append(field)
    for mask, fields in by_mask.items():
        with lines.block("for (uint32_t at = 0; at < burst->count; at++)"):
            lines.add("const struct gs_packet *packet = &burst->packets[at];")
            lines.add(f"if (!({mask})) continue;")
            for field in fields:
                lines.add(f"{read_field(field, 'packet', f'columns->{field.accessor}[at]')};")


def _predicate(lines: Lines, e: Expression) -> str:
    def leaf(node: Expression) -> CValue:
        assert isinstance(node, FieldRef)
        return CValue(f"columns->{node.accessor}[base + at]")

    def unused(_: object) -> str:
        raise AssertionError("the prefilter calls no function")

    return ExpressionWriter(lines, leaf, "continue;", unused, "").truth(e)

# SPDX-License-Identifier: Apache-2.0
"""The unpack stage and the prefilter, over a burst at a time.

The bit vector of Gigascope's prefilter, turned by a quarter: one bit a packet for each predicate,
so that an LFTA's signature is an AND of words over 64 packets and packets are counted by popcount.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gigastream.codegen.c_text import C_TYPE, Lines, comment, is_struct, zero
from gigastream.codegen.context import CodeContext, base_of, bit_of, bits_of, bits_of_source
from gigastream.codegen.expressions import CValue, ExpressionWriter
from gigastream.gsql.expressions import INTERFACE_NAME, ROW_NUMBER, Expression, FieldRef
from gigastream.gsql.stream_names import is_of_stream
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


def presences(plan: Plan) -> list[Presence]:
    """The distinct presence tests of a plan."""
    wanted = [presence_of(node) for node in plan.low]
    wanted += [test for node in plan.low for test in narrowing_of(node) or ()]
    wanted += [test for node in plan.low for test in filter_presence_of(node)]
    wanted += [numbered_of(node) for node in plan.low if node.row_column is not None]
    return list({test.key: test for test in wanted}.values())


def presence_row(context: CodeContext, test: Presence) -> str:
    """Where unpack leaves the bits of a presence test, for 64 packets."""
    if not context.presence_rows:  # once: every LFTA asks, and each is one of the tests
        known = enumerate(presences(context.plan))
        context.presence_rows.update((test.key, index) for index, test in known)
    return f"columns->present[{context.presence_rows[test.key]}][base / 64]"


def early_fields_of(plan: Plan, node: LowNode) -> list[FieldRef]:
    """Those of an LFTA that are unpacked for the whole burst."""
    if node.filter is not None:
        return []  # it looks at packets of two kinds, each with fields of its own
    mine = [plan.prefilter[i] for i in node.signature]
    read = fields_of(*node.expressions, *mine)
    return [
        field for field in read if field.accessor in plan.early_fields and not field.is_optional
    ]


def early_fields(plan: Plan) -> list[tuple[FieldRef, str]]:
    """Fields unpacked for the whole burst, with the protocols that guard each.

    The guard is the protocol that a query reads, not the one that declares the field: what is
    inherited from ETH is asked of packets of other links too, and its accessors know that.
    """
    fields: dict[str, FieldRef] = {}
    guards: dict[str, set[str]] = {}
    for node in plan.low:
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
        lines.add(f"uint64_t present[{len(presences(plan)) or 1}][GS_BURST_WORDS];")
        lines.add(f"uint64_t passed[{len(plan.prefilter) or 1}][GS_BURST_WORDS];")
        for field, _ in early_fields(plan):
            lines.add(f"{C_TYPE[field.type]} {field.accessor}[GS_BURST_CAPACITY];")
    lines.add("")


def write_unpack(lines: Lines, context: CodeContext) -> None:
    """The function `unpack`."""
    plan = context.plan
    with lines.block("static void unpack(const struct gs_burst *burst, void *memory)"):
        lines.add("struct burst_columns *columns = memory;")
        lines.add("(void)columns;")
        for index, presence in enumerate(presences(plan)):
            _write_bits(lines, f"columns->present[{index}]", partial(_present, presence))
        _write_fields(lines, plan)
        for index, predicate in enumerate(plan.prefilter):
            lines.add(comment(expression_text(predicate)))
            _write_bits(lines, f"columns->passed[{index}]", partial(_predicate, lines, predicate))
    lines.add("")


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


def _present(presence: Presence) -> str:
    tests = [has_bits(presence.mask)]
    for field in presence.required:
        value = zero(field.type) if is_struct(field.type) else f"({C_TYPE[field.type]}){{0}}"
        tests.append(_absent_test(field, value))
    return "(" + " && ".join(tests) + ")"


def _absent_test(field: FieldRef, value: str) -> str:
    if field.accessor == "community_id":
        return f"(burst->scratch->used = 0, {read_field(field, 'packet', f'({value})')})"
    return read_field(field, "packet", f"({value})")


def _write_fields(lines: Lines, plan: Plan) -> None:
    by_mask: dict[str, list[FieldRef]] = {}
    for field, mask in early_fields(plan):
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

# SPDX-License-Identifier: Apache-2.0
"""What LFTAs have in common as C: the packets of a burst that are left, and their fields."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import C_TYPE, Lines, comment, zero
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue, ExpressionWriter
from gigastream.codegen.unpack import (
    early_fields_of,
    narrowing_of,
    numbered_of,
    presence_of,
    presence_row,
    read_field,
)
from gigastream.codegen.watchlists import column_of, write_lookup
from gigastream.gsql.expressions import Expression, FieldRef, FunctionCall, ListValue, walk
from gigastream.late_dataclass import replace
from gigastream.plan.accumulators import expression_key
from gigastream.plan.costs import fields_of, makes_strings
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.text import expression_text

NO_VALUE = "lfta->counters.no_value++; continue;"


class TupleWriter:
    """Writes what is evaluated for a packet that the prefilter has let through."""

    def __init__(
        self, lines: Lines, context: CodeContext, node: LowNode, *, fail: str = NO_VALUE
    ) -> None:
        """`fail` is what a packet without a value comes to."""
        self._lines = lines
        self._node = node
        self._context = context
        self._early = {field.accessor for field in early_fields_of(context.plan, node)}
        self._loaded: set[str] = set()
        self._rows: dict[object, str] = {}
        """In C, the row of a list that a packet has, by the list and the keys."""
        self.writer = self._writer(fail)

    def _writer(self, fail: str) -> ExpressionWriter:
        def handles(call: FunctionCall) -> str:
            return f"lfta->handles[{self._context.handle(call)}]"

        fail = f"{{ {fail} }}"
        return ExpressionWriter(self._lines, self._leaf, fail, handles, "burst->scratch")

    def _leaf(self, e: Expression) -> CValue:
        if isinstance(e, ListValue):
            number = self._context.watchlist(e.watchlist)
            return CValue(column_of(e, number, self._rows[_lookup_key(e)]))
        assert isinstance(e, FieldRef)
        if e.is_optional:
            return CValue(f"any_{_name(e)}", f"no_{_name(e)}")
        if e.accessor in self._early:
            return CValue(f"columns->{e.accessor}[at]")
        return CValue(f"f_{_name(e)}")

    def load(self, *expressions: Expression) -> None:
        """Read the fields that are not in a column of the burst and not read yet; then lists."""
        for e in expressions:
            for call in walk(e):
                if isinstance(call, FunctionCall):
                    self._context.called(call)
        for field in fields_of(*expressions):
            if field.is_optional:
                self._load_optional(field)
                continue
            if field.accessor in self._early or field.accessor in self._loaded:
                continue
            self._loaded.add(field.accessor)
            name = f"f_{_name(field)}"
            self._lines.add(
                f"{C_TYPE[field.type]} {name};",
                f"if (!{read_field(field, 'packet', name)}) continue;",
            )

        for e in expressions:
            for part in walk(e):
                if isinstance(part, ListValue):
                    self._look_up(part)

    def _look_up(self, e: ListValue) -> None:
        """Find the row of a list, once a packet; one that has none is rejected."""
        key = _lookup_key(e)
        if key in self._rows:
            return
        number = self._context.watchlist(e.watchlist)
        values = [self.writer.value(part) for part in e.keys]
        self._lines.add(comment(expression_text(replace(e, column=None))))
        types = [part.type for part in e.keys]
        self._rows[key] = write_lookup(self._lines, number, types, values)

    def _load_optional(self, field: FieldRef) -> None:
        """Read a field of `*`: a packet that lacks it has NULL."""
        name = f"any_{_name(field)}"
        if name in self._loaded:
            return
        self._loaded.add(name)
        self._lines.add(
            f"{C_TYPE[field.type]} {name} = {zero(field.type)};",
            f"const bool no_{_name(field)} = !{read_field(field, 'packet', name)};",
        )

    def prefilter(self, predicates: Sequence[Expression]) -> None:
        """Ask the predicates of the prefilter, where nobody has done so for the whole burst."""
        fail = "lfta->counters.prefiltered++; continue;"
        for predicate in predicates:
            self.load(predicate)
            self._lines.add(comment(expression_text(predicate)))
            condition = self._writer(fail).truth(predicate)
            self._lines.add(f"if (!({condition})) {{ {fail} }}")

    def predicates(self) -> None:
        """The conjuncts of WHERE that the prefilter has not decided."""
        for predicate in self._node.predicates:
            self.load(predicate)
            if isinstance(predicate, ListValue) and predicate.column is None:
                continue  # decided where the row was looked up
            self._lines.add(comment(expression_text(predicate)))
            condition = self.writer.truth(predicate)
            with self._lines.block(f"if (!({condition}))"):
                self._lines.add("lfta->counters.rejected++;", "continue;")


def _lookup_key(e: ListValue) -> object:
    return e.watchlist, tuple(map(expression_key, e.keys))


def _name(field: FieldRef) -> str:
    return field.accessor.removeprefix("@")


def write_candidates(lines: Lines, context: CodeContext, node: LowNode) -> None:
    """`candidates` of 64 packets: present and passed; the others are counted by their cause."""
    present = presence_row(context, presence_of(node))
    lines.add(
        "const uint32_t end = burst->count - base < 64 ? burst->count - base : 64;",
        f"uint64_t candidates = {present};",
    )
    _write_absent(lines, context, node)
    if node.row_column is not None:
        numbered = presence_row(context, numbered_of(node))
        lines.add(
            f"const uint64_t numbered = {numbered}, first_row = lfta->tuple_count;",
            "lfta->tuple_count += (uint32_t)__builtin_popcountll(numbered);",
        )
    if not node.signature:
        return
    signature = " & ".join(f"columns->passed[{bit}][base / 64]" for bit in node.signature)
    lines.add(
        f"const uint64_t passed = candidates & {signature};",
        "lfta->counters.prefiltered += (uint32_t)__builtin_popcountll(candidates ^ passed);",
        "candidates = passed;",
    )


def _write_absent(lines: Lines, context: CodeContext, node: LowNode) -> None:
    narrowing = narrowing_of(node)
    if narrowing is None:
        absent = "end - (uint32_t)__builtin_popcountll(candidates)"
        lines.add(f"lfta->counters.not_of_protocol += {absent};")
        return
    protocol, narrow = (presence_row(context, test) for test in narrowing)
    lines.add(
        f"const uint64_t protocol = {protocol}, narrow = {narrow};",
        "lfta->counters.not_of_protocol += end - (uint32_t)__builtin_popcountll(protocol) +",
        "    (uint32_t)__builtin_popcountll(narrow & ~candidates);",
        "lfta->counters.prefiltered += (uint32_t)__builtin_popcountll(protocol & ~narrow);",
    )


def burst_head(prefix: str) -> str:
    """The head of an LFTA's function over a burst."""
    return (
        f"static void {prefix}_burst(struct gs_lfta *lfta, const struct gs_burst *burst, "
        "const void *memory)"
    )


def write_packet(lines: Lines, node: LowNode) -> None:
    """The next of the candidates."""
    lines.add(
        "const uint32_t at = base + (uint32_t)__builtin_ctzll(candidates);",
        "const struct gs_packet *packet = &burst->packets[at];",
        "(void)packet;",
    )
    if node.row_column is not None:
        lines.add(
            "const uint64_t before = numbered & ((UINT64_C(1) << (at - base)) - 1);",
            "const int64_t row_number = (int64_t)first_row + __builtin_popcountll(before);",
        )
    reset_scratch(lines, node)


def reset_scratch(lines: Lines, node: LowNode) -> None:
    """A new packet: strings made for the last one are needed no more."""
    if any(map(makes_strings, node.expressions)):
        lines.add("burst->scratch->used = 0;")

# SPDX-License-Identifier: Apache-2.0
"""LFTAs as C: selection, and partial aggregation in the direct-mapped table.

An LFTA works on a burst in two passes: the first finds the tuples, their group values and their
slots, and prefetches; the second touches the slots, which have arrived by then.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.accumulators import WRITERS
from gigastream.codegen.c_text import C_TYPE, Lines, comment, string_literal, zero
from gigastream.codegen.columns import put, write_row, write_schema
from gigastream.codegen.context import CodeContext
from gigastream.codegen.expressions import CValue, ExpressionWriter
from gigastream.codegen.keys import equal, from_bound, size_rank, to_bound, write_hash
from gigastream.codegen.unpack import (
    early_fields,
    narrowing_of,
    presence_of,
    presence_row,
    read_field,
)
from gigastream.flush_policy import MAX_DISORDER_WINDOWS, FlushPolicy
from gigastream.gsql.expressions import Expression, FieldRef, FunctionCall, walk
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.queries import QueryOptions
from gigastream.gsql.types import Type
from gigastream.plan.accumulators import KINDS
from gigastream.plan.costs import fields_of
from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.operators.low_select import LowSelect
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.text import expression_text


class UnknownInterfacesError(Exception):
    """An interface set is asked for where nothing says which interfaces there are."""

    exit_code = 2
    hint = "-c FILE.toml names a configuration with their properties, [interface.NAME]"

    def __init__(self, interface_set: str) -> None:
        super().__init__(f"which interfaces are in the set {interface_set} is not known")


def write_low(lines: Lines, context: CodeContext, node: LowNode) -> None:
    """Everything of one LFTA: schema, functions, `<prefix>_ops`."""
    prefix = context.prefix(node.name)
    lines.add(comment(f"LFTA {node.name}"))
    write_schema(lines, prefix, node.name, node.schema)
    if isinstance(node, PartialAggregate):
        _write_slot(lines, prefix, node)
        _write_emit(lines, prefix, node)
        _write_aggregation(lines, context, prefix, node)
    else:
        assert isinstance(node, LowSelect)
        _write_selection(lines, context, prefix, node)
    temporal = _temporal_columns(node)
    functions = [node.bounds[index] for index in temporal]
    _write_carrier(lines, f"{prefix}_bounds", functions)
    _write_carrier(lines, f"{prefix}_needs", list(node.needs))
    _write_ops(lines, prefix, node, temporal)


def write_low_stream(lines: Lines, context: CodeContext, node: LowNode) -> None:
    """Only what the high level needs of an LFTA that runs elsewhere: its schema, its interfaces."""
    prefix = context.prefix(node.name)
    lines.add(comment(f"The stream of LFTA {node.name}"))
    write_schema(lines, prefix, node.name, node.schema)
    interfaces = _write_interfaces(lines, prefix, node)
    with lines.block(f"static const struct gs_lfta_ops {prefix}_ops =", "};"):
        lines.add(".kind = GS_LFTA_SELECTION,", f".interfaces = {interfaces},")
    lines.add("")


def _write_interfaces(lines: Lines, prefix: str, node: LowNode) -> str:
    """The names of those that an LFTA is bound to; return what refers to them."""
    interfaces = bound_interfaces(node)
    if interfaces is None:
        return "NULL"
    names = "".join(f"{string_literal(name.encode())}, " for name in interfaces)
    lines.add(f"static const char *const {prefix}_interfaces[] = {{{names}NULL}};")
    return f"{prefix}_interfaces"


def _temporal_columns(node: LowNode) -> list[int]:
    return [i for i, c in enumerate(node.schema.columns) if c.temporal.is_temporal]


def _write_carrier(lines: Lines, name: str, functions: Sequence[Monotone | None]) -> None:
    with lines.block(f"static void {name}(int64_t timestamp_ns, gs_bound *bounds)"):
        lines.add("(void)timestamp_ns, (void)bounds;")
        for index, function in enumerate(functions):
            code = "GS_BOUND_NONE" if function is None else function.c_forward("timestamp_ns")
            lines.add(f"bounds[{index}] = {code};")
    lines.add("")


def _write_ops(lines: Lines, prefix: str, node: LowNode, temporal: list[int]) -> None:
    options = node.options
    is_aggregation = isinstance(node, PartialAggregate)
    columns = ", ".join(map(str, temporal)) or "0"
    lines.add(f"static const uint32_t {prefix}_temporal[] = {{{columns}}};")
    interfaces = _write_interfaces(lines, prefix, node)
    with lines.block(f"static const struct gs_lfta_ops {prefix}_ops =", "};"):
        kind = "AGGREGATION" if is_aggregation else "SELECTION"
        lines.add(
            f".kind = GS_LFTA_{kind},",
            f".slot_size = {f'sizeof(struct {prefix}_slot)' if is_aggregation else '0'},",
            f".slot_count = {options.aggregate_slots or 0},",
            f".flush_policy = {(options.flush or FlushPolicy.SLOW).constant},",
            f".slow_flush = {options.slow_flush or 0},",
            f".max_disorder = {_max_disorder(options)},",
            f".temporal_count = {len(temporal)},",
            f".temporal_columns = {prefix}_temporal,",
            f".need_count = {len(node.needs)},",
            f".interfaces = {interfaces},",
            f".burst = {prefix}_burst,",
            f".emit = {f'{prefix}_emit' if is_aggregation else 'NULL'},",
            f".bounds = {prefix}_bounds,",
            f".needs = {prefix}_needs,",
        )
    lines.add("")


def bound_interfaces(node: LowNode) -> tuple[str, ...] | None:
    """The interfaces that an LFTA is bound to; None: every one."""
    source = node.source
    if source.interface:
        return (source.interface,)
    if source.interfaces is None and source.interface_set != "default":
        raise UnknownInterfacesError(source.interface_set)
    return source.interfaces


def is_read(node: LowNode, interface: str) -> bool:
    """Whether an LFTA of the node is on this interface. Raises UnknownInterfacesError."""
    bound = bound_interfaces(node)
    return bound is None or interface in bound


def _max_disorder(options: QueryOptions) -> int:
    asked = options.max_lfta_disorder
    return MAX_DISORDER_WINDOWS if asked is None else asked


# ---- what both kinds do with a burst ----


class _TupleWriter:
    """Writes what is evaluated for a packet that the prefilter has let through."""

    def __init__(self, lines: Lines, context: CodeContext, node: LowNode) -> None:
        self._lines = lines
        self._node = node
        self._context = context
        self._early = {field.accessor for field, _ in early_fields(context.plan)}
        self._loaded: set[str] = set()
        self.writer = self._writer("lfta->counters.no_value++; continue;")

    def _writer(self, fail: str) -> ExpressionWriter:
        def handles(call: FunctionCall) -> str:
            return f"lfta->handles[{self._context.handle(call)}]"

        fail = f"{{ {fail} }}"
        return ExpressionWriter(self._lines, self._leaf, fail, handles, "burst->scratch")

    def _leaf(self, e: Expression) -> CValue:
        assert isinstance(e, FieldRef)
        if e.is_optional:
            return CValue(f"any_{_name(e)}", f"no_{_name(e)}")
        if e.accessor in self._early:
            return CValue(f"columns->{e.accessor}[at]")
        return CValue(f"f_{_name(e)}")

    def load(self, *expressions: Expression) -> None:
        """Read the fields that are not in a column of the burst and not read yet."""
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

    def predicates(self) -> None:
        """The conjuncts of WHERE that the prefilter has not decided."""
        for predicate in self._node.predicates:
            self.load(predicate)
            self._lines.add(comment(expression_text(predicate)))
            condition = self.writer.truth(predicate)
            with self._lines.block(f"if (!({condition}))"):
                self._lines.add("lfta->counters.rejected++;", "continue;")


def _name(field: FieldRef) -> str:
    return field.accessor.removeprefix("@")


def _uses_scratch(node: LowNode) -> bool:
    return any(
        (isinstance(part, FunctionCall) and part.type is Type.STRING)
        or (isinstance(part, FieldRef) and part.accessor == "community_id")
        for e in node.expressions
        for part in walk(e)
    )


def _write_candidates(lines: Lines, context: CodeContext, node: LowNode) -> None:
    """`candidates` of 64 packets: present and passed; the others are counted by their cause."""
    present = presence_row(context.plan, presence_of(node))
    lines.add(
        "const uint32_t end = burst->count - base < 64 ? burst->count - base : 64;",
        f"uint64_t candidates = {present};",
    )
    _write_absent(lines, context, node)
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
    protocol, narrow = (presence_row(context.plan, test) for test in narrowing)
    lines.add(
        f"const uint64_t protocol = {protocol}, narrow = {narrow};",
        "lfta->counters.not_of_protocol += end - (uint32_t)__builtin_popcountll(protocol) +",
        "    (uint32_t)__builtin_popcountll(narrow & ~candidates);",
        "lfta->counters.prefiltered += (uint32_t)__builtin_popcountll(protocol & ~narrow);",
    )


def _burst_head(lines: Lines, prefix: str) -> str:
    return (
        f"static void {prefix}_burst(struct gs_lfta *lfta, const struct gs_burst *burst, "
        "const void *memory)"
    )


def _write_packet(lines: Lines, node: LowNode) -> None:
    lines.add(
        "const uint32_t at = base + (uint32_t)__builtin_ctzll(candidates);",
        "const struct gs_packet *packet = &burst->packets[at];",
        "(void)packet;",
    )
    if _uses_scratch(node):
        lines.add("burst->scratch->used = 0;")


# ---- selection ----


def _write_selection(lines: Lines, context: CodeContext, prefix: str, node: LowSelect) -> None:
    with lines.block(_burst_head(lines, prefix)):
        lines.add("const struct burst_columns *columns = memory;")
        with lines.block("for (uint32_t base = 0; base < burst->count; base += 64)"):
            _write_candidates(lines, context, node)
            with lines.block("for (; candidates != 0; candidates &= candidates - 1)"):
                _write_packet(lines, node)
                _write_selected(lines, context, node)
    lines.add("")


def _write_selected(lines: Lines, context: CodeContext, node: LowSelect) -> None:
    tuple_writer = _TupleWriter(lines, context, node)
    tuple_writer.predicates()
    tuple_writer.load(*(output.expression for output in node.outputs))
    values = []
    for index, output in enumerate(node.outputs):
        lines.add(comment(f"{expression_text(output.expression)} AS {output.name}"))
        values.append(tuple_writer.writer.local(output.expression, f"o{index}"))
    lines.add("lfta->counters.accepted++;")
    write_row(lines, "lfta", "lfta", node.schema, values, "continue")


# ---- partial aggregation ----


def _key_groups(node: PartialAggregate) -> list[int]:
    return [i for i, g in enumerate(node.groups) if not g.expression.temporal.is_temporal]


def _window_groups(node: PartialAggregate) -> list[int]:
    return [i for i, g in enumerate(node.groups) if g.expression.temporal.is_temporal]


def _write_slot(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    members = [(C_TYPE[node.groups[i].expression.type], f"g{i}") for i in _key_groups(node)]
    for index, accumulator in enumerate(node.accumulators):
        states = WRITERS[accumulator.kind].low(f"a{index}", accumulator)
        members += [(state.c_type, state.name) for state in states]
    with lines.block(f"struct {prefix}_slot", "};"):
        lines.add("uint32_t control;")
        for c_type, name in sorted(members, key=lambda member: size_rank(member[0])):
            lines.add(f"{c_type} {name};")
    lines.add("")
    with lines.block(f"struct {prefix}_row", "};"):
        lines.add("uint32_t slot, tag;", f"gs_bound window[{max(1, len(_window_groups(node)))}];")
        for i in _key_groups(node):
            lines.add(f"{C_TYPE[node.groups[i].expression.type]} g{i};")
        for index, accumulator in enumerate(node.accumulators):
            for part, e in enumerate(accumulator.expressions):
                lines.add(f"{C_TYPE[e.type]} x{index}_{part};")
    lines.add("")


def _write_emit(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    head = (
        f"static inline void {prefix}_emit(struct gs_lfta *lfta, const void *memory, "
        "const gs_bound *window)"
    )
    with lines.block(head):
        lines.add(
            f"const struct {prefix}_slot *slot = memory;",
            "struct gs_batch *out = lfta->output;",
            "const uint32_t to = out->row_count++;",
            "(void)slot, (void)window;",
        )
        for index, value in enumerate(_partial_values(node)):
            lines.add(*put("out", index, node.schema.columns[index], "to", CValue(value)))
    lines.add("")


def _partial_values(node: PartialAggregate) -> list[str]:
    windows = {group: k for k, group in enumerate(_window_groups(node))}
    values = []
    for i, group in enumerate(node.groups):
        e = group.expression
        in_window = i in windows
        values.append(
            from_bound(f"window[{windows[i]}]", e.type, e.temporal) if in_window else f"slot->g{i}"
        )
    for index, accumulator in enumerate(node.accumulators):
        values += WRITERS[accumulator.kind].partial(f"slot->a{index}")
    assert all(accumulator.kind in KINDS for accumulator in node.accumulators)
    return values


def _write_aggregation(
    lines: Lines, context: CodeContext, prefix: str, node: PartialAggregate
) -> None:
    with lines.block(_burst_head(lines, prefix)):
        lines.add(
            "const struct burst_columns *columns = memory;",
            "struct gs_lfta_table *table = &lfta->table;",
            f"struct {prefix}_slot *const slots = (void *)table->slots;",
            "const uint64_t hash_key[] = {table->hash_key[0], table->hash_key[1]};",
            "const uint32_t slot_mask = table->slot_mask;",
            f"struct {prefix}_row rows[GS_BURST_CAPACITY];",
            "uint32_t count = 0;",
        )
        with lines.block("for (uint32_t base = 0; base < burst->count; base += 64)"):
            _write_candidates(lines, context, node)
            with lines.block("for (; candidates != 0; candidates &= candidates - 1)"):
                _write_packet(lines, node)
                _write_group(lines, context, prefix, node)
        with lines.block("for (uint32_t at = 0; at < count; at++)"):
            _write_update(lines, prefix, node)
    lines.add("")


def _write_group(lines: Lines, context: CodeContext, prefix: str, node: PartialAggregate) -> None:
    """The first pass: a tuple's group values, arguments and slot."""
    tuple_writer = _TupleWriter(lines, context, node)
    tuple_writer.predicates()
    tuple_writer.load(*(g.expression for g in node.groups))
    tuple_writer.load(*(e for a in node.accumulators for e in a.expressions))
    lines.add(f"struct {prefix}_row *row = &rows[count];")
    windows = {group: k for k, group in enumerate(_window_groups(node))}
    for i, group in enumerate(node.groups):
        lines.add(comment(f"{expression_text(group.expression)} AS {group.name}"))
        value = tuple_writer.writer.value(group.expression).code
        if i in windows:
            _write_window_value(lines, f"row->window[{windows[i]}]", value, group.expression)
        else:
            lines.add(f"row->g{i} = {value};")
    for index, accumulator in enumerate(node.accumulators):
        for part, e in enumerate(accumulator.expressions):
            value = tuple_writer.writer.value(e).code
            lines.add(f"row->x{index}_{part} = {value};")
    _write_place(lines, prefix, node)


def _write_window_value(lines: Lines, to: str, value: str, e: Expression) -> None:
    if e.type is Type.ULLONG:
        lines.add(
            f"if (GS_UNLIKELY({value} > (uint64_t)INT64_MAX)) {{ lfta->counters.no_value++; "
            "continue; }"
        )
    lines.add(f"{to} = {to_bound(value, e.temporal)};")


def _write_place(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    keys = _key_groups(node)
    types = [node.groups[i].expression.type for i in keys]
    write_hash(lines, "hash", "hash_key", types, [f"row->g{i}" for i in keys])
    lines.add(
        "row->slot = (uint32_t)hash & slot_mask;",
        "row->tag = (uint32_t)(hash >> 32) & ~0xffu;",
        "__builtin_prefetch(&slots[row->slot], 1);",
        "count++;",
    )


def _write_update(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    """The second pass: drip, window, slot (the order of OPERATORS section 3)."""
    lines.add(f"const struct {prefix}_row *row = &rows[at];")
    lines.add("if (GS_UNLIKELY(--table->until_drip == 0)) lfta->host->lfta_drip(lfta);")
    count = len(_window_groups(node))
    same = " && ".join(
        ["table->has_last_window"]
        + [f"table->windows[window].values[{k}] == row->window[{k}]" for k in range(count)]
    )
    lines.add("uint32_t window = table->last_window;")
    with lines.block(f"if (GS_UNLIKELY(!({same})))"):
        lines.add("window = lfta->host->lfta_window(lfta, row->window);")
        with lines.block("if (window == GS_LFTA_WINDOWS)"):
            lines.add("lfta->counters.no_value++; /* its clock has wrapped */", "continue;")
    lines.add(
        "lfta->counters.accepted++;",
        "const uint32_t control = row->tag | (window + 1);",
        f"struct {prefix}_slot *slot = &slots[row->slot];",
    )
    keys = [
        equal(node.groups[i].expression.type, f"slot->g{i}", f"row->g{i}")
        for i in _key_groups(node)
    ]
    match = " && ".join(["slot->control == control", *keys])
    with lines.block(f"if (GS_LIKELY({match}))"):
        _write_add(lines, prefix, node)
        lines.add("continue;")
    _write_collision(lines, prefix)
    lines.add("slot->control = control;")
    lines.add(*(f"slot->g{i} = row->g{i};" for i in _key_groups(node)))
    _write_start(lines, node)


def _arguments(node: PartialAggregate, index: int) -> list[str]:
    parts = list(node.accumulators[index].expressions)
    return [f"row->x{index}_{part}" for part in range(len(parts))]


def _write_start(lines: Lines, node: PartialAggregate) -> None:
    for index, accumulator in enumerate(node.accumulators):
        writer = WRITERS[accumulator.kind]
        lines.add(*writer.start(f"slot->a{index}", _arguments(node, index)))


def _write_add(lines: Lines, prefix: str, node: PartialAggregate) -> None:
    overflows = [
        WRITERS[a.kind].overflow(f"slot->a{i}", _arguments(node, i), a)
        for i, a in enumerate(node.accumulators)
    ]
    overflows = [test for test in overflows if test]
    if overflows:
        lines.add("/* a sum that would not fit leaves as it is, and starts again */")
        with lines.block(f"if (GS_UNLIKELY({' || '.join(overflows)}))"):
            _write_emit_slot(lines, prefix)
            _write_start(lines, node)
            lines.add("continue;")
    for index, accumulator in enumerate(node.accumulators):
        writer = WRITERS[accumulator.kind]
        lines.add(*writer.add(f"slot->a{index}", _arguments(node, index)))


def _write_emit_slot(lines: Lines, prefix: str) -> None:
    lines.add(
        "if (GS_UNLIKELY(lfta->output->row_count == lfta->output->row_capacity) && "
        "!lfta->host->lfta_room(lfta, NULL)) continue;",
        f"{prefix}_emit(lfta, slot, table->windows[window].values);",
    )


def _write_collision(lines: Lines, prefix: str) -> None:
    with lines.block("if (slot->control == GS_SLOT_EMPTY)"):
        lines.add("lfta->host->lfta_occupy(lfta, row->slot, window);")
    lines.add("/* the resident is of the same window: neither windows nor bitmaps change */")
    head = "else if (GS_LIKELY((slot->control & 0xff) == window + 1 && !table->leaves_in_order))"
    with lines.block(head):
        _write_emit_slot(lines, prefix)
        lines.add("lfta->counters.evicted++;")
    with lines.block("else"):
        lines.add("lfta->host->lfta_evict(lfta, row->slot, window);")

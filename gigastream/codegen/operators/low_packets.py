# SPDX-License-Identifier: Apache-2.0
"""The loop of an LFTA over the packets of a burst that are left for it.

Where LFTAs share packets, unpack has left bits and columns for all of them. One that is alone goes
over the packets once: it decodes each (csrc/abi/gs_plain.h), tests it and loads just the fields
that it reads, and nothing of that is written to memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gigastream.codegen.c_text import Lines
from gigastream.codegen.context import CodeContext, base_of, bit_of, depth_of, view_of
from gigastream.codegen.operators.low_filter import write_filter_candidates
from gigastream.codegen.operators.low_parts import (
    TupleWriter,
    burst_head,
    reset_scratch,
    write_candidates,
    write_packet,
)
from gigastream.codegen.unpack import is_alone, narrowing_of, presence_of, present
from gigastream.gsql.stream_names import is_of_stream
from gigastream.plan.costs import fields_of
from gigastream.plan.operators.low_node import LowNode

NOT_IN_FRAMES = frozenset({"packet_id", "interface"})
"""Fields of the capture part that a struct gs_frame does not have."""


def takes_frames(context: CodeContext, node: LowNode) -> bool:
    """Whether the frames of packets are all that an LFTA needs, and nobody else needs more.

    Accessors of the user's may look at anything of a packet.
    """
    source = node.source
    if not is_alone(context.plan, node) or view_of(node).is_changed or source.headers:
        return False
    if is_of_stream(source.protocol):
        return False
    predicates = [context.plan.prefilter[bit] for bit in node.signature]
    read = fields_of(*node.expressions, *predicates, *source.required)
    return not any(field.accessor in NOT_IN_FRAMES for field in read)


@contextmanager
def burst_function(
    lines: Lines, context: CodeContext, prefix: str, node: LowNode
) -> Iterator[None]:
    """An LFTA's function over a burst; what is written inside is its body.

    Of one that takes frames it is compiled twice: where records are walked over, `is_walk`, they
    are read in the same loop.
    """
    if not takes_frames(context, node):
        with lines.block(burst_head(prefix)):
            lines.add("const bool is_walk = false;", "(void)is_walk;")
            yield
        lines.add("")
        return
    parameters = "struct gs_lfta *lfta, const struct gs_burst *burst, const void *memory"
    with lines.block(f"GS_ALWAYS_INLINE void {prefix}_packets({parameters}, const bool is_walk)"):
        yield
    lines.add("")
    with lines.block(burst_head(prefix)):
        lines.add("if (GS_WALKS && burst->walk != NULL)")
        lines.add(f"    {prefix}_packets(lfta, burst, memory, true);", "else")
        lines.add(f"    {prefix}_packets(lfta, burst, memory, false);")
    lines.add("")


@contextmanager
def each_packet(lines: Lines, context: CodeContext, node: LowNode) -> Iterator[TupleWriter]:
    """What is written inside is done for each packet that is left; the others are counted."""
    if is_alone(context.plan, node):
        lines.add("struct gs_burst_cursor cursor = gs_burst_begin(burst, is_walk);")
        with lines.block("for (; gs_burst_has_next(&cursor); gs_burst_go_on(&cursor))"):
            yield _own_packet(lines, context, node)
        lines.add("gs_burst_end(&cursor, burst);")
        return
    with lines.block("for (uint32_t base = 0; base < burst->count; base += 64)"):
        write_candidates(lines, context, node)
        write_filter_candidates(lines, context, node)
        with lines.block("for (; candidates != 0; candidates &= candidates - 1)"):
            write_packet(lines, node)
            yield TupleWriter(lines, context, node)


def _own_packet(lines: Lines, context: CodeContext, node: LowNode) -> TupleWriter:
    """Decode one, and ask whether it is a tuple that the prefilter lets through."""
    wanted, depth = bit_of(base_of(node)), depth_of(context.plan)
    lines.add(
        "const struct gs_packet whole =",
        f"    gs_burst_packet(lfta->host, &cursor, {wanted}, {depth});",
        "const struct gs_packet *const packet = &whole;",
        "(void)packet;",
    )
    reset_scratch(lines, node)
    narrowing = narrowing_of(node)
    if narrowing is not None:
        protocol, narrow = map(present, narrowing)
        lines.add(
            f"if (!{protocol}) {{ lfta->counters.not_of_protocol++; continue; }}",
            f"if (!{narrow}) {{ lfta->counters.prefiltered++; continue; }}",
        )
    test = present(presence_of(node))
    lines.add(f"if (!{test}) {{ lfta->counters.not_of_protocol++; continue; }}")
    writer = TupleWriter(lines, context, node)
    writer.prefilter([context.plan.prefilter[bit] for bit in node.signature])
    return writer

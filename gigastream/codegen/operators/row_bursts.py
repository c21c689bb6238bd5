# SPDX-License-Identifier: Apache-2.0
"""Rows of a batch that look for others together, so that what they look into is prefetched.

A first pass makes an element of `rows` of each, counted by `count`; the others go over those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.codegen.c_text import Lines
from gigastream.gsql.expressions import Expression, FunctionCall, walk
from gigastream.gsql.types import Type

ROW_BURST = 64
Pass = Callable[[], None]
"""Writes what is done to `row` of `input`, or to `rows[at]`."""


def row_burst(evaluated: Sequence[Expression], held: Sequence[Expression]) -> int:
    """How many rows a burst has; one where values are in the scratch, or large."""
    calls = (part for e in evaluated for part in walk(e) if isinstance(part, FunctionCall))
    makes_strings = any(call.type is Type.STRING for call in calls)
    return 1 if makes_strings or any(e.type.is_opaque for e in held) else ROW_BURST


def write_bursts(lines: Lines, burst: int, first: Pass, *others: Pass) -> None:
    """The loop over `input`."""
    with lines.block(f"for (uint32_t base = 0; base < input->row_count; base += {burst})"):
        lines.add(
            f"const uint32_t end = input->row_count - base < {burst} ? input->row_count "
            f": base + {burst};",
            "uint32_t count = 0;",
        )
        with lines.block("for (uint32_t row = base; row < end; row++)"):
            first()
        for other in others:
            with lines.block("for (uint32_t at = 0; at < count; at++)"):
                other()


def write_scratch_reset(lines: Lines, evaluated: Sequence[Expression]) -> None:
    """What functions made for the row before is not read again."""
    if any(isinstance(part, FunctionCall) for e in evaluated for part in walk(e)):
        lines.add("op->scratch->used = 0;")

# SPDX-License-Identifier: Apache-2.0
"""Rows of a burst to whoever has their groups, as C, where several engines divide a file.

Between the two passes of a partial aggregation (gigastream/codegen/operators/partial_aggregate.py):
a row is complete then, and has met no slot yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import Lines
from gigastream.codegen.keys import window_groups
from gigastream.gsql.queries import GroupVariable

_AT_ONCE, _AHEAD = 16, 64
"""Rows that are added together; and how far behind them slots are fetched."""


def write_exchange(
    lines: Lines, prefix: str, groups: Sequence[GroupVariable], *, is_shared: bool
) -> None:
    """`<prefix>_deal` and `<prefix>_take`; `<prefix>_add` has been written.

    Where several LFTAs fill the table, `_deal` is given their counts of what has no value.
    """
    windows = range(len(window_groups(groups)))
    same = [f"lanes->window[{k}] == row->window[{k}]" for k in windows]
    _write_deal(lines, prefix, same, is_shared=is_shared)
    differs = [f"row->window[{k}] != rows[base].window[{k}]" for k in windows]
    _write_take(lines, prefix, differs, is_shared=is_shared)


def _write_deal(lines: Lines, prefix: str, same: Sequence[str], *, is_shared: bool) -> None:
    """How many of a burst's rows stay, which are moved to its beginning."""
    counts = ", uint64_t *no_value" if is_shared else ""
    refused = (
        "gs_members_count(no_value, row->passed)" if is_shared else "lfta->counters.no_value++"
    )
    head = f"static uint32_t {prefix}_deal(struct gs_lfta *lfta, struct {prefix}_row *rows,"
    with lines.block(f"{head} uint32_t count{counts})"):
        lines.add(
            "struct gs_lanes *const lanes = lfta->lanes;",
            "const uint32_t parts = lanes->parts;",
            "if (!lfta->host->lfta_lanes(lfta, rows)) return 0;",
        )
        with lines.block("for (uint32_t at = 0; at < count; at++)"):
            lines.add(f"const struct {prefix}_row *row = &rows[at];")
            is_same = " && ".join(["lanes->has_window", *same])
            with lines.block(
                f"if (GS_UNLIKELY(!({is_same})) && !lfta->host->lfta_deals(lfta, row->window))"
            ):
                lines.add("/* its clock has wrapped */", f"{refused};", "continue;")
            lines.add(
                "struct gs_lane *const lane = &lanes->lanes[gs_part_of(row->slot, parts)];",
                f"struct {prefix}_row *to = (struct {prefix}_row *)lane->rows;",
                "to += lane->count++;",
                "*to = *row;",
                "__builtin_prefetch(to + 16, 1);",
            )
        lines.add("return lanes->lanes[lanes->own].count;")
    lines.add("")


def _write_take(lines: Lines, prefix: str, differs: Sequence[str], *, is_shared: bool) -> None:
    """Rows from elsewhere, as many at a time as slots are prefetched for.

    Of a shared slot `_add` itself fetches the lines behind the first.
    """
    fetch = "__builtin_prefetch({}, 1);" if is_shared else "gs_slot_prefetch({}, sizeof *slots);"
    head = f"static void {prefix}_take(struct gs_lfta *lfta, const void *memory, uint32_t count)"
    with lines.block(head):
        lines.add(
            f"const struct {prefix}_row *const rows = memory;",
            f"const struct {prefix}_slot *const slots = (void *)lfta->table.slots;",
            "const uint32_t slot_mask = lfta->table.slot_mask;",
        )
        with lines.block(f"for (uint32_t at = 0; at < count && at < {_AHEAD}; at++)"):
            lines.add(fetch.format("&slots[rows[at].slot & slot_mask]"))
        with lines.block(f"for (uint32_t base = 0; base < count; base += {_AT_ONCE})"):
            lines.add(
                f"const uint32_t end = count - base < {_AT_ONCE} ? count : base + {_AT_ONCE};",
                "bool differs = false;",
            )
            with lines.block("for (uint32_t at = base; at < end; at++)"):
                lines.add(
                    f"const struct {prefix}_row *row = &rows[at], *later = row;",
                    f"if (count - at > {_AHEAD}) later += {_AHEAD};",
                    *([f"differs |= {' || '.join(differs)};"] if differs else []),
                    fetch.format("&slots[later->slot & slot_mask]"),
                )
            lines.add(f"{prefix}_add(lfta, &rows[base], end - base, differs);")
    lines.add("")

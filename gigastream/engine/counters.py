# SPDX-License-Identifier: Apache-2.0
"""Reading the counters of an engine and its query sets into dataclasses."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.statistics import (
    LINK_STATES,
    OF_FRAGMENTS,
    OF_SEGMENTS,
    LftaStatistics,
    OperatorStatistics,
    SourceStatistics,
)
from gigastream.plan.base_time import BaseTimes, promised
from gigastream.sources.files import OpenSource
from gigastream.sources.packets import OpenPackets

if TYPE_CHECKING:
    from gigastream.records.open_stream import OpenStream

    Opened = OpenSource | OpenPackets | OpenStream

_SOURCE_COUNTERS = (
    "read", "undecodable", "filtered", "late", "skew", "sampled_out", "decoded", "truncated",
    "carried", "clock_steps", "clock_step_ns",
    "worst_lateness_ns", "kernel_received", "kernel_dropped", "freezes", "nic_dropped", "lag_ns",
    "oversized", "unread", "filtered_tagged", "promise_ns", "answered", "failures",
    "taken_before", "dropped_before", "ring_blocks", "ring_used",
)  # fmt: skip
_LFTA_COUNTERS = (
    "not_of_protocol", "prefiltered", "rejected", "no_value", "accepted", "evicted", "slots",
    "held_bytes", "peak_bytes", "rows_out", "groups", "groups_most", "ways", "promised_ns",
    "forgotten", "opened", "unopened", "too_deep", *OF_FRAGMENTS, *OF_SEGMENTS,
)  # fmt: skip
_OPERATOR_COUNTERS = (
    "rows_in", "rows_out", "rejected", "no_value", "held", "groups_refused", "rows_refused",
    "refused_for_memory", "beyond_limit", "out_of_order", "passed_over",
    "held_bytes", "peak_bytes",
)  # fmt: skip

_CODES = {"uint64_t": "Q", "int64_t": "q", "uint32_t": "I", "int32_t": "i"}


class _Numbers:
    """Integers of a native struct: a report takes them all at once, not one by one."""

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        """`kind` is the struct's name."""
        fields = dict(ffi.typeof(f"struct {kind}").fields)
        self._names = sorted(names, key=lambda name: fields[name].offset)
        layout, end = "=", 0
        for name in self._names:
            found = fields[name]
            layout += f"{found.offset - end}x{_CODES[found.type.cname]}"
            end = found.offset + ffi.sizeof(found.type)
        self._layout = struct.Struct(layout)

    def of(self, native: Any) -> dict[str, int]:
        """By name; `native` is a pointer to the struct."""
        found = self._layout.unpack_from(ffi.buffer(native))
        return dict(zip(self._names, found, strict=True))


_SOURCE = _Numbers("gs_source_statistics", _SOURCE_COUNTERS)
_LFTA = _Numbers("gs_lfta_statistics", _LFTA_COUNTERS)
_OPERATOR = _Numbers("gs_operator_statistics", _OPERATOR_COUNTERS)


def sources(engine: Any, opened: Sequence[Opened | None]) -> tuple[SourceStatistics, ...]:
    """The counters of an engine's sources so far; `opened` are these, None for a link."""
    native = ffi.new("struct gs_source_statistics *")
    found = []
    for index in range(lib.gs_engine_source_count(engine)):
        lib.gs_engine_source_statistics(engine, index, native)
        found.append(_source(native, opened[index]))
    return tuple(found)


def _source(native: Any, opened: Opened | None) -> SourceStatistics:
    """`opened` is None of a live link."""
    compressed = None if opened is None else opened.compressed_bytes
    size = 0 if opened is None else opened.total_bytes
    stream = None if isinstance(opened, OpenSource | OpenPackets) else opened
    done, total = compressed or (native.bytes, native.total_bytes or size)
    damage = None if opened is None else opened.damage
    damage = damage or (_string(native.message) if native.is_damaged else None)
    return SourceStatistics(
        label=_string(native.label),
        interface=_string(native.interface),
        bytes=done,
        total_bytes=total,
        damage=damage,
        high_ns=native.high_timestamp_ns,
        is_failed=bool(native.is_failed),
        is_ended=bool(native.is_ended),
        link=LINK_STATES[native.link_state],
        asked=native.wanted.count,
        undecodable_first=None if stream is None else stream.first_undecodable,
        notes=() if stream is None else tuple(stream.notes),
        **_SOURCE.of(native),
    )


def lftas(attached: Any) -> tuple[LftaStatistics, ...]:
    """The counters of a query set's low level so far."""
    native = ffi.new("struct gs_lfta_statistics *")
    found = []
    for index in range(lib.gs_attached_lfta_count(attached)):
        lib.gs_attached_lfta_statistics(attached, index, native)
        name, interface = _string(native.name), _string(native.interface)
        found.append(LftaStatistics(name, interface, **_LFTA.of(native)))
    return tuple(found)


def operators(attached: Any, times: Mapping[str, BaseTimes]) -> tuple[OperatorStatistics, ...]:
    """The counters of a query set's high level so far; `times` are those of its plan."""
    native = ffi.new("struct gs_operator_statistics *")
    found = []
    for index in range(lib.gs_attached_operator_count(attached)):
        lib.gs_attached_operator_statistics(attached, index, native)
        kind = _string(native.kind)
        if kind in ("lfta", "output"):
            continue
        name = _string(native.name)
        bounds = ffi.unpack(native.bounds, native.column_count) if native.column_count else ()
        promised_ns = promised(times.get(name, ()), bounds)
        counters = _OPERATOR.of(native)
        found.append(OperatorStatistics(name, kind, **counters, promised_ns=promised_ns, raised=()))
    return tuple(found)


def outputs(attached: Any) -> dict[str, list[int]]:
    """The output nodes of a query set at work, by query."""
    native = ffi.new("struct gs_operator_statistics *")
    found: dict[str, list[int]] = {}
    for index in range(lib.gs_attached_operator_count(attached)):
        lib.gs_attached_operator_statistics(attached, index, native)
        if _string(native.kind) == "output":
            found.setdefault(_string(native.name), []).append(index)
    return found


def cut_rows(attached: Any, outputs: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Rows of windows not seen whole that these outputs have left out so far, by query."""
    return {
        query: sum(int(lib.gs_attached_cut_rows(attached, node)) for node in nodes)
        for query, nodes in outputs.items()
    }


def _string(text: Any) -> str:
    return os.fsdecode(ffi.string(text))

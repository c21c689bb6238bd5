# SPDX-License-Identifier: Apache-2.0
"""The trailing BPF filter, given to the engine for every link type that it makes sense for."""

from __future__ import annotations

from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import check
from gigastream.sources.bpf import CompiledFilter, FilterError

DLT_RAW = 12
"""libpcap's own number for what capture files call 101 (and 14)."""
LINK_TYPES = (
    *(1, 0, 6, 9, 10, 12, 14, 50, 101, 104, 105, 107, 108, 113, 117, 123, 127, 192, 228, 229),
    *(239, 242, 258, 276),
)


def add_filter(engine: Any, text: str) -> list[Any]:
    """Compile and add the filter; what is returned must live as long as the engine.

    Raises FilterError where no link type takes it. Packets of a link type that does not are
    filtered out.
    """
    error = ffi.new("struct gs_error *")
    kept: list[Any] = []
    refused: FilterError | None = None
    for link_type in LINK_TYPES:
        try:
            compiled = CompiledFilter(text, DLT_RAW if link_type in (14, 101) else link_type)
        except FilterError as problem:
            refused = refused or problem
            continue
        kept.append(compiled)
        function = ffi.cast("gs_filter_function", compiled.match_address)
        program = ffi.cast("void *", compiled.program_address)
        check(lib.gs_engine_add_filter(engine, link_type, function, program, error), error)
    if refused is not None and not kept:
        raise refused
    return kept

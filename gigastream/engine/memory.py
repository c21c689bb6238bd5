# SPDX-License-Identifier: Apache-2.0
"""The memory budget that the engines of this process share."""

from __future__ import annotations

from functools import cache
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError
from gigastream.engine.statistics import MemoryStatistics
from gigastream.memory import Budget, budget


@cache
def default_budget() -> Budget:
    """What this process has when nobody says: looked up once, before privileges are gone."""
    return budget()


@cache
def account(limit_bytes: int | None) -> Any:
    """The `struct gs_memory *` of everyone who has this limit; None: the default."""
    if limit_bytes is None:
        return account(default_budget().bytes)
    memory = lib.gs_memory_new(limit_bytes)
    if memory == ffi.NULL:
        raise EngineError("no memory for the account of memory")
    return memory  # never freed: batches and engines may live as long as the process


def statistics(limit_bytes: int | None) -> MemoryStatistics:
    """What has been taken of it."""
    memory = account(limit_bytes)
    return MemoryStatistics(
        limit_bytes=int(lib.gs_memory_limit(memory)),
        held_bytes=int(lib.gs_memory_held(memory)),
        peak_bytes=int(lib.gs_memory_peak(memory)),
    )

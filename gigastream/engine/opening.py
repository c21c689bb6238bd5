# SPDX-License-Identifier: Apache-2.0
"""An engine for a plan, before its sources: compiled, loaded, told its settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gigastream.codegen.compiler import CompileError, compile_query_set
from gigastream.codegen.query_set import generate
from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, check
from gigastream.plan import Plan
from gigastream.settings import Settings

DEFAULT_SLOTS = 1 << 19
"""Of an LFTA table, where it is alone; several share the same memory."""
LEAST_SLOTS = 1 << 12
DEFAULT_BATCH_ROWS = 4096
DEFAULT_SLACK_NS = 1_000_000_000
GROUP_BYTES = 64
"""What a group is taken to need when max_groups is set from the machine's memory."""
POLICIES = {"slow": 0, "immediate": 1, "slow_inorder": 2, "lazy": 3}


def new_engine(
    plan: Plan,
    settings: Settings,
    include: Sequence[Path],
    *,
    interfaces: int,
    low_taps: bool = False,
    high_level_only: bool = False,
) -> Any:
    """A `struct gs_engine *` of a plan, neither connected nor started. EngineError says why not.

    `interfaces` is their number; `include` are folders of C headers that user protocols name.
    """
    try:
        path = compile_query_set(generate(plan), headers=include)
    except CompileError as problem:
        raise EngineError(str(problem)) from None
    native = _native_settings(settings)
    native.default_slot_count = _default_slots(plan, interfaces)
    native.low_taps, native.high_level_only = low_taps, high_level_only
    engine, error = ffi.new("struct gs_engine **"), ffi.new("struct gs_error *")
    try:
        check(lib.gs_engine_new(str(path).encode(), native, engine, error), error)
    except EngineError:
        lib.gs_engine_free(engine[0])
        raise
    return engine[0]


def _native_settings(s: Settings) -> Any:
    native = ffi.new("struct gs_engine_settings *")
    native.burst = s.burst
    native.batch_rows = s.batch_rows or DEFAULT_BATCH_ROWS
    native.flush_policy = -1 if s.flush is None else POLICIES[s.flush]
    native.slot_count = s.slots or 0
    native.max_groups = s.max_groups or _groups_of_memory()
    native.disorder_bytes = s.disorder_bytes
    native.slack_ns = DEFAULT_SLACK_NS if s.slack_ns is None else s.slack_ns
    native.file_by_slack = s.slack_ns is not None or s.speed is not None
    native.heartbeat_ns = s.heartbeat_ns
    native.heartbeat_packets = s.heartbeat_packets
    native.hash_key = s.hash_key or _random_key()
    native.low_level_only = s.low_level_only
    native.output_punctuation = s.output_punctuation or s.deliver_every_burst
    native.deliver_every_burst = s.deliver_every_burst
    return native


def _default_slots(plan: Plan, interfaces: int) -> int:
    """Slots of each table, so that many queries, or interfaces, need no more memory than one."""
    return max(LEAST_SLOTS, DEFAULT_SLOTS // (max(1, len(plan.low)) * max(1, interfaces)))


def _random_key() -> list[int]:
    """The hash's key, new for every process, so that nobody can construct collisions."""
    return [int.from_bytes(os.urandom(8), "little") | 1 for _ in range(2)]


def _groups_of_memory() -> int:
    """Groups that half of the machine's memory holds."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1 << 16, memory // 2 // GROUP_BYTES)

# SPDX-License-Identifier: Apache-2.0
"""What an engine and its query sets are told before they work: objects, settings, a budget."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gigastream.codegen.compiler import CompileError, compile_query_set
from gigastream.codegen.query_set import generate
from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, check
from gigastream.engine.memory import account, default_budget
from gigastream.flush_policy import FlushPolicy
from gigastream.late_dataclass import replace
from gigastream.plan import Plan
from gigastream.settings import DEFAULT_SLACK_NS, Settings

DEFAULT_SLOTS = 1 << 19
"""Of an LFTA table, where it is alone; several share the same memory."""
LEAST_SLOTS = 1 << 12
DEFAULT_BATCH_ROWS = 4096
NO_LIMIT = (1 << 64) - 1


def compiled(
    plan: Plan,
    include: Sequence[Path],
    *,
    is_low_elsewhere: bool = False,
    is_brief: bool = False,
    fast_path: bool = True,
) -> Path:
    """The object of a plan. EngineError says why there is none.

    `include` are folders of C headers that user protocols name. `is_low_elsewhere`: nothing of the
    low level is compiled, which another process runs. `is_brief`: there is little to run it over.
    """
    if not fast_path:
        plan = replace(plan, is_fused=False)
    text = generate(plan, high_level_only=is_low_elsewhere)
    try:
        return compile_query_set(text, headers=include, is_brief=is_brief)
    except CompileError as problem:
        raise EngineError(str(problem), problem.hint) from None


class BudgetError(EngineError):
    """The budget is not enough for what is needed before the first packet."""

    exit_code = 2


def _budget_error(message: str, memory_bytes: int | None) -> BudgetError:
    """Say also who gave the memory, if nobody has said how much it is to be."""
    if memory_bytes is not None:
        return BudgetError(message, "--memory with a greater size, or --slots with fewer")
    return BudgetError(
        f"{message}: half of {default_budget().origin}",
        "a greater limit; --memory SIZE takes more than half of it; or --slots with fewer",
    )


def check_tables(status: int, error: Any, memory_bytes: int | None) -> None:
    """Raise BudgetError where a set's tables do not fit into this setting; else as check()."""
    if status == lib.GS_REFUSED:
        raise _budget_error(ffi.string(error.message).decode(errors="replace"), memory_bytes)
    check(status, error)


def engine_settings(s: Settings, *, is_resident: bool = False) -> Any:
    """The settings of a reader as the engine takes them."""
    native = ffi.new("struct gs_engine_settings *")
    native.burst = s.burst
    native.disorder_bytes = s.disorder_bytes
    native.slack_ns = DEFAULT_SLACK_NS if s.slack_ns is None else s.slack_ns
    native.file_by_slack = s.file_slack_ns is not None
    native.heartbeat_ns = s.heartbeat_ns if s.is_periodic else 0
    native.heartbeat_packets = s.heartbeat_packets if s.is_periodic else 0
    native.is_on_demand = s.is_on_demand
    native.is_resident = is_resident
    native.hash_key = s.hash_key or random_key()
    native.link_types = link_types(s)[0]
    native.fast_path = s.fast_path
    return native


def link_types(s: Settings) -> Any:
    """The `struct gs_link_types *` of the settings."""
    native = ffi.new("struct gs_link_types *", {"count": len(s.link_types)})
    for place, (number, meant) in enumerate(s.link_types):
        native.types[place] = {"number": number, "taken_as": meant}
    return native


def set_settings(s: Settings) -> Any:
    """The settings of a query set as the engine takes them, but for default_slots()."""
    native = ffi.new("struct gs_attached_settings *")
    native.batch_rows = s.batch_rows or DEFAULT_BATCH_ROWS
    native.flush_policy = -1 if s.flush is None else FlushPolicy(s.flush).number
    native.slot_count = s.slots or 0
    native.max_groups = s.max_groups or NO_LIMIT
    native.max_rows = s.max_rows or NO_LIMIT
    native.hash_key = s.hash_key or random_key()
    native.memory = account(s.memory_bytes)
    native.low_level_only = s.low_level_only
    native.output_punctuation = s.output_punctuation or s.deliver_every_burst
    native.deliver_every_burst = s.deliver_every_burst
    return native


def default_slots(plan: Plan, interfaces: int) -> int:
    """Slots of each table, so that many queries, or interfaces, need no more memory than one."""
    tables = sum(not node.has_table_of_another for node in plan.low)
    return max(LEAST_SLOTS, DEFAULT_SLOTS // (max(1, tables) * max(1, interfaces)))


def random_key() -> tuple[int, int]:
    """The hash's key, new for every process, so that nobody can construct collisions."""
    first, second = (int.from_bytes(os.urandom(8), "little") | 1 for _ in range(2))
    return first, second

# SPDX-License-Identifier: Apache-2.0
"""HANDLE constants, prepared while a query is checked: what a run would refuse is told at once.

Patterns are read by the front end. A list file is read by the engine's own code; a function of
one's own prepares its constants when the run opens, since only the compiler knows how.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from gigastream.engine._native import ffi, lib
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Constant, Expression, FunctionCall, walk
from gigastream.plan.plan import Plan


def check_handles(plan: Plan) -> None:
    """GsqlError with the place of every constant that cannot be prepared."""
    sink = DiagnosticSink()
    for call, constant in _handles(plan):
        problem = _CHECKS[call.name](constant)
        if problem is not None:
            sink.error("bad-handle", problem, call.arguments[call.handle or 0].span)
    sink.raise_if_errors()


def _handles(plan: Plan) -> Iterator[tuple[FunctionCall, bytes]]:
    """The calls whose constants are prepared here."""
    for expression in _expressions(plan):
        for node in walk(expression):
            if not isinstance(node, FunctionCall) or node.handle is None or node.header:
                continue
            argument = node.arguments[node.handle]
            if node.name in _CHECKS and isinstance(argument, Constant):
                assert isinstance(argument.value, bytes)
                yield node, argument.value


def _expressions(plan: Plan) -> Iterator[Expression]:
    yield from plan.prefilter
    for node in plan.nodes:
        yield from (expression for expression, _ in node.evaluated)


def _prefix_file(path: bytes) -> str | None:
    error = ffi.new("struct gs_error *")
    if lib.gs_check_prefix_file(ffi.from_buffer("uint8_t[]", path), len(path), error) == lib.GS_OK:
        return None
    return os.fsdecode(ffi.string(error.message))


_CHECKS: dict[str, Callable[[bytes], str | None]] = {"getlpmid": _prefix_file}
"""By function: what is wrong with a constant, or None."""

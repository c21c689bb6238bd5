# SPDX-License-Identifier: Apache-2.0
"""The options of a query's DEFINE block (GSQL section 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gigastream.flush_policy import FLUSH_POLICIES, FlushPolicy
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean, printable
from gigastream.gsql.queries import ADAPTIVE_SLOTS, QueryOptions
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.blocks import OPTIONS
from gigastream.gsql.tunnels import ALL, TUNNELS, Decapsulation, parse_decapsulation

_MOST = 999_999_999
HELD_WINDOWS = 16
"""Windows that a table of the low level holds at once, the current one too (GS_LFTA_WINDOWS)."""

ADAPTIVE = "adaptive"
"""Of aggregate_slots: the table fits itself to the groups. Of flush: that, and slow."""

_SWITCH = {"true": True, "on": True, "yes": True, "1": True}
_SWITCH |= {"false": False, "off": False, "no": False, "0": False}

_CHOICES = {
    "flush": (*FLUSH_POLICIES, ADAPTIVE),
    "algorithm": ("bloom", "hash"),
    "visibility": ("external", "internal"),
    "outer_default": ("null", "zero"),
}


def bind_options(query: ast.Query, sink: DiagnosticSink) -> QueryOptions:
    """The options that are given; of one that is wrong the sink knows, and it is left out."""
    found: dict[str, Any] = {}
    for entry in query.defines:
        name = entry.name.lower()
        if name in OPTIONS:
            value = _checked(name, entry, sink)
            if value is not None:
                found[name] = value
    if found.get("flush") == ADAPTIVE:
        found["flush"] = FlushPolicy.SLOW
        found.setdefault("aggregate_slots", ADAPTIVE_SLOTS)
    return QueryOptions(**found)


def _checked(name: str, entry: ast.DefineEntry, sink: DiagnosticSink) -> Any:
    if name in _CHOICES:
        value = _choice(entry, _CHOICES[name], sink)
        is_policy = name == "flush" and value != ADAPTIVE
        return FlushPolicy(value) if is_policy and value else value
    check = _CHECKS.get(name)
    return entry.value if check is None else check(entry, sink)


def _choice(entry: ast.DefineEntry, values: tuple[str, ...], sink: DiagnosticSink) -> str | None:
    value = entry.value.lower()
    if value in values:
        return value
    hint = did_you_mean(value, values) or f"it is {', '.join(values[:-1])} or {values[-1]}"
    _refuse(entry, f"'{printable(entry.value)}' is no value of {entry.name}", hint, sink)
    return None


def _switch(entry: ast.DefineEntry, sink: DiagnosticSink) -> bool:
    """After an error it is on, so that nobody complains of what only it allows."""
    value = _SWITCH.get(entry.value.lower())
    if value is None:
        _refuse(entry, f"{entry.name} is true or false", None, sink)
        return True
    return value


def _at_least(
    least: int, word: str = "", most: int = _MOST
) -> Callable[[ast.DefineEntry, DiagnosticSink], int | None]:
    def check(entry: ast.DefineEntry, sink: DiagnosticSink) -> int | None:
        text = entry.value
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MOST))
        if is_number and least <= int(text) <= most:
            return int(text)
        hint = f"or it is {word}" if word else None
        _refuse(entry, f"{entry.name} is a whole number from {least} to {most}", hint, sink)
        return None

    return check


def _power_of_two(entry: ast.DefineEntry, sink: DiagnosticSink) -> int | None:
    """A number of slots, the next power of two of what is asked for; or `adaptive`."""
    if entry.value.lower() == ADAPTIVE:
        return ADAPTIVE_SLOTS
    slots = _at_least(1, ADAPTIVE)(entry, sink)
    return None if slots is None else 1 << (slots - 1).bit_length()


def _tunnels(entry: ast.DefineEntry, sink: DiagnosticSink) -> Decapsulation:
    """After an error all tunnels, so that nobody misses what an outer packet has."""
    try:
        return parse_decapsulation(entry.value)
    except KeyError as wrong:
        name = str(wrong.args[0])
        hint = did_you_mean(name, [*TUNNELS, ALL]) or f"tunnels are {', '.join(TUNNELS)}, or {ALL}"
        _refuse(entry, f"'{printable(name)}' is no tunnel", hint, sink)
    except ValueError as problem:
        _refuse(entry, str(problem), "as in 'vxlan,gre:2'", sink)
    return parse_decapsulation(ALL)


_CHECKS: dict[str, Callable[[ast.DefineEntry, DiagnosticSink], Any]] = {
    "aggregate_slots": _power_of_two,
    "slow_flush": _at_least(1),
    "max_lfta_disorder": _at_least(0, most=HELD_WINDOWS - 1),
    "max_silence": _at_least(1),
    "real_time": _switch,
    "select_lfta": _switch,
    "lfta_aggregation": _switch,
    "no_temporal_aggr": _switch,
    "in_order": _switch,
    "num_bloom": _at_least(1, most=64),
    "bloom_size": _at_least(512, most=1 << 28),
    "decapsulate": _tunnels,
    "defragment": _switch,
    "tcp_order": _switch,
}


def _refuse(entry: ast.DefineEntry, message: str, hint: str | None, sink: DiagnosticSink) -> None:
    sink.error("bad-option", message, entry.value_span, hint)

# SPDX-License-Identifier: Apache-2.0
"""Joins by times of unrelated clocks, whose rows would be held without bound.

A row of time T is held until the other side's time has passed its own by its reach. In stream time
that is some seconds after T, always the same where both times follow one clock at one rate; it
grows, or nobody knows, where they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.order.bounds import END, NONE
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.queries import TimeRelation
from gigastream.plan.base_time import Alternatives, BaseTimes, base_times, through
from gigastream.plan.plan import Plan

_INSTANTS_NS = (1_000_000_000_000_000_000, 4_000_000_000_000_000_000)
"""In the years 2001 and 2096: within what `time` holds."""
_TOLERANCE_NS = (_INSTANTS_NS[1] - _INSTANTS_NS[0]) // 100
"""By which holding may differ between the two: times that are rounded, to months at most."""


def check_clocks(plan: Plan) -> None:
    """GsqlError at the first join of which no two times follow one clock."""
    times: dict[str, BaseTimes] | None = None
    for node in plan.nodes:
        if not node.related_times:
            continue
        times = base_times(plan) if times is None else times
        inputs = [times[child.name] for child in node.inputs]
        if not any(_is_bounded(relation, inputs) for relation in node.related_times):
            _refuse(node.related_times[0], inputs)


def _is_bounded(relation: TimeRelation, inputs: Sequence[BaseTimes]) -> bool:
    sides = _of_base(relation, inputs)
    ways = list(product(*sides))
    return bool(ways) and all(_is_steady(f, g, relation.reach) for f, g in ways)


def _of_base(relation: TimeRelation, inputs: Sequence[BaseTimes]) -> list[Alternatives]:
    return [through([monotone(side)], inputs)[0] for side in relation.sides]


def _is_steady(f: Monotone, g: Monotone, reach: tuple[int, int]) -> bool:
    """True if rows of either side are held for the same time whenever they come."""
    return _holds_alike(f, g, reach[0]) and _holds_alike(g, f, reach[1])


def _holds_alike(own: Monotone, other: Monotone, reach: int) -> bool:
    held = [other.inverse(own.forward(at) + reach + 1) for at in _INSTANTS_NS]
    if not all(NONE < until < END for until in held):
        return False
    first, last = (until - at for until, at in zip(held, _INSTANTS_NS, strict=True))
    return abs(last - first) < _TOLERANCE_NS


def _refuse(relation: TimeRelation, inputs: Sequence[BaseTimes]) -> None:
    names = [side.span.text for side in relation.sides]
    known = _of_base(relation, inputs)
    strange = [name for name, found in zip(names, known, strict=True) if not found]
    if strange:
        message = f"{strange[0]} follows no clock"
        hint = "relate times that packets move, such as time, time_ms, timestamp"
    elif _is_bounded(replace(relation, reach=(0, 0)), inputs):
        message = f"the band of {names[0]} and {names[1]} reaches beyond what they hold"
        hint = "a narrower band"
    else:
        message = f"{names[0]} and {names[1]} are of unrelated clocks"
        hint = "both sides in one unit: a.time = b.time_ms/1000"
    first, last = sorted((side.span for side in relation.sides), key=lambda span: span.start)
    message += ", so the state of the join has no bound"
    raise GsqlError([Diagnostic("error", "unrelated-clocks", message, first.to(last), hint)])

# SPDX-License-Identifier: Apache-2.0
"""Joins by times of unrelated clocks, whose rows would be held without bound.

A row of time T is held until the other side's time has passed its own by its reach. In stream time
that is some seconds after T, always the same where both times follow one clock at one rate; it
grows, or nobody knows, where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.order.bounds import END, NONE
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.queries import TimeRelation
from gigastream.late_dataclass import replace
from gigastream.plan.base_time import Alternatives, BaseTimes, through
from gigastream.plan.plan import Plan
from gigastream.plan.rates import INSTANTS_NS, moves, rate_of


def check_clocks(plan: Plan, times: Mapping[str, BaseTimes]) -> None:
    """GsqlError at the first join of which no two times follow one clock."""
    for node in plan.nodes:
        inputs = [times[child.name] for child in node.inputs]
        related = node.related_times
        if related and not any(_is_bounded(relation, inputs) for relation in related):
            _refuse(related[0], inputs)


def _is_bounded(relation: TimeRelation, inputs: Sequence[BaseTimes]) -> bool:
    sides = _of_base(relation, inputs)
    ways = list(product(*sides))
    return bool(ways) and all(_is_steady(f, g, relation.reach) for f, g in ways)


def _of_base(relation: TimeRelation, inputs: Sequence[BaseTimes]) -> list[Alternatives]:
    return [through([monotone(side)], inputs)[0] for side in relation.sides]


def _is_steady(f: Monotone, g: Monotone, reach: tuple[int, int]) -> bool:
    """True if rows of either side are held for the same time whenever they come."""
    rate = rate_of(f.function)
    is_one = rate is not None and rate == rate_of(g.function)
    return is_one and _lets_go(f, g, reach[0]) and _lets_go(g, f, reach[1])


def _lets_go(own: Monotone, other: Monotone, reach: int) -> bool:
    """True if the other side's time comes to pass that of a row by its reach."""
    held = (other.inverse(own.forward(at) + reach + 1) for at in INSTANTS_NS)
    return all(NONE < until < END for until in held)


def _refuse(relation: TimeRelation, inputs: Sequence[BaseTimes]) -> None:
    names = [side.span.text for side in relation.sides]
    known = _of_base(relation, inputs)
    strange = [name for name, found in zip(names, known, strict=True) if not found]
    if strange:
        message = f"{strange[0]} follows no clock"
        hint = "relate times that packets move, such as time, time_ms, timestamp"
    elif standing := [n for n, times in zip(names, known, strict=True) if _stands(times)]:
        message = f"{standing[0]} stands still as time goes on"
        hint = "relate times that go on, such as time/60"
    elif _is_bounded(replace(relation, reach=(0, 0)), inputs):
        message = f"the band of {names[0]} and {names[1]} reaches beyond what they hold"
        hint = "a narrower band"
    else:
        message = f"{names[0]} and {names[1]} are of unrelated clocks"
        hint = "both sides in one unit: a.time = b.time_ms/1000"
    first, last = sorted((side.span for side in relation.sides), key=lambda span: span.start)
    message += ", so the state of the join has no bound"
    raise GsqlError([Diagnostic("error", "unrelated-clocks", message, first.to(last), hint)])


def _stands(times: Alternatives) -> bool:
    return not moves(times, INSTANTS_NS)

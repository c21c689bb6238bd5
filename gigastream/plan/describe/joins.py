# SPDX-License-Identifier: Apache-2.0
"""A join in words: what matches, what is held until when, what is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.gsql.expressions import ColumnRef, Expression, ports_of, rewrite
from gigastream.gsql.types import Temporal
from gigastream.late_dataclass import replace
from gigastream.plan.costs import columns_of, cost
from gigastream.plan.text import expression_text

if TYPE_CHECKING:
    from gigastream.gsql.queries import Sides, TimeRelation
    from gigastream.plan.operators.join import Join


def pair_text(pair: TimeRelation) -> str:
    """`S0.time = S1.time`, `S1.time - S0.time from -2 to 3`."""
    f, g = map(_text, pair.sides)
    if pair.is_equality:
        return f"{f} = {g}"
    later, earlier = (f, g) if _falls(pair) else (g, f)
    return f"{_operand(later)} - {_operand(earlier)} from {-pair.reach[1]} to {pair.reach[0]}"


def equality_text(sides: Sides) -> str:
    """`S0.srcIP = S1.destIP, hashed`."""
    return f"{_text(sides[0])} = {_text(sides[1])}, hashed"


def condition_text(condition: Expression) -> str:
    """`S0.len > 100 (cost 2)`."""
    return f"{_text(condition)} (cost {cost(condition)})"


def held_text(node: Join, side: int) -> str:
    """Which punctuation lets a side's rows go, and why: later rows are beyond their reach."""
    ways = (_passed(pair, side) for pair in node.pairs)
    end = "they go out alone then, or before where none can match" if node.keeps[side] else ""
    text = f"a row of S{side} until punctuation says {' or '.join(ways)}"
    return f"{text}; {end}" if end else text


def _passed(pair: TimeRelation, side: int) -> str:
    own, other = _text(pair.sides[side]), _text(pair.sides[1 - side])
    reach = pair.reach[side]
    sign, compared = ("-", "<") if _falls(pair) else ("+", ">")
    if reach < 0:
        sign = "+" if sign == "-" else "-"
    limit = f"{own} {sign} {abs(reach)}" if reach else own
    return f"{other} {compared} {limit}"


def promise_text(node: Join, index: int) -> str:
    """How a temporal column of joined rows comes to its punctuation."""
    places = [(port, at) for port, at in enumerate(node.columns[index].places) if at is not None]
    if len(places) == 2:
        return "least punctuation of both inputs"
    ((port, at),) = places
    name = f"S{port}.{node.inputs[port].schema.columns[at].name}"
    for pair in node.pairs:
        if columns_of(pair.sides[port], port=port) == {at}:
            return f"punctuation of {name}, as far as {_text(pair.sides[1 - port])} has passed it"
    return f"punctuation of {name}, as far as no row that is held is below it"


def _falls(pair: TimeRelation) -> bool:
    return pair.sides[0].temporal is Temporal.DECREASING


def _text(e: Expression) -> str:
    def qualify(part: Expression) -> Expression:
        if not isinstance(part, ColumnRef):
            return part
        return replace(part, name=f"S{part.port}.{part.name}")

    return expression_text(e if len(ports_of(e)) > 1 else rewrite(e, qualify))


def _operand(text: str) -> str:
    return f"({text})" if " " in text else text

# SPDX-License-Identifier: Apache-2.0
"""The C of each accumulator: what a slot or group keeps, how a row is added, how partials merge.

A line of WRITERS is an accumulator; gigastream/plan/accumulators.py says which aggregates use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gigastream.codegen.c_text import C_TYPE
from gigastream.gsql.types import Type
from gigastream.plan.nodes import Accumulator

POSITION = "struct gs_position"


@dataclass(frozen=True, slots=True)
class State:
    """One member of a slot's or group's struct."""

    c_type: str
    name: str


@dataclass(frozen=True, slots=True)
class AccumulatorWriter:
    """Statements over members `at` (`slot->a0`), arguments `x` (C values) and partial columns.

    `low` and `high` are the members below and above the border: a signed sum has 128 bits high, so
    that the order of partial rows does not decide whether it overflows.
    """

    low: Callable[[str, Accumulator], list[State]]
    high: Callable[[str, Accumulator], list[State]]
    start: Callable[[str, Sequence[str]], list[str]]
    """The members of a new slot or group from its first row."""
    add: Callable[[str, Sequence[str]], list[str]]
    overflow: Callable[[str, Sequence[str], Accumulator], str]
    """C condition under which a row would not fit a low slot; "" where it always does."""
    partial: Callable[[str], list[str]]
    """The values of a low slot's partial row."""
    merge_start: Callable[[str, Sequence[str]], list[str]]
    merge: Callable[[str, Sequence[str]], list[str]]


def _member(name: str, a: Accumulator) -> list[State]:
    return [State(C_TYPE[a.type], name)]


def _u64(name: str, a: Accumulator) -> list[State]:
    return [State("uint64_t", name)]


def _never(at: str, x: Sequence[str], a: Accumulator) -> str:
    return ""


def _set(at: str, x: Sequence[str]) -> list[str]:
    return [f"{at} = {x[0]};"]


def _value(at: str) -> list[str]:
    return [at]


def _count() -> AccumulatorWriter:
    return AccumulatorWriter(
        _u64,
        _u64,
        lambda at, x: [f"{at} = 1;"],
        lambda at, x: [f"{at}++;"],
        _never,
        _value,
        _set,
        lambda at, x: [f"{at} += {x[0]};"],
    )


def _is_wide(a: Accumulator) -> bool:
    return a.type in (Type.ULLONG, Type.LLONG)


def _unsigned_sum() -> AccumulatorWriter:
    def wide(name: str, a: Accumulator) -> list[State]:
        return [State("uint64_t", name), State("uint8_t", f"{name}_overflowed")]

    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} += {x[0]};"]

    return AccumulatorWriter(
        _u64,
        wide,
        _set,
        add,
        lambda at, x, a: f"{at} + {x[0]} < {at}" if _is_wide(a) else "",
        _value,
        lambda at, x: [f"{at} = {x[0]};", f"{at}_overflowed = 0;"],
        lambda at, x: [f"{at}_overflowed |= __builtin_add_overflow({at}, {x[0]}, &{at});"],
    )


def _signed_sum() -> AccumulatorWriter:
    def overflow(at: str, x: Sequence[str], a: Accumulator) -> str:
        return f"gs_sum_overflows({at}, {x[0]})" if _is_wide(a) else ""

    return AccumulatorWriter(
        lambda name, a: [State("int64_t", name)],
        lambda name, a: [State("__int128", name)],
        _set,
        lambda at, x: [f"{at} += {x[0]};"],
        overflow,
        _value,
        _set,
        lambda at, x: [f"{at} += {x[0]};"],
    )


def _float_sum() -> AccumulatorWriter:
    def state(name: str, a: Accumulator) -> list[State]:
        return [State("double", name)]

    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} += {x[0]};"]

    return AccumulatorWriter(state, state, _set, add, _never, _value, _set, add)


def _order(a: str, b: str, sign: str) -> str:
    """C condition: value a stands before b; addresses compare by their bytes."""
    return f"(GS_ORDER({a}, {b}) {sign} 0)"


def _extreme(sign: str) -> AccumulatorWriter:
    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"if ({_order(x[0], at, sign)}) {at} = {x[0]};"]

    return AccumulatorWriter(_member, _member, _set, add, _never, _value, _set, add)


def _bits(sign: str) -> AccumulatorWriter:
    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} {sign}= {x[0]};"]

    return AccumulatorWriter(_member, _member, _set, add, _never, _value, _set, add)


def _positioned(sign: str) -> AccumulatorWriter:
    """FIRST and LAST; equal positions (rows of a stream) go to the lesser, or greater, value."""

    def state(name: str, a: Accumulator) -> list[State]:
        return [State(C_TYPE[a.type], name), State(POSITION, f"{name}_at")]

    def position(x: Sequence[str]) -> str:
        return f"({POSITION}){{{x[1]}, {x[2]}, {x[3]}}}"

    def start(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} = {x[0]};", f"{at}_at = {position(x)};"]

    def add(at: str, x: Sequence[str]) -> list[str]:
        order = f"gs_position_compare({position(x)}, {at}_at)"
        better = f"{order} {sign} 0 || ({order} == 0 && {_order(x[0], at, sign)})"
        return [f"if ({better}) {{ {' '.join(start(at, x))} }}"]

    def partial(at: str) -> list[str]:
        return [at, *(f"{at}_at.{part}" for part in ("timestamp_ns", "interface", "place"))]

    return AccumulatorWriter(state, state, start, add, _never, partial, start, add)


def _positioned_string(sign: str) -> AccumulatorWriter:
    """FIRST and LAST of strings, high alone: the group keeps the bytes in its window's memory."""
    whole = _positioned(sign)

    def state(name: str, a: Accumulator) -> list[State]:
        return [*whole.high(name, a), State("uint32_t", f"{name}_room")]

    def kept(statement: str, at: str, x: Sequence[str]) -> str:
        keep = f"gs_keep_string(op, r->table, &{at}, &{at}_room, {x[0]});"
        return statement.replace(f"{at} = {x[0]};", keep)

    def start(at: str, x: Sequence[str]) -> list[str]:
        fresh = f"{at} = (struct gs_string){{NULL, 0}}; {at}_room = 0;"
        return [fresh, *(kept(statement, at, x) for statement in whole.start(at, x))]

    def add(at: str, x: Sequence[str]) -> list[str]:
        return [kept(statement, at, x) for statement in whole.add(at, x)]

    return replace(whole, high=state, start=start, add=add)


def _moments() -> AccumulatorWriter:
    def state(name: str, a: Accumulator) -> list[State]:
        return [State("struct gs_moments", name)]

    def whole(x: Sequence[str]) -> str:
        return f"(struct gs_moments){{{x[0]}, {x[1]}, {x[2]}}}"

    return AccumulatorWriter(
        state,
        state,
        lambda at, x: [f"{at} = (struct gs_moments){{1, (double){x[0]}, 0}};"],
        lambda at, x: [f"gs_moments_add(&{at}, (double){x[0]});"],
        _never,
        lambda at: [f"{at}.{part}" for part in ("count", "mean", "squares")],
        lambda at, x: [f"{at} = {whole(x)};"],
        lambda at, x: [f"gs_moments_merge(&{at}, {whole(x)});"],
    )


WRITERS: dict[str, AccumulatorWriter] = {
    "count": _count(),
    "sum_unsigned": _unsigned_sum(),
    "sum_signed": _signed_sum(),
    "sum_float": _float_sum(),
    "min": _extreme("<"),
    "max": _extreme(">"),
    "and": _bits("&"),
    "or": _bits("|"),
    "xor": _bits("^"),
    "first": _positioned("<"),
    "last": _positioned(">"),
    "moments": _moments(),
}
STRING_WRITERS = {"first": _positioned_string("<"), "last": _positioned_string(">")}


def writer_of(accumulator: Accumulator) -> AccumulatorWriter:
    """The C of an accumulator above the border."""
    if accumulator.type is Type.STRING:
        return STRING_WRITERS.get(accumulator.kind, WRITERS[accumulator.kind])
    return WRITERS[accumulator.kind]

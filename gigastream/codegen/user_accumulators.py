# SPDX-License-Identifier: Apache-2.0
"""The state of a UDAF as an accumulator: calls of the functions that user_aggregates.py writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.codegen.accumulator_writer import AccumulatorWriter, StructMember
from gigastream.codegen.context import CodeContext
from gigastream.codegen.user_aggregates import (
    name_of,
    note_above,
    note_below,
    note_merge,
    note_rows,
    state_struct,
)
from gigastream.gsql.expressions import StateFunction
from gigastream.plan.accumulators import Accumulator, UserAccumulator

_LOW, _HIGH, _HERE = "lfta->handles", "op->handles", "handles"


def note_low_states(context: CodeContext, accumulators: Sequence[Accumulator]) -> None:
    """Have written what a table below the border calls."""
    for a in accumulators:
        if isinstance(a, UserAccumulator):
            note_rows(context, a.state.below, [e.type for e in a.expressions])
            note_below(context, a.state)


def note_states(
    context: CodeContext,
    accumulators: Sequence[Accumulator],
    *,
    of_partials: bool,
    combines: bool = False,
) -> None:
    """Have written what groups above it call; where windows overlap their entries combine."""
    for a in accumulators:
        if not isinstance(a, UserAccumulator):
            continue
        if of_partials:
            note_above(context, a.state)
        else:
            note_rows(context, a.state.whole, [e.type for e in a.expressions])
        if combines:
            note_merge(context, kept_by(a, of_partials=of_partials))


def kept_by(a: UserAccumulator, *, of_partials: bool) -> StateFunction:
    """Whose state a group has."""
    return a.state.above if of_partials else a.state.whole


def valid_partial(a: Accumulator, value: str) -> str:
    """C condition: an accumulator can take a column of a partial row; "" if it always can."""
    if not isinstance(a, UserAccumulator):
        return ""
    valid = f"{name_of(a.state.above)}_valid({_HIGH}, &{value})"
    return f"({value}_null || {valid})" if a.may_be_empty else valid


def low_user_writer(a: UserAccumulator) -> AccumulatorWriter:
    """Below the border."""
    below, is_merged = a.state.below, a.state.merges
    name = name_of(below)

    def overflow(at: str, x: Sequence[str], _: Accumulator) -> str:
        return "" if is_merged else f"{name}_full({_LOW}, &{at})"

    def partial(at: str) -> list[str]:
        return [at if is_merged else f"{name}_partial({_LOW}, &{at})"]

    state = _members(below)
    return AccumulatorWriter(
        *(state, state, _rows(a, name, "start", _LOW), _rows(a, name, "add", _LOW)),
        overflow,
        partial,
        *(_never, _never),
        _never_combined,
    )


def user_writer(a: UserAccumulator, *, of_partials: bool) -> AccumulatorWriter:
    """Above the border."""
    kept = kept_by(a, of_partials=of_partials)
    name, state = name_of(kept), _members(kept)

    def merge_start(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} = {x[0]};"] if a.state.merges else taken("take_first")(at, x)

    def taken(what: str) -> Callable[[str, Sequence[str]], list[str]]:
        return lambda at, x: [f"{name}_{what}(&{at}, {_HIGH}, &{x[0]});"]

    return AccumulatorWriter(
        *(state, state, _rows(a, name, "start", _HIGH), _rows(a, name, "add", _HIGH)),
        lambda at, x, a: "",
        lambda at: [],
        *(merge_start, taken("merge" if a.state.merges else "take")),
        lambda at, other: [f"{name}_merge(&{at}, {_HERE}, &{other});"],
    )


def _members(function: StateFunction) -> Callable[[str, Accumulator], list[StructMember]]:
    return lambda name, a: [StructMember(state_struct(function), name)]


def _rows(
    a: UserAccumulator, name: str, what: str, handles: str
) -> Callable[[str, Sequence[str]], list[str]]:
    def call(at: str, x: Sequence[str]) -> list[str]:
        pairs = zip(x, a.expressions, strict=True)
        values = [f"&{value}" if e.type.is_opaque else value for value, e in pairs]
        return [f"{name}_{what}({', '.join((f'&{at}', handles, *values))});"]

    return call


def _never(at: str, x: Sequence[str]) -> list[str]:
    raise AssertionError("partial rows are taken above the border")


def _never_combined(at: str, other: str) -> list[str]:
    raise AssertionError("windows overlap above the border")

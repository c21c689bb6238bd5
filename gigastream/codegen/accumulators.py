# SPDX-License-Identifier: Apache-2.0
"""The C of each accumulator: what a slot or group keeps, how a row is added, how partials merge.

A line of WRITERS is an accumulator; gigastream/plan/accumulators.py says which aggregates use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.codegen.accumulator_writer import AccumulatorWriter, StructMember
from gigastream.codegen.c_text import C_TYPE
from gigastream.codegen.user_accumulators import low_user_writer, user_writer
from gigastream.codegen.value_lists import kept_writer
from gigastream.gsql.types import Type
from gigastream.late_dataclass import replace
from gigastream.plan.accumulators import (
    KEEPING,
    Accumulator,
    RowsAccumulator,
    UserAccumulator,
)

POSITION = "struct gs_position"


def _member(name: str, a: Accumulator) -> list[StructMember]:
    return [StructMember(C_TYPE[a.type], name)]


def _u64(name: str, a: Accumulator) -> list[StructMember]:
    return [StructMember("uint64_t", name)]


def _never(at: str, x: Sequence[str], a: Accumulator) -> str:
    return ""


def _set(at: str, x: Sequence[str]) -> list[str]:
    return [f"{at} = {x[0]};"]


def _value(at: str) -> list[str]:
    return [at]


def _added(at: str, other: str) -> list[str]:
    return [f"{at} += {other};"]


def _count() -> AccumulatorWriter:
    """Of rows, or of those (C conditions) that are handed over."""
    return AccumulatorWriter(
        _u64,
        _u64,
        lambda at, x: [f"{at} = {x[0] if x else '1'};"],
        lambda at, x: [f"{at} += {x[0] if x else '1'};"],
        _never,
        _value,
        _set,
        lambda at, x: [f"{at} += {x[0]};"],
        _added,
    )


def _is_wide(a: Accumulator) -> bool:
    return a.type in (Type.ULLONG, Type.LLONG)


def _unsigned_sum() -> AccumulatorWriter:
    def overflow(at: str, x: Sequence[str], a: Accumulator) -> str:
        return f"{at} + {x[0]} < {at}" if _is_wide(a) else ""

    return _whole_sum("uint64_t", "unsigned __int128", overflow)


def _signed_sum() -> AccumulatorWriter:
    def overflow(at: str, x: Sequence[str], a: Accumulator) -> str:
        return f"gs_sum_overflows({at}, {x[0]})" if _is_wide(a) else ""

    return _whole_sum("int64_t", "__int128", overflow)


def _whole_sum(
    low: str, high: str, overflow: Callable[[str, Sequence[str], Accumulator], str]
) -> AccumulatorWriter:
    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} += {x[0]};"]

    return AccumulatorWriter(
        lambda name, a: [StructMember(low, name)],
        lambda name, a: [StructMember(high, name)],
        _set,
        add,
        overflow,
        _value,
        _set,
        add,
        _added,
    )


def _nothing(at: str) -> list[str]:
    return []


def _never_merged(at: str, x: Sequence[str]) -> list[str]:
    raise AssertionError("an accumulator of plain rows alone")


def _never_combined(at: str, other: str) -> list[str]:
    raise AssertionError("an accumulator of no panes")


def _joined(function: str) -> Callable[[str, str], list[str]]:
    return lambda at, other: [f"{function}(&{at}, &{other});"]


def _of_value(
    add: Callable[[str, Sequence[str]], list[str]],
) -> Callable[[str, str], list[str]]:
    """A group's value is added as one more row's."""
    return lambda at, other: add(at, [other])


def _float_sum() -> AccumulatorWriter:
    """High alone: the row is rounded into none of the sum's words."""

    def state(name: str, a: Accumulator) -> list[StructMember]:
        return [StructMember("struct gs_float_sum", name)]

    return AccumulatorWriter(
        state,
        state,
        lambda at, x: [f"gs_float_sum_start(&{at}, {x[0]});"],
        lambda at, x: [f"gs_float_sum_add(&{at}, {x[0]});"],
        _never,
        _nothing,
        _never_merged,
        _never_merged,
        _joined("gs_float_sum_join"),
    )


def _order(a: str, b: str, sign: str) -> str:
    """C condition: value a stands before b; addresses compare by their bytes."""
    return f"(GS_ORDER({a}, {b}) {sign} 0)"


def _of_one_value(add: Callable[[str, Sequence[str]], list[str]]) -> AccumulatorWriter:
    return AccumulatorWriter(_member, _member, _set, add, _never, _value, _set, add, _of_value(add))


def _extreme(sign: str) -> AccumulatorWriter:
    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"if ({_order(x[0], at, sign)}) {at} = {x[0]};"]

    return _of_one_value(add)


def _bits(sign: str) -> AccumulatorWriter:
    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} {sign}= {x[0]};"]

    return _of_one_value(add)


def _order_of_bytes(a: str, b: str, sign: str) -> str:
    """The same of opaque values."""
    return f"(memcmp({a}.bytes, {b}.bytes, sizeof {a}.bytes) {sign} 0)"


def _positioned(
    sign: str, value_order: Callable[[str, str, str], str] = _order
) -> AccumulatorWriter:
    """FIRST and LAST; equal positions (rows of a stream) go to the lesser, or greater, value."""

    def state(name: str, a: Accumulator) -> list[StructMember]:
        return [StructMember(C_TYPE[a.type], name), StructMember(POSITION, f"{name}_at")]

    def position(x: Sequence[str]) -> str:
        return f"({POSITION}){{{x[1]}, {x[2]}, {x[3]}}}"

    def start(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} = {x[0]};", f"{at}_at = {position(x)};"]

    def add(at: str, x: Sequence[str]) -> list[str]:
        order = f"gs_position_compare({position(x)}, {at}_at)"
        better = f"{order} {sign} 0 || ({order} == 0 && {value_order(x[0], at, sign)})"
        return [f"if ({better}) {{ {' '.join(start(at, x))} }}"]

    def partial(at: str) -> list[str]:
        return [at, *(f"{at}_at.{part}" for part in ("timestamp_ns", "interface", "place"))]

    def combine(at: str, other: str) -> list[str]:
        return add(at, partial(other))

    return AccumulatorWriter(state, state, start, add, _never, partial, start, add, combine)


def _at_extreme(
    sign: str, value_order: Callable[[str, str, str], str] = _order
) -> AccumulatorWriter:
    """ARG_MIN and ARG_MAX: the value at the least, or greatest, of another; then the first."""

    def state(name: str, a: Accumulator) -> list[StructMember]:
        assert a.by is not None
        by = StructMember(C_TYPE[a.by.type], f"{name}_by")
        return [StructMember(C_TYPE[a.type], name), by, StructMember(POSITION, f"{name}_at")]

    def position(x: Sequence[str]) -> str:
        return f"({POSITION}){{{x[2]}, {x[3]}, {x[4]}}}"

    def start(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} = {x[0]};", f"{at}_by = {x[1]};", f"{at}_at = {position(x)};"]

    def add(at: str, x: Sequence[str]) -> list[str]:
        place = f"gs_position_compare({position(x)}, {at}_at)"
        is_equal = _order(x[1], f"{at}_by", "==")
        is_before = f"{place} < 0 || ({place} == 0 && {value_order(x[0], at, '<')})"
        better = f"{_order(x[1], f'{at}_by', sign)} || ({is_equal} && ({is_before}))"
        return [f"if ({better}) {{ {' '.join(start(at, x))} }}"]

    def partial(at: str) -> list[str]:
        place = (f"{at}_at.{part}" for part in ("timestamp_ns", "interface", "place"))
        return [at, f"{at}_by", *place]

    def combine(at: str, other: str) -> list[str]:
        return add(at, partial(other))

    return AccumulatorWriter(state, state, start, add, _never, partial, start, add, combine)


def _kept_string(whole: AccumulatorWriter) -> AccumulatorWriter:
    """The same of strings, high alone: the group keeps the bytes in its window's memory."""

    def state(name: str, a: Accumulator) -> list[StructMember]:
        return [*whole.high(name, a), StructMember("uint32_t", f"{name}_room")]

    def kept(statement: str, at: str, x: Sequence[str]) -> str:
        keep = f"gs_keep_string(op, r->table, &{at}, &{at}_room, {x[0]});"
        return statement.replace(f"{at} = {x[0]};", keep)

    def start(at: str, x: Sequence[str]) -> list[str]:
        fresh = f"{at} = (struct gs_string){{NULL, 0}}; {at}_room = 0;"
        return [fresh, *(kept(statement, at, x) for statement in whole.start(at, x))]

    def add(at: str, x: Sequence[str]) -> list[str]:
        return [kept(statement, at, x) for statement in whole.add(at, x)]

    # combined, a group only points at what the other has: the window's panes keep the bytes
    return replace(whole, high=state, start=start, add=add)


def _rows(accumulator: RowsAccumulator) -> AccumulatorWriter:
    """High alone: the bytes of each row, behind their number, in the window's memory."""

    def state(name: str, a: Accumulator) -> list[StructMember]:
        return [StructMember("struct gs_string", name), StructMember("uint32_t", f"{name}_room")]

    def add(at: str, x: Sequence[str]) -> list[str]:
        most = f"{accumulator.most_bytes}u"
        return [f"gs_keep_row(op, r->table, &{at}, &{at}_room, {x[0]}, {most});"]

    def start(at: str, x: Sequence[str]) -> list[str]:
        return [f"{at} = (struct gs_string){{NULL, 0}}; {at}_room = 0;", *add(at, x)]

    return AccumulatorWriter(
        *(state, state, start, add, _never, _nothing, _never_merged, _never_merged),
        _never_combined,
    )


def _shifted_moments(c_type: str) -> AccumulatorWriter:
    """Below the border: of differences from the first value."""

    def state(name: str, a: Accumulator) -> list[StructMember]:
        return [StructMember("struct gs_shifted_moments", name)]

    def difference(at: str, x: Sequence[str]) -> str:
        return f"(__int128){x[0]} - ({c_type}){at}.origin"

    return AccumulatorWriter(
        state,
        state,
        lambda at, x: [f"{at} = gs_shifted_moments_of((uint64_t){x[0]});"],
        lambda at, x: [f"gs_shifted_moments_add(&{at}, (int64_t)({difference(at, x)}));"],
        lambda at, x, a: f"gs_shifted_moments_overflow(&{at}, {difference(at, x)})",
        lambda at: [
            *(f"{at}.count", f"({c_type}){at}.origin", f"{at}.sum"),
            *(f"{at}.squares[0]", f"{at}.squares[1]"),
        ],
        _never_merged,
        _never_merged,
        _never_combined,
    )


def _high_moments(kind: str) -> AccumulatorWriter:
    """Above the border: of the values themselves, exactly, whatever was merged in which order."""

    def state(name: str, a: Accumulator) -> list[StructMember]:
        return [StructMember(f"struct gs_{kind}_moments", name)]

    def add(at: str, x: Sequence[str]) -> list[str]:
        return [f"gs_{kind}_moments_add(&{at}, {x[0]});"]

    def merge(at: str, x: Sequence[str]) -> list[str]:
        part = f"(struct gs_shifted_moments){{{x[0]}, 0, {x[2]}, {{{x[3]}, {x[4]}}}}}"
        return [f"gs_{kind}_moments_merge(&{at}, {part}, {x[1]});"]

    def started(
        then: Callable[[str, Sequence[str]], list[str]],
    ) -> Callable[[str, Sequence[str]], list[str]]:
        return lambda at, x: [f"memset(&{at}, 0, sizeof {at});", *then(at, x)]

    return AccumulatorWriter(
        *(state, state, started(add), add, _never, _nothing, started(merge), merge),
        _joined(f"gs_{kind}_moments_join"),
    )


WRITERS: dict[str, AccumulatorWriter] = {
    "count": _count(),
    "sum_unsigned": _unsigned_sum(),
    "sum_signed": _signed_sum(),
    "min": _extreme("<"),
    "max": _extreme(">"),
    "and": _bits("&"),
    "or": _bits("|"),
    "xor": _bits("^"),
    "first": _positioned("<"),
    "last": _positioned(">"),
    "arg_min": _at_extreme("<"),
    "arg_max": _at_extreme(">"),
    "moments_unsigned": _shifted_moments("uint64_t"),
    "moments_signed": _shifted_moments("int64_t"),
}
_OF_ONE_ROW = ("first", "last", "arg_min", "arg_max")
HIGH_WRITERS = {
    "sum_float": _float_sum(),
    "moments_unsigned": _high_moments("whole"),
    "moments_signed": _high_moments("whole"),
    "moments_float": _high_moments("float"),
}
STRING_WRITERS = {kind: _kept_string(WRITERS[kind]) for kind in _OF_ONE_ROW}
OPAQUE_WRITERS = {
    "arg_min": _at_extreme("<", _order_of_bytes),
    "arg_max": _at_extreme(">", _order_of_bytes),
    "first": _positioned("<", _order_of_bytes),
    "last": _positioned(">", _order_of_bytes),
}


def met(
    accumulator: Accumulator, at: str, x: Sequence[str], start: list[str], add: list[str] | None
) -> list[str]:
    """The statements for a row or partial row; without `add` a slot or group begins with it.

    NULL is passed over: an accumulator starts at the first value that it is told of.
    """
    if not accumulator.may_be_empty:
        return start if add is None else add
    begin, given = f"{' '.join(start)} {at}_seen = 1;", _is_given(accumulator, x)
    if add is None:
        return [f"if ({given}) {{ {begin} }}"]
    return [f"if ({given}) {{ if (!{at}_seen) {{ {begin} }} else {{ {' '.join(add)} }} }}"]


def _is_given(accumulator: Accumulator, x: Sequence[str]) -> str:
    """C condition: nothing of a row is NULL that must not be, or of a partial row."""
    parts = list(accumulator.expressions)
    if not isinstance(accumulator, UserAccumulator) or len(x) != len(parts):
        return f"!{x[0]}_null"
    return " && ".join(f"!{a}_null" for a, e in zip(x, parts, strict=True) if e.nullable)


def handed_over(accumulator: Accumulator, x: Sequence[str]) -> Sequence[str]:
    """What a writer is given of a row's values: a count whether there is one."""
    if accumulator.kind != "count":
        return x
    if accumulator.distinct:
        return []
    argument = accumulator.argument
    return [f"!{x[0]}_null"] if argument is not None and argument.nullable else []


def low_writer_of(accumulator: Accumulator) -> AccumulatorWriter:
    """The C of an accumulator below the border."""
    if isinstance(accumulator, UserAccumulator):
        return low_user_writer(accumulator)
    if accumulator.type.is_opaque:
        return OPAQUE_WRITERS.get(accumulator.kind) or WRITERS[accumulator.kind]
    return WRITERS[accumulator.kind]


def writer_of(accumulator: Accumulator, *, of_partials: bool) -> AccumulatorWriter:
    """The C of an accumulator above the border, over rows or over partial ones."""
    if isinstance(accumulator, UserAccumulator):
        return user_writer(accumulator, of_partials=of_partials)
    if isinstance(accumulator, RowsAccumulator):
        return _rows(accumulator)
    if accumulator.kind in KEEPING:
        return kept_writer(accumulator)
    if accumulator.type.is_opaque:
        return low_writer_of(accumulator)
    if accumulator.type is Type.STRING:
        return STRING_WRITERS.get(accumulator.kind) or WRITERS[accumulator.kind]
    return HIGH_WRITERS.get(accumulator.kind) or WRITERS[accumulator.kind]

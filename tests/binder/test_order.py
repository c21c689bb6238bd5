# SPDX-License-Identifier: Apache-2.0
"""Order inference against brute force: every promise is kept, and none is less than it could be."""

from __future__ import annotations

import pytest
from binder.catalogs import NUMBERS, bound, shipped, with_protocol
from binder.evaluate import value_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.expressions import Expression
from gigastream.gsql.order.bounds import END, NONE
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.types import Temporal, Type

# GSQL section 5, row by row

ROWS = [
    ("5", "constant"),
    ("5 + 7", "constant"),
    ("rising_uint", "increasing"),
    ("falling_uint", "decreasing"),
    ("any_uint", "varying"),
    ("rising_uint + 5", "increasing"),
    ("5 + rising_uint", "increasing"),
    ("rising_uint - 5", "increasing"),
    ("rising_uint * 5", "increasing"),
    ("5 * falling_uint", "decreasing"),
    ("rising_uint / 60", "increasing"),
    ("falling_uint / 60", "decreasing"),
    ("rising_uint >> 6", "increasing"),
    ("falling_llong >> 6", "decreasing"),
    ("rising_uint & HEX'ffffff00'", "increasing"),
    ("rising_uint & ~63", "increasing"),
    ("rising_llong & -64", "increasing"),
    ("rising_llong & 4294967040", "varying"),
    ("rising_uint & 255", "varying"),
    ("rising_uint & HEX'ffff00ff'", "varying"),
    ("rising_uint & 0", "varying"),
    ("CAST(rising_uint AS ullong)", "increasing"),
    ("UINT(rising_llong)", "increasing"),
    ("FLOAT(rising_uint)", "varying"),
    ("rising_uint * 1.5", "varying"),
    ("5 - rising_uint", "decreasing"),
    ("5 - falling_uint", "increasing"),
    ("-rising_uint", "decreasing"),
    ("-falling_llong", "increasing"),
    ("rising_uint * -5", "decreasing"),
    ("rising_uint * 0", "varying"),
    ("rising_uint + rising_llong", "increasing"),
    ("falling_uint + falling_llong", "decreasing"),
    ("rising_uint + falling_llong", "varying"),
    ("rising_uint + any_uint", "varying"),
    ("rising_uint - falling_uint", "increasing"),
    ("falling_uint - rising_uint", "decreasing"),
    ("rising_uint - rising_uint", "varying"),
    ("UMIN(rising_uint, rising_uint)", "increasing"),
    ("UMAX(falling_uint, falling_uint)", "decreasing"),
    ("UMAX(rising_uint, falling_uint)", "varying"),
    ("UMAX(rising_uint, 5)", "increasing"),
    ("UMIN(5, falling_int)", "decreasing"),
    ("1000 / rising_uint", "decreasing"),
    ("1000 / falling_uint", "increasing"),
    ("1000 / rising_llong", "varying"),
    ("non_temporal(rising_uint)", "varying"),
    ("non_temporal(rising_uint) / 60", "varying"),
    ("to_timestamp(rising_uint)", "increasing"),
    ("date_trunc('minute', to_timestamp(rising_uint))", "increasing"),
    ("date_trunc('week', to_timestamp(rising_uint))", "increasing"),
    ("date_trunc('month', to_timestamp(rising_uint))", "varying"),
    ("epoch_ms(to_timestamp(rising_uint)) / 60", "increasing"),
    ("epoch(to_timestamp(rising_uint))", "varying"),
    ("hour(rising_uint)", "varying"),
    ("coalesce(rising_uint, 1)", "varying"),
    ("greatest(rising_uint, 1)", "varying"),
    ("rising_uint % 60", "varying"),
    ("rising_uint | 1", "varying"),
    ("rising_uint ^ 1", "varying"),
    ("rising_uint << 1", "varying"),
    ("~rising_uint", "varying"),
    ("abs(rising_llong)", "varying"),
    ("IF(any_uint = 1, rising_uint, rising_uint)", "varying"),
    ("rising_uint = 1", "varying"),
    ("rising_uint / any_uint", "varying"),
    ("(rising_uint + 5) / 60 * 60", "increasing"),
]


@pytest.mark.parametrize(("text", "temporal"), ROWS, ids=[text for text, _ in ROWS])
def test_temporal_type(text: str, temporal: str) -> None:
    expression = bound(text)
    assert expression.temporal.value == temporal
    assert (monotone(expression) is not None) == expression.temporal.is_temporal


# The functions, as they are shown and as C has them

TEXTS = [
    ("rising_uint/60", "b -> b/60", "v -> 60*v", "gs_bound_div(b, INT64_C(60))"),
    ("rising_uint + 5", "b -> b + 5", "v -> v - 5", "gs_bound_add(b, INT64_C(5))"),
    ("falling_uint + 5", "b -> b - 5", "v -> v + 5", "gs_bound_add(b, INT64_C(-5))"),
    ("-rising_uint", "b -> b", "v -> v", "b"),
    ("rising_uint * 3", "b -> b*3", "v -> ceil(v/3)", "gs_bound_mul(b, INT64_C(3))"),
    (
        "(rising_uint - 1)/60",
        "b -> (b - 1)/60",
        "v -> 60*v + 1",
        "gs_bound_div(gs_bound_add(b, INT64_C(-1)), INT64_C(60))",
    ),
    ("rising_uint >> 6", "b -> floor(b/64)", "v -> 64*v", "gs_bound_floor_div(b, INT64_C(64))"),
    (
        "rising_uint + rising_llong",
        "(rising_uint, rising_llong) -> rising_uint + rising_llong",
        "",
        "gs_bound_sum(b, c)",
    ),
]


@pytest.mark.parametrize(("text", "forward", "inverse", "c"), TEXTS)
def test_texts(text: str, forward: str, inverse: str, c: str) -> None:
    function = monotone(bound(text))
    assert function is not None
    assert function.forward_text == forward
    assert function.inverse_text == inverse
    assert function.c_forward("bc"[: len(function.inputs)], str) == c


# Brute force

constants = st.integers(1, 70)
leaves = st.sampled_from([f"{way}_{type_}" for way in ("rising", "falling") for type_ in NUMBERS])
signed_constants = st.integers(-70, 70)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-"), signed_constants),
        st.builds("({} - {})".format, signed_constants, inner),
        st.builds("({} * {})".format, inner, signed_constants.filter(bool)),
        st.builds("({} / {})".format, inner, constants),
        st.builds("({} / {})".format, constants, inner),
        st.builds("({} >> {})".format, inner, st.integers(0, 8)),
        st.builds("({} & -{})".format, inner, st.sampled_from([1, 2, 8, 64])),
        st.builds("(-{})".format, inner),
        st.builds("{}({})".format, st.sampled_from(["UINT", "LLONG", "INT"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from("+-"), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["UMIN", "UMAX"]), inner, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["UMIN", "UMAX"]), inner, constants),
    )


expressions = st.recursive(leaves, _grown, max_leaves=4)


def _checked(text: str) -> tuple[Expression, Monotone]:
    try:
        expression = bound(text)
    except GsqlError:
        assume(False)
        raise
    function = monotone(expression)
    assume(function is not None)
    assert function is not None
    return expression, function


def _row(function: Monotone, held: list[int]) -> dict[str, int] | None:
    """The fields whose bounds are these; None if one of them cannot have that value."""
    row = {}
    for item, value in zip(function.inputs, held, strict=True):
        own = -value if item.temporal is Temporal.DECREASING else value
        low, high = item.type.limits
        if not low <= own <= high:
            return None
        row[item.name] = own
    return row


def _held(expression: Expression, function: Monotone, values: list[int]) -> int | None:
    """The expression's value for inputs as bounds have them, as bounds have it."""
    row = _row(function, values)
    found = None if row is None else value_of(expression, row)
    if found is None:
        return None
    return -found if function.temporal is Temporal.DECREASING else found


values = st.one_of(
    st.integers(-80, 80), st.integers(-(1 << 33), 1 << 33), st.integers(NONE + 1, END - 1)
)


@settings(max_examples=400)
@given(expressions, st.data())
def test_no_later_value_is_below_the_bound(text: str, data: st.DataObject) -> None:
    expression, function = _checked(text)
    given_bounds = [data.draw(values) for _ in function.inputs]
    promise = function.forward(*given_bounds)
    for _ in range(5):
        later = [b + data.draw(st.integers(0, 200)) for b in given_bounds]
        found = _held(expression, function, later)
        assert found is None or promise == NONE or found >= promise


FAR = 1 << 40
"""Beyond it a step between may leave the range of bounds, and then promises less."""


@settings(max_examples=400)
@given(expressions, st.data())
def test_the_bound_is_reached(text: str, data: st.DataObject) -> None:
    expression, function = _checked(text)
    given_bounds = [data.draw(values) for _ in function.inputs]
    found = _held(expression, function, given_bounds)
    assume(found is not None)
    assert found is not None
    promise = function.forward(*given_bounds)
    assert promise == NONE or promise <= found
    if all(abs(bound) < FAR for bound in given_bounds):
        assert promise == found


@settings(max_examples=400)
@given(expressions, values, st.data())
def test_the_inverse_is_the_least_bound_that_reaches(
    text: str, value: int, data: st.DataObject
) -> None:
    expression, function = _checked(text)
    assume(len(function.inputs) == 1)
    least = function.inverse(value)
    if NONE < least < END:
        assert function.forward(least) >= value
        assert function.forward(least - 1) < value
    for x in (least + data.draw(st.integers(-100, 100)), data.draw(values)):
        found = _held(expression, function, [x])
        # where a step between leaves the range of bounds, less is promised
        if found is not None and NONE < x < END and function.forward(x) == found:
            assert (found >= value) == (x >= least)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("((rising_ullong * 3) / 3)", 1 << 62),
        ("((rising_ullong + 70) - 70)", END - 1),
        ("((falling_ullong * 3) >> 1)", -(1 << 62)),
    ],
)
def test_beyond_the_range_of_bounds_less_is_promised(text: str, value: int) -> None:
    """Of an ullong a step between may leave it where the values themselves do not."""
    expression = bound(text)
    function = monotone(expression)
    assert function is not None
    assert function.inverse(value) in (NONE, END)
    found = _held(expression, function, [value])
    assert found is not None
    assert function.forward(value) < found


def test_special_bounds_pass() -> None:
    function = monotone(bound("rising_uint/60 + 3"))
    assert function is not None
    assert (function.forward(NONE), function.forward(END)) == (NONE, END)
    assert (function.inverse(NONE), function.inverse(END)) == (NONE, END)


def test_several_inputs_have_no_inverse() -> None:
    function = monotone(bound("rising_uint + rising_llong"))
    assert function is not None
    with pytest.raises(ValueError, match="several inputs"):
        function.inverse(3)
    with pytest.raises(ValueError, match="2 bounds"):
        function.forward(3)


# Clocks

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "timestamp_ns", "value"),
    [
        ("time", 61 * SECOND - 1, 60),
        ("time", 61 * SECOND, 61),
        ("time/60", 60 * SECOND, 1),
        ("time/60", 60 * SECOND - 1, 0),
        ("time", (1 << 32) * SECOND, (1 << 32) - 1),
        ("time_ms", 5_999_999, 5),
        ("time_ms/1000", 61 * SECOND, 61),
        ("timestamp/1000", 5_999, 5),
        ("timestamp", 17, 17),
        ("time_bucket('1 min', timestamp)", 61 * SECOND, 60 * SECOND),
        ("time + timestamp/1000000000", 7 * SECOND, 14),
        ("time", NONE, NONE),
        ("time", END, END),
    ],
)
def test_over_timestamp(text: str, timestamp_ns: int, value: int) -> None:
    function = monotone(bound(text, shipped(), "PKT"))
    assert function is not None
    carried = function.over_timestamp()
    assert carried is not None
    assert carried.forward(timestamp_ns) == value


def test_a_field_without_a_clock_is_no_function_of_time() -> None:
    function = monotone(bound("rising_uint"))
    assert function is not None
    assert function.over_timestamp() is None


def test_a_window_is_asked_for_by_its_first_nanosecond() -> None:
    function = monotone(bound("time/60", shipped(), "PKT"))
    assert function is not None
    carried = function.over_timestamp()
    assert carried is not None
    assert carried.inverse(3) == 180 * SECOND
    assert carried.inverse(1 << 40) == END


def test_time_bucket_is_a_timestamp() -> None:
    expression = bound("time_bucket('5 min', timestamp)", shipped(), "PKT")
    assert expression.type is Type.TIMESTAMP
    assert expression.temporal is Temporal.INCREASING


def test_a_clock_within_the_packet_is_not_the_packets_time() -> None:
    text = "PROTOCOL LOG (UDP) { uint logged logged (required, increasing, clock s); }"
    function = monotone(bound("logged", with_protocol(text), "LOG"))
    assert function is not None
    assert function.over_timestamp() is None

# SPDX-License-Identifier: Apache-2.0
"""Types of operations (GSQL section 3), constants, and that nothing ever wraps."""

from __future__ import annotations

import pytest
from binder.catalogs import NUMBERS, bound
from binder.evaluate import value_of
from binder.show import shown
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.gsql.expressions import Constant, Operation
from gigastream.gsql.types import Type, type_named

# expression over any_ushort … any_llong, its type, whether it can have no value
TYPES = [
    # + - * << on 32 bits give llong, and nothing is checked that cannot wrap
    ("any_ushort + any_ushort", "llong", False),
    ("any_uint + any_uint", "llong", False),
    ("any_uint - any_uint", "llong", False),
    ("any_int * any_int", "llong", False),
    ("any_uint * any_int", "llong", False),
    ("any_uint * any_uint", "llong", True),
    ("any_uint * 8", "llong", False),
    ("any_uint << 8", "llong", False),
    ("any_uint << 32", "llong", True),
    ("any_uint << any_uint", "llong", True),
    # on 64 bits they are checked
    ("any_ullong + any_uint", "ullong", True),
    ("any_ullong - 1", "ullong", True),
    ("any_llong * 2", "llong", True),
    ("any_llong + any_int", "llong", True),
    # ullong with a signed operand is llong
    ("any_ullong + any_int", "llong", True),
    ("any_ullong / any_llong", "llong", True),
    ("any_ullong & any_int", "llong", False),
    # / % & | ^ >> keep the wider operand's type
    ("any_uint / 60", "uint", False),
    ("any_uint / (60*60)", "uint", False),
    ("any_ushort % 10", "ushort", False),
    ("any_ushort / 100000", "int", False),
    ("any_ushort & any_uint", "uint", False),
    ("any_int / 60", "int", False),
    ("any_int / -1", "int", True),
    ("any_uint / -1", "llong", False),
    ("any_uint / any_int", "llong", True),
    ("any_uint / any_uint", "uint", True),
    ("any_uint ^ HEX'ff'", "uint", False),
    ("any_uint >> 6", "uint", False),
    ("any_ullong >> 6", "ullong", False),
    ("any_uint | LHEX'ff'", "ullong", False),
    ("any_llong / 2", "llong", False),
    ("any_llong / any_llong", "llong", True),
    ("any_llong % -1", "llong", False),
    # a constant that non_temporal is called on has the type that it has alone
    ("any_ullong - non_temporal(1)", "llong", False),
    ("any_ushort / non_temporal(7)", "int", False),
    ("non_temporal(3000000000) & any_ushort", "uint", False),
    # float takes all
    ("any_uint * 1.5", "float", False),
    ("any_ullong / 2.0", "float", True),
    ("1.5 + 1", "float", False),
    # signs
    ("-any_uint", "llong", False),
    ("-any_int", "llong", False),
    ("-any_llong", "llong", True),
    ("-any_ullong", "llong", False),
    ("~any_uint", "uint", False),
    ("~any_ushort", "ushort", False),
    # values meet
    ("IF(any_uint = 1, any_uint, any_ushort)", "uint", False),
    ("IF(any_uint = 1, any_uint, any_int)", "llong", False),
    ("IF(any_uint = 1, any_ullong, 0)", "ullong", False),
    ("CASE WHEN any_uint = 1 THEN 1 WHEN any_uint = 2 THEN 3000000000 ELSE 2 END", "uint", False),
    ("CASE WHEN any_uint = 1 THEN any_uint END", "uint", False),
    ("UMIN(any_uint, 5)", "uint", False),
    ("UMIN(any_uint, any_int)", "llong", False),
    ("UMIN(any_ushort, any_ushort)", "uint", False),
    ("UMAX(any_llong, any_ullong)", "llong", False),
    # numbers alone
    ("35", "int", False),
    ("3000000000", "uint", False),
    ("5000000000", "llong", False),
    ("18446744073709551615", "ullong", False),
    ("35UL", "uint", False),
    ("35ULL", "ullong", False),
    ("HEX'ff'", "uint", False),
    ("-35", "int", False),
    ("2147483647 + 1", "uint", False),
    ("35UL + 1", "llong", False),
]


@pytest.mark.parametrize(("text", "type_", "checked"), TYPES, ids=[row[0] for row in TYPES])
def test_type(text: str, type_: str, checked: bool) -> None:
    expression = bound(text)
    assert expression.type is type_named(type_)
    found = isinstance(expression, Operation) and expression.checked
    assert found == checked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("60*60", 3600),
        ("-7/2", -3),
        ("-7%2", -1),
        ("7 - 8", -1),
        ("~0 & HEX'ff'", 255),
        ("~HEX'0'", (1 << 32) - 1),
        ("1 << 40", 1 << 40),
        ("-8 >> 1", -4),
        ("18446744073709551615 - 18446744073709551615", 0),
        ("LHEX'ffffffffffffffff' - 1", (1 << 64) - 2),
        ("7 / 2.0", 3.5),
        ("INT(3.9)", 3),
        ("INT(-3.9)", -3),
        ("FLOAT(3)", 3.0),
        ("CAST(5 AS timestamp)", 5),
        ("1 < 2", True),
        ("NOT 1 = 2", True),
        ("'a' < 'b'", True),
        ("IP_VAL'1.2.3.4' = IP_VAL'1.2.3.4'", True),
        ("IP_VAL'1.2.3.4' = IPV6_VAL'::ffff:1.2.3.4'", True),
        ("CAST(IPV6_VAL'::ffff:1.2.3.4' AS INET)", bytes(10) + b"\xff\xff\x01\x02\x03\x04"),
        ("UINT(IP_VAL'0.0.1.0')", 256),
    ],
)
def test_constants_are_computed(text: str, value: object) -> None:
    expression = bound(text)
    assert isinstance(expression, Constant)
    assert expression.value == value
    assert type(expression.value) is type(value)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("any_uint + 1", "(+ (cast llong any_uint) 1:llong):llong"),
        ("any_uint/60", "(/ any_uint 60:uint):uint"),
        ("any_ullong + any_int", "(+! (cast! llong any_ullong) (cast llong any_int)):llong"),
        ("any_uint >> any_int", "(>> (cast llong any_uint) (cast! ullong any_int)):llong"),
        ("any_uint = any_int", "(= (cast llong any_uint) (cast llong any_int)):bool"),
        ("any_ushort = 70000", "(= (cast int any_ushort) 70000:int):bool"),
        ("any_ullong = 5", "(= any_ullong 5:ullong):bool"),
        ("any_ullong > -5", "TRUE:bool"),
        ("any_ullong = -5", "FALSE:bool"),
        ("any_llong < 9223372036854775808", "TRUE:bool"),
        ("18446744073709551615 <= any_llong", "FALSE:bool"),
        (
            "any_llong = 9223372036854775807ULL",
            "(case (< any_llong 0:llong):bool FALSE:bool"
            " (= 9223372036854775807:ullong (cast ullong any_llong)):bool):bool",
        ),
        ("any_llong IN [9223372036854775808]", "FALSE:bool"),
        (
            "any_llong / any_llong IN [9223372036854775808]",
            "(<> (/! any_llong any_llong):llong (/! any_llong any_llong):llong):bool",
        ),
        (
            "any_llong < any_ullong",
            "(case (< any_llong 0:llong):bool (>= any_ullong 0:ullong):bool"
            " (> any_ullong (cast ullong any_llong)):bool):bool",
        ),
        ("any_ushort IN [80, 443, 70000, -1]", "(IN any_ushort 80:ushort 443:ushort):bool"),
        ("any_uint IN [-1]", "FALSE:bool"),
        (
            "any_uint BETWEEN 1 AND 9",
            "(AND (>= any_uint 1:uint):bool (<= any_uint 9:uint):bool):bool",
        ),
        ("any_uint IS NULL", "(IS_NULL any_uint):bool"),
        ("IF(any_uint = 1, 5, 6.5)", "(case (= any_uint 1:uint):bool 5.0:float 6.5:float):float"),
        ("non_temporal(rising_uint)", "rising_uint"),
        ("non_temporal(7)", "7:int"),
        ("coalesce(any_uint, 1)", "any_uint"),
        (
            "coalesce(nullif(any_ushort, 6), 70000)",
            "(COALESCE (cast int (NULLIF any_ushort 6:ushort):ushort?) 70000:int):int",
        ),
        ("ifnull(NULL, any_int)", "any_int"),
        ("nullif(any_int, NULL)", "any_int"),
        ("greatest(any_uint, NULL, 5)", "(GREATEST any_uint 5:uint):uint"),
        ("least(nullif(any_uint, 1))", "(NULLIF any_uint 1:uint):uint?"),
        ("INT(any_uint)", "(cast! int any_uint)"),
        ("LLONG(any_uint)", "(cast llong any_uint)"),
        ("sqrt(any_uint)", "gs_function_sqrt_float((cast float any_uint)):float"),
        (
            "CASE WHEN any_uint = 1 THEN 2 END",
            "(case (= any_uint 1:uint):bool 2:int NULL:int):int?",
        ),
    ],
)
def test_casts_are_explicit(text: str, tree: str) -> None:
    assert shown(bound(text)) == tree


# Against exact arithmetic

edges = {
    type_: [v for limit in Type[type_.upper()].limits for v in (limit - 1, limit, limit + 1)]
    for type_ in NUMBERS
}


def values_of(type_: str) -> st.SearchStrategy[int]:
    low, high = Type[type_.upper()].limits
    near = [value for value in (*edges[type_], -1, 0, 1, 2, 1 << 31) if low <= value <= high]
    return st.one_of(st.sampled_from(near), st.integers(low, high))


rows = st.fixed_dictionaries({f"any_{type_}": values_of(type_) for type_ in NUMBERS})
operands = st.one_of(
    st.sampled_from([f"any_{type_}" for type_ in NUMBERS]),
    st.integers(-(1 << 33), 1 << 33).map(lambda value: f"({value})"),
)


@settings(max_examples=500)
@given(operands, st.sampled_from(["+", "-", "*", "/", "%"]), operands, rows)
def test_arithmetic_is_exact_or_has_no_value(
    left: str, operator: str, right: str, row: dict[str, int]
) -> None:
    a, b = (row.get(text) if text in row else int(text[1:-1]) for text in (left, right))
    if not {left, right} & set(row) or (b == 0 and operator in "/%"):
        return
    exact = _exact(operator, a or 0, b or 0)
    found = value_of(bound(f"{left} {operator} {right}"), row)
    assert found is None or found == exact
    low, high = -(1 << 63), (1 << 63) - 1
    fits = all(low <= value <= high for value in (a or 0, b or 0, exact))
    if fits and not _below_zero_in_ullong(left, right, exact):
        assert found == exact


def _below_zero_in_ullong(left: str, right: str, exact: int) -> bool:
    """`any_ullong - 1` is an ullong: below 0 it has no value."""
    return exact < 0 and "any_ullong" in (left, right)


def _exact(operator: str, a: int, b: int) -> int:
    quotient = abs(a) // abs(b) if b else 0
    quotient = quotient if (a < 0) == (b < 0) else -quotient
    return {"+": a + b, "-": a - b, "*": a * b, "/": quotient, "%": a - quotient * b}[operator]


@settings(max_examples=500)
@given(operands, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), operands, rows)
def test_comparisons_are_exact(left: str, operator: str, right: str, row: dict[str, int]) -> None:
    a, b = (row[text] if text in row else int(text[1:-1]) for text in (left, right))
    expected = {
        "=": a == b,
        "<>": a != b,
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
    }[operator]
    assert value_of(bound(f"{left} {operator} {right}"), row) == expected

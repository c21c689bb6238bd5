# SPDX-License-Identifier: Apache-2.0
"""Every operator over the values at which types end: the reference's answers, in either ANSI mode.

No value of a row may raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from tests.spark_expressions.evaluation import ansi_mode, frame, outcomes
from tests.spark_expressions.inputs import checked, rows
from tests.spark_expressions.reference import Outcome, assert_same, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = ("ushort", "uint", "int", "ullong", "llong")
ADDRESSES = ("IP", "IPV6", "INET")
MIXED = (("uint", "int"), ("ullong", "llong"), ("int", "ullong"), ("ushort", "ullong"),
         ("float", "ullong"), ("llong", "float"))  # fmt: skip
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
WHOLE_CONSTANTS = ("1", "2", "7", "60", "(0-1)", "(0-3)")


def _arithmetic() -> Iterator[str]:
    for sign, (left, right) in product("+-*/%", (*((t, t) for t in (*WHOLE, "float")), *MIXED)):
        yield f"x_{left} {sign} y_{right}"
    for sign, (left, right) in product(("&", "|", "^", "<<", ">>"), ((t, t) for t in WHOLE)):
        yield f"x_{left} {sign} y_{right}"
    for sign, type_ in product("+-*/%", ("ullong", "llong", "float")):
        yield f"n_{type_} {sign} m_{type_}"
    yield from (f"{sign}x_{type_}" for sign, type_ in product("-~", WHOLE))
    yield from ("-x_float", "-n_int", "~n_ullong", "x_uint << y_ushort", "x_int >> y_uint")
    yield from ("n_ullong >> m_ushort", "n_llong << m_uint", "n_ullong << m_ushort")
    yield from ("x_timestamp - y_timestamp", "x_timestamp + y_int", "x_timestamp / y_int")


def _by_constants() -> Iterator[str]:
    for sign, type_, constant in product("/%*", WHOLE, WHOLE_CONSTANTS):
        if not (constant.startswith("(") and type_ in ("ushort", "uint", "ullong")):
            yield f"x_{type_} {sign} {constant}"
    for sign, type_, places in product(("<<", ">>"), WHOLE, ("1", "31", "32", "62", "63")):
        yield f"x_{type_} {sign} {places}"
    yield from ("x_ullong & LHEX'fffffffffffffff0'", "x_ullong | HEX'ff'", "x_uint & 255")
    yield from ("time_bucket('1 min', x_timestamp)", "x_timestamp / 60000000000")


def _casts() -> Iterator[str]:
    types = (*WHOLE, "float")
    for from_, to in product((*types, "timestamp"), types):
        yield f"CAST(x_{from_} AS {to})"
    yield from (f"CAST(n_{from_} AS {to})" for from_, to in product(("float", "ullong"), types))
    yield from (f"CAST(x_bool AS {to})" for to in WHOLE)
    yield from (f"CAST(x_IP AS {to})" for to in WHOLE)
    yield from ("CAST(x_IP AS INET)", "CAST(x_IPV6 AS INET)", "CAST(x_uint AS IP)")
    yield from ("CAST(x_INET AS IP)", "CAST(x_INET AS IPV6)", "CAST(n_INET AS IP)")
    yield from ("CAST(x_ullong AS timestamp)", "CAST(x_llong AS timestamp)")


def _comparisons() -> Iterator[str]:
    same = ((t, t) for t in (*WHOLE, "float", "string", *ADDRESSES, "timestamp"))
    for sign, (left, right) in product(COMPARISONS, (*same, *MIXED, ("IP", "INET"))):
        yield f"x_{left} {sign} y_{right}"
    for sign, type_ in product(COMPARISONS, ("float", "ullong", "string")):
        yield f"n_{type_} {sign} m_{type_}"
    for sign, constant in product(COMPARISONS, ("9007199254740992.0", "1.5", "1e19", "(0-1e300)")):
        yield from (f"x_{type_} {sign} {constant}" for type_ in ("llong", "ullong", "int", "float"))
    for sign, constant in product(COMPARISONS, ("0", "65535", "(0-1)", "4294967296")):
        yield f"LLONG(x_ushort) {sign} {constant} AND x_ullong {sign} {constant}"
    yield from ("x_bool = y_bool", "x_bool <> y_bool", "x_ullong < 0 - 5", "x_llong >= 3ULL")
    yield from ("x_uint IN [1, 64]", "n_float IN [0.5, 7.5]", "x_string NOT IN ['GET', '']")
    yield from ("n_ullong IN [0, 18446744073709551615]", "x_IP IN [IP_VAL'10.0.0.1']")
    prefixes = {
        "IP": ("IP_VAL'10.0.0.0/8'", "IP_VAL'0.0.0.0/0'", "IP_VAL'10.0.0.1/32'",
               "IP_VAL'128.0.0.0/1'"),
        "IPV6": ("IPV6_VAL'2001:db8::/32'", "IPV6_VAL'::/0'", "IPV6_VAL'::/127'"),
        "INET": ("IP_VAL'10.0.0.0/8'", "IPV6_VAL'2001:db8::/33'", "IPV6_VAL'::ffff:0:0/97'"),
    }  # fmt: skip
    yield from (f"n_{type_} IN {text}" for type_, texts in prefixes.items() for text in texts)


def _logic() -> Iterator[str]:
    parts = ("x_bool", "n_bool", "(x_int / y_int > 0)", "(n_int / m_int > 0)")
    for sign, left, right in product(("AND", "OR"), parts, parts):
        yield f"{left} {sign} {right}"
        yield f"({left} {sign} {right}) IS NULL"
    yield from ("NOT n_bool", "n_int IS NULL", "n_int / m_int IS NULL", "NOT (x_int / y_int > 0)")
    yield "y_int <> 0 AND x_int / y_int > 1 AND n_bool"
    yield "(n_bool OR m_bool) AND (y_uint = 0 OR x_uint / y_uint > 2 OR m_bool)"


def _chains() -> Iterator[str]:
    """Sums and products that an optimizer would like to take apart: each step is checked."""
    for type_ in ("llong", "ullong"):
        yield f"x_{type_} + 9223372036854775807 + 5 - 9223372036854775807"
        yield f"7 + (x_{type_} + 9223372036854775800) + y_{type_}"
        yield f"x_{type_} * 9223372036854775807 * 0"
        yield f"x_{type_} * 3 * y_{type_} * 5"
        yield f"5 + (y_{type_} + (x_{type_} + 3)) * 2"
    yield from ("x_llong * 4611686018427387904 * 2 * (0-1)", "x_llong + (0-1) + y_llong + 1")
    yield from ("x_llong + UINT(x_ullong)", "UINT(x_llong) + (ULLONG(y_llong) + x_ullong)")
    yield from ("INT(x_float) + y_llong + 1", "LLONG(x_float) + 1 + y_llong", "x_llong - 1 + 1")
    yield from ("~x_uint + y_llong", "(x_llong >> 1) + 1 + y_llong", "x_llong + (y_llong << 2) + 1")


def _choices() -> Iterator[str]:
    yield "CASE WHEN y_int <> 0 THEN x_int / y_int ELSE 0 END"
    yield "CASE WHEN x_int / y_int > 0 THEN x_int ELSE y_int END"
    yield "CASE WHEN n_bool THEN x_int / y_int WHEN m_bool THEN 5 END"
    yield "CASE WHEN n_int / m_int > 0 THEN 1 WHEN x_int / y_int > 0 THEN 2 ELSE x_int % y_int END"
    yield "IF(x_bool, n_ullong, m_ullong) + 1"
    yield "IF(x_int / y_int > 0, x_ullong, y_ullong) + 1"
    yield "IF(n_bool, x_string, m_string)"
    yield "x_llong / IF(y_bool, y_llong, 3) + 1"
    yield "UMIN(x_float, y_float) + UMAX(n_float, m_float)"
    yield "(x_uint + y_uint) * (x_int - y_int) / (x_ushort % y_ushort) - (n_llong & m_llong)"
    yield "((x_ullong / y_ullong | n_ullong) ^ m_ullong) >> (y_ushort % 70)"


def _deep() -> Iterator[str]:
    """What is named more than once by an operation must not grow with every level."""
    yield " / ".join(["x_llong", *["y_int"] * 12])
    yield " / ".join(["x_ullong", *["y_ushort"] * 9])
    yield "x_llong / (y_llong / (x_int / (y_int / (x_llong / (y_llong / (x_int / 3))))))"
    nested = "x_float"
    for depth in range(9):
        nested = f"{'UMIN' if depth % 2 else 'UMAX'}({nested}, y_float / {depth + 1}.0)"
    yield nested
    yield "abs(" * 8 + "n_llong" + " + m_int)" * 8
    yield "round(" * 6 + "x_uint" + " / 8.0)" * 6
    yield "n_llong << m_uint << x_ushort >> y_ushort << (n_uint / m_uint) >> x_uint << y_uint"
    yield "IF(" * 5 + "n_bool" + ", x_int / y_int > 0, y_bool)" * 5


EXPRESSIONS = [
    *_arithmetic(),
    *_by_constants(),
    *_casts(),
    *_comparisons(),
    *_logic(),
    *_chains(),
    *_choices(),
    *_deep(),
]


@pytest.fixture(scope="module")
def wanted() -> list[list[Outcome]]:
    return expected(EXPRESSIONS, rows())


@pytest.mark.long
@pytest.mark.parametrize(("ansi", "first"), [("true", 0), ("false", 1)])
def test_extremes(spark: SparkSession, wanted: list[list[Outcome]], ansi: str, first: int) -> None:
    """Every other expression in one mode, the rest in the other one."""
    _check(spark, wanted, ansi, slice(first, None, 2))


@pytest.mark.slow
@pytest.mark.parametrize(("ansi", "first"), [("true", 1), ("false", 0)])
def test_the_other_half(
    spark: SparkSession, wanted: list[list[Outcome]], ansi: str, first: int
) -> None:
    _check(spark, wanted, ansi, slice(first, None, 2))


def _check(spark: SparkSession, wanted: list[list[Outcome]], ansi: str, part: slice) -> None:
    data, texts = rows(), EXPRESSIONS[part]
    with ansi_mode(spark, ansi):
        given = outcomes(frame(spark, data), checked(texts))
    assert_same(texts, data, wanted[part], given)

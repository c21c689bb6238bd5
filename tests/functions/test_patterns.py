# SPDX-License-Identifier: Apache-2.0
"""LIKE and ILIKE, as the front end rewrites them and C runs them, against DuckDB; `~`, re."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gigastream.gsql.expressions import Constant, Expression, FunctionCall, Operation
from gigastream.gsql.source import SourceFile
from gigastream.query_texts import QueryTexts, check_texts
from tests.functions.driver import Driver

duckdb = pytest.importorskip("duckdb")

QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
patterns = st.lists(st.sampled_from("%%%__aAb.*[(^$#é\\ "), max_size=7).map("".join)
texts = st.lists(st.sampled_from("aAbB.*[(^$#\\ \n\0"), max_size=8).map("".join)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def condition(test: str) -> Expression:
    """What the checker makes of a test of TCP_data."""
    source = SourceFile("test", f"SELECT TCP_data {test} AS found FROM TCP")
    (query,) = check_texts(QueryTexts((source,))).queries
    return query.outputs[0].expression


def found(driver: Driver, expression: Expression, text: bytes) -> bool:
    """Its value for a text."""
    if isinstance(expression, Operation) and expression.operator == "NOT":
        return not found(driver, expression.operands[0], text)
    if isinstance(expression, Operation):
        constant = expression.operands[1]
        assert (expression.operator, isinstance(constant, Constant)) == ("=", True)
        return text == constant.value  # type: ignore[attr-defined]
    assert isinstance(expression, FunctionCall)
    constant = expression.arguments[1]
    assert isinstance(constant, Constant)
    suffix = expression.symbol.removeprefix("gs_function_")
    return bool(driver.call(suffix, text, constant.value))  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"])
@QUICK
@given(pattern=patterns, text=texts, escape=st.sampled_from(["", "#", "%", "\\"]))
def test_as_duckdb_has_it(
    driver: Driver,
    connection: duckdb.DuckDBPyConnection,
    word: str,
    pattern: str,
    text: str,
    escape: str,
) -> None:
    behind = f" ESCAPE '{escape}'" if escape else ""
    # DuckDB says so where a text comes so far, the checker always
    assume(not escape or not re.sub(f"(?s){re.escape(escape)}.", "", pattern).endswith(escape))
    sql = f"SELECT $text {word} $pattern{behind}"
    wanted = connection.execute(sql, {"text": text, "pattern": pattern}).fetchone()[0]
    made = condition(f"{word} '{pattern}'{behind}")
    assert found(driver, made, text.encode()) is wanted


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("GET%", "starts_with"), ("%x", "ends_with"), ("%%x%", "contains"), ("%", "starts_with")],
)
def test_what_is_no_regular_expression_may_run_low(pattern: str, name: str) -> None:
    made = condition(f"LIKE '{pattern}'")
    assert isinstance(made, FunctionCall)
    assert (made.name, made.cost < 1000) == (name, True)


def test_a_byte_is_a_place(driver: Driver) -> None:
    """Where DuckDB counts characters."""
    assert found(driver, condition("LIKE '__'"), "é".encode())
    assert found(driver, condition("LIKE 'a%'"), b"a\xff\n\0")


@QUICK
@given(text=texts.map(str.encode))
def test_a_regular_expression_is_found_anywhere(driver: Driver, text: bytes) -> None:
    for pattern in ("a[.]", "^A+b", "(a|B)$"):
        wanted = re.search(pattern.encode().replace(b"$", rb"\Z"), text) is not None
        assert found(driver, condition(f"~ '{pattern}'"), text) is wanted
        assert found(driver, condition(f"!~ '{pattern}'"), text) is not wanted

# SPDX-License-Identifier: Apache-2.0
"""The calls of tests/functions/calls.tsv, which were made for the C functions: all in one job."""

from __future__ import annotations

import ipaddress
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as F

from gigastream.gsql.expressions import ColumnRef, Constant, Expression, FunctionCall
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.types import Type, type_named
from spark_sink.expressions import Value, column, refusal
from spark_sink.expressions.values import SPARK_TYPE, literal
from tests.functions.declarations import Declaration, declarations
from tests.functions.driver import inet_bytes
from tests.functions.test_calls import HERE, PAN_KEY, ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_SUFFIX = {declaration.suffix: declaration for declaration in declarations()}


@pytest.mark.long
def test_calls(spark: SparkSession) -> None:
    """Constants are columns here, so that Spark does not compute them before the job."""
    calls = [_call(text) for text, _ in ROWS]
    cells = {f"c{n}": cell for n, cell in enumerate(c for _, values in calls for c in values)}
    columns = iter(cells)
    table = spark.createDataFrame([tuple(cells.values())], _schema(calls, list(cells)))
    made = [_made(declaration, values, columns) for declaration, values in calls]
    values = [column(expression, lambda e: Value(table[e.name])) for expression in made]
    found = table.select(*(F.struct(v.column.alias("v"), _valid(v)).alias("r") for v in values))
    given = [_outcome(d, *cell) for (d, _), cell in zip(calls, found.first(), strict=True)]
    wrong = [
        (text[:80], expected[:80], str(value)[:80])
        for (text, expected), value in zip(ROWS, given, strict=True)
        if eval(expected) != value
    ]
    assert not wrong


def test_none_is_refused() -> None:
    made = [_made(d, values, iter([f"c{n}" for n in range(4)])) for d, values in map(_call, TEXTS)]
    assert [refusal(expression) for expression in made] == [None] * len(TEXTS)


TEXTS = [text for text, _ in ROWS]


def _call(text: str) -> tuple[Declaration, list[object]]:
    suffix, _, arguments = text.partition("(")
    names = {"PREFIXES": str(HERE / "prefixes.csv"), "PAN": PAN_KEY}
    declaration = BY_SUFFIX[suffix]
    cells = eval(f"({arguments.removesuffix(')')},)", names)
    return declaration, [_cell(t, c) for t, c in zip(declaration.arguments, cells, strict=True)]


def _cell(type_: str, value: object) -> object:
    if type_ == "ip":
        return int(ipaddress.IPv4Address(value))
    if type_ in ("ipv6", "inet"):
        return bytearray(inet_bytes(str(value)))
    if type_ == "string":
        return bytearray(value.encode() if isinstance(value, str) else value)  # type: ignore
    return Decimal(value) if type_ == "ullong" else value  # type: ignore[arg-type]


def _schema(calls: list[tuple[Declaration, list[object]]], names: list[str]) -> str:
    types = [SPARK_TYPE[_type(name)] for declaration, _ in calls for name in declaration.arguments]
    return ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))


def _type(name: str) -> Type:
    found = type_named(name)
    assert found is not None
    return found


def _made(declaration: Declaration, cells: list[object], names: object) -> Expression:
    arguments = tuple(
        _argument(declaration, index, cell, next(names))  # type: ignore[call-overload]
        for index, cell in enumerate(cells)
    )
    return FunctionCall(
        type=_type(declaration.result),
        name=declaration.name,
        symbol=declaration.symbol,
        arguments=arguments,
        handle=declaration.handle,
        partial=declaration.partial,
        span=NOWHERE,
    )


def _argument(declaration: Declaration, index: int, cell: object, name: str) -> Expression:
    type_ = _type(declaration.arguments[index])
    if index == declaration.handle or (declaration.name == "prefix" and index == 1):
        value = bytes(cell) if isinstance(cell, bytearray) else cell
        return Constant(type=type_, value=value, span=NOWHERE)  # type: ignore[arg-type]
    return ColumnRef(type=type_, index=0, name=name, span=NOWHERE)


def _valid(value: Value) -> object:
    return literal(True, Type.BOOL) if value.valid is None else value.valid


def _outcome(declaration: Declaration, cell: object, valid: bool) -> object:
    """As the rows of the file have it: addresses as text."""
    if not valid:
        return None
    if declaration.result == "ip":
        return str(ipaddress.IPv4Address(cell))
    if declaration.result in ("ipv6", "inet"):
        return _text(bytes(cell))  # type: ignore[call-overload]
    return bytes(cell) if isinstance(cell, bytearray) else cell


def _text(data: bytes) -> str:
    address = ipaddress.IPv6Address(data)
    return str(address.ipv4_mapped or address)

# SPDX-License-Identifier: Apache-2.0
"""Every function of configs/functions.gsql: what its C gives, for the values at which types end."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from tests.functions import conftest
from tests.functions.declarations import Declaration, declarations
from tests.functions.driver import Driver, inet_bytes
from tests.functions.test_calls import PAN_KEY
from tests.spark_expressions.evaluation import ansi_mode, frame, outcomes
from tests.spark_expressions.inputs import Cell, checked, columns, rows
from tests.spark_expressions.reference import NO_VALUE, Outcome, assert_same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

driver = conftest.driver
PREFIX_FILE = str(Path(conftest.__file__).with_name("prefixes.csv"))
BITS = ("0", "1", "4", "5", "8", "24", "31", "32", "33", "64", "97", "127", "128", "4294967295")
PATTERNS = (r"^[^\n]*GET.*", "(a|aa|aaa)(,|,a)", "a*", "^.$", "x{3,5}$", r"[[:digit:]]+\.",
            "[^a]+", "(GET|get) /", r"\wG", "G|GE", "$")  # fmt: skip
HANDLES = {
    "anonymize": (PAN_KEY,),
    "strftime": ("", "%Y-%m-%d %H:%M:%S.%n", "%a %A %b %B %-d %f %g %I %j %p %u %U %V %w %W %y %G"),
}
Call = tuple[str, Declaration, tuple[Cell | None, ...]]
"""Its text; the function; the constants among its arguments, None for columns."""


def _calls() -> Iterator[Call]:
    for declaration in declarations():
        for constants in product(*_constants(declaration)):
            yield _text(declaration, constants), declaration, constants


def _constants(declaration: Declaration) -> list[tuple[str | None, ...]]:
    """The constants that each argument may be."""
    if declaration.name == "getlpmid":
        return [(None,), (PREFIX_FILE,)]
    if declaration.name == "prefix":
        return [(None,), BITS]
    if declaration.handle is not None:
        return [(None,), HANDLES.get(declaration.name, PATTERNS)]
    return [(None,)] * len(declaration.arguments)


def _text(declaration: Declaration, constants: tuple[str | None, ...]) -> str:
    written = [
        name if constant is None else _literal(declaration.arguments[index], constant)
        for index, (name, constant) in enumerate(zip(_names(declaration), constants, strict=True))
    ]
    brackets = "[]" if declaration.symbol.startswith("gs_predicate") else "()"
    return f"{declaration.name}{brackets[0]}{', '.join(written)}{brackets[1]}"


def _literal(type_: str, constant: str) -> str:
    if type_ == "uint":
        return f"{constant}UL"
    return "'" + constant.replace("'", "''") + "'"  # the path of a clone may have one


def _names(declaration: Declaration) -> list[str]:
    """A column for each argument: of two of one type x and y."""
    spelled = {name.removeprefix("x_").lower(): name for name in columns() if name[0] == "x"}
    names: list[str] = []
    for type_ in declaration.arguments:
        name = spelled[type_]
        names.append(name.replace("x_", "y_") if name in names else name)
    return names


CALLS = list(_calls())
TEXTS = [text for text, _, _ in CALLS]


@pytest.fixture(scope="module")
def wanted(driver: Driver) -> list[list[Outcome]]:
    """What the C functions give."""
    answers: dict[str, object] = {}

    def ask(*call: object) -> object:
        key = repr(call)  # 0.0 and -0.0 are equal
        if key not in answers:
            answers[key] = driver.call(*call)  # type: ignore[arg-type]
        return answers[key]

    return [[_of_c(ask, call, row) for row in rows()] for call in CALLS]


def _of_c(ask: Callable[..., object], call: Call, row: dict[str, Cell]) -> Outcome:
    _, declaration, constants = call
    arguments = [
        _argument(type_, row[name]) if constant is None else _constant(type_, str(constant))
        for type_, name, constant in zip(
            declaration.arguments, _names(declaration), constants, strict=True
        )
    ]
    result = ask(declaration.suffix, *arguments)
    return NO_VALUE if result is None else _cell(declaration.result, result)


def _argument(type_: str, cell: Cell) -> object:
    if type_ in ("ip", "ipv6", "inet"):
        return str(ipaddress.ip_address(cell))  # type: ignore[arg-type]
    return int(cell) if isinstance(cell, bool) else cell


def _constant(type_: str, text: str) -> object:
    return int(text) if type_ == "uint" else text


def _cell(type_: str, result: object) -> Outcome:
    if type_ == "ip":
        return int(ipaddress.IPv4Address(result))
    return inet_bytes(str(result)) if type_ in ("ipv6", "inet") else result  # type: ignore


@pytest.mark.long
@pytest.mark.parametrize("ansi", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_functions(spark: SparkSession, wanted: list[list[Outcome]], ansi: str) -> None:
    data = rows()
    with ansi_mode(spark, ansi):
        given = outcomes(frame(spark, data), checked(TEXTS))
    assert_same(TEXTS, data, wanted, given)

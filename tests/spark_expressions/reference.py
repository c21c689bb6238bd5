# SPDX-License-Identifier: Apache-2.0
"""What the reference evaluator says of an expression over a row of inputs.py."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.answers.reference.binder import Binder
from tests.answers.reference.parser import parse_set
from tests.answers.reference.typed import Typed
from tests.answers.reference.types import NoValueError
from tests.spark_expressions.inputs import Cell, columns, query

NO_VALUE = "no value"
Outcome = Cell | str


def expected(
    expressions: Sequence[str], rows: Sequence[dict[str, Cell]], *, hidden: str = ""
) -> list[list[Outcome]]:
    """A list of outcomes for each expression; `hidden` as in evaluation.outcomes."""
    items = parse_set(query(expressions))[0].items
    binder = Binder(lambda name: _resolve(name.name, hidden))
    return [[_outcome(binder.typed(item.expression), row) for row in rows] for item in items]


def _resolve(name: str, hidden: str) -> Typed:
    def read(row: dict[str, Cell]) -> Cell:
        if hidden and name[0] == hidden[0] and not row[hidden]:
            raise NoValueError
        return row[name]

    return Typed(columns()[name].type, read)


def _outcome(typed: Typed, row: dict[str, Cell]) -> Outcome:
    try:
        return typed.read(row)
    except NoValueError:
        return NO_VALUE


def assert_same(
    expressions: Sequence[str],
    rows: Sequence[dict[str, Cell]],
    wanted: list[list[Outcome]],
    given: list[list[Outcome]],
) -> None:
    """All outcomes are equal; else the first difference of each expression is told."""
    wrong = {
        text: f"{text}: expected {want!r}, not {found!r} for {_read(text, row)}"
        for text, wants, founds in zip(expressions, wanted, given, strict=True)
        for row, want, found in zip(rows, wants, founds, strict=True)
        if not _is_same(want, found, _tolerance(text))
    }
    assert not wrong, f"{len(wrong)} expressions\n" + "\n".join(wrong.values())


def _tolerance(text: str) -> float:
    """Java's logarithms and powers may differ from C's in the last digits."""
    return 1e-14 if "log" in text or "pow" in text or "exp" in text else 0.0


def _read(text: str, row: dict[str, Cell]) -> dict[str, Cell]:
    return {name: value for name, value in row.items() if name in text}


def _is_same(one: Outcome, other: Outcome, tolerance: float) -> bool:
    """Equal, of one type, and 0 has a sign."""
    if isinstance(one, float) and isinstance(other, float):
        if one == 0:
            return repr(one) == repr(other)
        return one == other or math.isclose(one, other, rel_tol=tolerance)
    return type(one) is type(other) and one == other

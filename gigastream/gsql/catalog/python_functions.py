# SPDX-License-Identifier: Apache-2.0
"""A function in Python as the catalog has it: what its annotations say, and where its code is."""

from __future__ import annotations

from gigastream.gsql.catalog.catalog import COSTS, Function
from gigastream.gsql.python_code import PythonCode
from gigastream.gsql.source import Span
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class PythonMark:
    """What a decorator says."""

    ends: bool
    """An exception ends the query."""
    most_bytes: int | None
    """Of a group's rows; None: it is no aggregate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFunction(Function):
    """A function over Arrow arrays."""

    takes_null: tuple[bool, ...]
    """By argument: rows whose value is NULL are given to it, too."""
    may_be_null: bool
    ends: bool
    """An exception ends the query; else rows of which it raises one have no value."""
    code: PythonCode = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonAggregate(PythonFunction):
    """A function over the arrays of a group's rows, which gives one value."""

    most_bytes: int
    """Of rows that a group keeps."""

    @property
    def symbol(self) -> str:
        return self._symbol("udaf", self.name)


def python_function(
    name: str,
    parameters: list[tuple[Type, bool]],
    result: tuple[Type, bool],
    *,
    mark: PythonMark,
    code: PythonCode,
    header: str,
    span: Span,
) -> PythonFunction:
    """A function of types, each with whether it may be NULL. It runs above the border alone."""
    function = PythonFunction(
        name=name,
        is_predicate=False,
        result=result[0],
        parameters=tuple(type_ for type_, _ in parameters),
        handle=None,
        constants=frozenset(),
        lfta_legal=False,
        hfta_legal=True,
        partial=True,
        cost=COSTS["EXPENSIVE"],
        header=header,
        span=span,
        takes_null=tuple(nullable for _, nullable in parameters),
        may_be_null=result[1],
        ends=mark.ends,
        code=code,
    )
    if mark.most_bytes is None:
        return function
    own = {each.name: getattr(function, each.name) for each in fields(function)}
    return PythonAggregate(**own, most_bytes=mark.most_bytes)

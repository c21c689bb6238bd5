# SPDX-License-Identifier: Apache-2.0
"""Calls of functions of the language: casts, non_temporal, concat, and what is chosen by its value.

Those of times are in times.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from gigastream.gsql.binder.arguments import Bound, has_arguments, known
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.declared import built_in
from gigastream.gsql.binder.times import TIMES
from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.operations import arithmetic, choices
from gigastream.gsql.operations.conversion import is_null, with_article
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Temporal, Type

_CASTS = {
    "int": Type.INT,
    "uint": Type.UINT,
    "llong": Type.LLONG,
    "ullong": Type.ULLONG,
    "float": Type.FLOAT,
}


def language_function(
    name: str,
) -> Callable[[BindingContext, ast.Call, Bound], Expression | None] | None:
    """The function of the language with that name."""
    key = name.lower()
    if key in _CASTS:
        return _cast
    return _LANGUAGE.get(key) or TIMES.get(key)


def _cast(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    type_ = _CASTS[call.name.lower()]
    if not has_arguments(context, call, 1, f"{call.name}(x)"):
        return None
    return arithmetic.cast(arguments[0], type_, call.span, context.sink)


def _if(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """Of three arguments it is a CASE (expressions.py); only its mistakes come here."""
    has_arguments(context, call, 3, "IF(condition, x, y)")
    return None


def _non_temporal(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    if not has_arguments(context, call, 1, "non_temporal(x)"):
        return None
    return arithmetic.varying(arguments[0], call.span)


def _coalesce(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    good = _any_number(context, call, arguments, "coalesce(x, y, …)")
    return None if good is None else choices.coalesced(good, call.span, context.sink)


def _ifnull(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    if not has_arguments(context, call, 2, "ifnull(x, y)"):
        return None
    return _coalesce(context, call, arguments)


def _nullif(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    if not has_arguments(context, call, 2, "nullif(x, y)"):
        return None
    good = known(arguments)
    return None if good is None else choices.null_if(good, call.span, context.sink)


def _extreme(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    good = _any_number(context, call, arguments, f"{call.name}(x, y, …)")
    if good is None:
        return None
    return choices.extreme(call.name.upper(), good, call.span, context.sink)


def _concat(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """SQL's: NULL adds nothing."""
    good = _any_number(context, call, arguments, "concat(x, y, …)")
    if good is None:
        return None
    for part in good:
        if part.type is not Type.STRING and not is_null(part):
            message = f"concat joins strings, not {with_article(part.type)}"
            hint = "hex(x) and strftime(x, '%H:%M') make text of numbers and times"
            context.sink.error("wrong-type", message, part.span, hint)
            return None
    empty = Constant(type=Type.STRING, temporal=Temporal.CONSTANT, value=b"", span=call.span)
    parts = [choices.coalesced([part, empty], part.span, context.sink) for part in good]
    there = [part for part in parts if part is not None]

    def joined(left: Expression, right: Expression) -> Expression:
        result = built_in(context, "concat", [left, right], call.span)
        assert result is not None
        return result

    return reduce(joined, there)


def _any_number(
    context: BindingContext, call: ast.Call, arguments: Bound, shape: str
) -> list[Expression] | None:
    if not call.args:
        has_arguments(context, call, 1, shape)
        return None
    return known(arguments)


_LANGUAGE: dict[str, Callable[[BindingContext, ast.Call, Bound], Expression | None]] = {
    "if": _if,
    "non_temporal": _non_temporal,
    "coalesce": _coalesce,
    "ifnull": _ifnull,
    "nullif": _nullif,
    "greatest": _extreme,
    "least": _extreme,
    "concat": _concat,
}

# SPDX-License-Identifier: Apache-2.0
"""Calls of functions and predicates: those of the language, and those of definition files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gigastream.gsql.binder.context import BindingContext, not_supported
from gigastream.gsql.binder.literals import byte_of_literal
from gigastream.gsql.catalog.catalog import Function
from gigastream.gsql.diagnostics import closest, printable
from gigastream.gsql.expressions import Constant, Expression, FunctionCall
from gigastream.gsql.operations import arithmetic
from gigastream.gsql.operations.conversion import converted, exact_type
from gigastream.gsql.operations.overloads import chosen
from gigastream.gsql.order.inference import temporal_of
from gigastream.gsql.regular_expressions import WITH_PATTERNS, PatternError, compiled
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.durations import NANOSECONDS_OF_UNIT, duration_ns
from gigastream.gsql.types import Temporal, Type

Bound = list[Expression | None]
Call = ast.Call | ast.PredicateCall

_CASTS = {
    "int": Type.INT,
    "uint": Type.UINT,
    "llong": Type.LLONG,
    "ullong": Type.ULLONG,
    "float": Type.FLOAT,
}
LANGUAGE = (*(name.upper() for name in _CASTS), "IF", "non_temporal", "time_bucket")
"""Functions that are part of the language and stand in no definition file."""

LANGUAGE_SIGNATURES = (
    *((f"{name.upper()}(number)", name) for name in _CASTS),
    ("IF(bool, any, any)", "the same"),
    ("non_temporal(any)", "the same"),
    ("time_bucket(string CONST, timestamp)", "timestamp"),
)
"""How each of them is called, and what it gives."""

SHOWN_SIGNATURES = 4
SHOWN_CHARACTERS = 40


def language_function(
    name: str,
) -> Callable[[BindingContext, ast.Call, Bound], Expression | None] | None:
    """The function of the language with that name."""
    key = name.lower()
    if key in _CASTS:
        return _cast
    return _LANGUAGE.get(key)


def declared_function(context: BindingContext, call: Call, arguments: Bound) -> Expression | None:
    """A call of a function or predicate of a definition file."""
    is_predicate = isinstance(call, ast.PredicateCall)
    overloads = context.catalog.overloads(call.name, is_predicate)
    if not overloads:
        _report_unknown(context, call)
        return None
    good = [argument for argument in arguments if argument is not None]
    if len(good) < len(arguments):
        return None
    function = chosen(overloads, good)
    if function is None:
        _report_arguments(context, call, overloads, good)
        return None
    return _called(context, call, function, good)


def _called(
    context: BindingContext, call: Call, function: Function, arguments: list[Expression]
) -> Expression | None:
    pairs = zip(arguments, function.parameters, strict=True)
    typed = tuple(converted(argument, type_) for argument, type_ in pairs)
    for position in sorted(function.constants):
        if not isinstance(typed[position], Constant):
            message = f"argument {position + 1} of {function.name} must be a constant"
            hint = "a literal, a $parameter or a #define"
            context.sink.error("wrong-arguments", message, typed[position].span, hint)
            return None
    if not function.header and not _is_pattern(context, function, typed):
        return None
    result = FunctionCall(
        type=function.result,
        nullable=any(argument.nullable for argument in typed),
        name=function.name,
        symbol=function.symbol,
        arguments=typed,
        handle=function.handle,
        partial=function.partial,
        lfta_legal=function.lfta_legal,
        hfta_legal=function.hfta_legal,
        cost=function.cost,
        header=function.header,
        include=function.include,
        span=call.span,
    )
    if has_no_value(result):
        message = f"{call.span.text} has no value"
        context.sink.error("no-value", message, call.span)
    return replace(result, temporal=temporal_of(result))


def has_no_value(call: FunctionCall) -> bool:
    """True for a partial function of constants that is defined for none of them."""
    constants = [part.value for part in call.arguments if isinstance(part, Constant)]
    if not call.partial or None in constants or call.name not in _UNDEFINED:
        return False
    if call.name == "fmod" and isinstance(call.arguments[1], Constant):
        return constants[-1] == 0
    return len(constants) == len(call.arguments) and _UNDEFINED[call.name](*constants)


_UNDEFINED: dict[str, Callable[..., bool]] = {
    "sqrt": lambda x: x < 0,
    **dict.fromkeys(("log", "log2", "log10"), lambda x: x <= 0),
    "pow": lambda x, y: (x == 0 and y < 0) or (x < 0 and y != int(y)),
    "exp": lambda x: x > 709.79,
    "fmod": lambda x, y: y == 0,
}


def _is_pattern(
    context: BindingContext, function: Function, arguments: Sequence[Expression]
) -> bool:
    """Whether the HANDLE of a function of regular expressions is one; an error where it is not."""
    handle = None if function.handle is None else arguments[function.handle]
    if function.symbol not in WITH_PATTERNS or not isinstance(handle, Constant):
        return True
    if not isinstance(handle.value, bytes):
        message = f"NULL is no pattern for {function.name}"
        context.sink.error("wrong-arguments", message, handle.span)
        return False
    try:
        compiled(handle.value)
    except PatternError as error:
        message = f"bad regular expression: {error}"
        place = byte_of_literal(handle.span, handle.value, error.at)
        if place is None:
            message += f", at byte {error.at + 1} of {_shown(handle.value)}"
        context.sink.error("bad-pattern", message, place or handle.span, error.hint)
        return False
    return True


def _shown(pattern: bytes) -> str:
    text = printable(pattern.decode("utf-8", "replace"))
    return f"'{text}'" if len(text) <= SHOWN_CHARACTERS else f"'{text[:SHOWN_CHARACTERS]}…'"


# Functions of the language


def _cast(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    type_ = _CASTS[call.name.lower()]
    if not _has_arguments(context, call, 1, f"{call.name}(x)"):
        return None
    return arithmetic.cast(arguments[0], type_, call.span, context.sink)


def _if(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """Of three arguments it is a CASE (binder_expressions.py); only its mistakes come here."""
    _has_arguments(context, call, 3, "IF(condition, x, y)")
    return None


def _non_temporal(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    if not _has_arguments(context, call, 1, "non_temporal(x)"):
        return None
    return arithmetic.varying(arguments[0], call.span)


def _time_bucket(context: BindingContext, call: ast.Call, arguments: Bound) -> Expression | None:
    """The start of the bucket that holds a timestamp: t / width * width, which stays increasing."""
    shape = "time_bucket('1 min', timestamp)"
    if not _has_arguments(context, call, 2, shape):
        return None
    width, time = arguments
    if width is None or time is None:
        return None
    if time.type is not Type.TIMESTAMP:
        message = f"time_bucket cuts a timestamp, not {exact_type(time)}"
        hint = f"{shape}; whole seconds are cut by time/60"
        context.sink.error("wrong-type", message, time.span, hint)
        return None
    width_ns = _width(context, width)
    if width_ns is None:
        return None
    length = Constant(type=Type.LLONG, temporal=Temporal.CONSTANT, value=width_ns, span=width.span)
    index = arithmetic.binary("/", time, length, call.span, context.sink)
    start = arithmetic.binary("*", index, length, call.span, context.sink)
    return arithmetic.cast(start, Type.TIMESTAMP, call.span, context.sink)


def _width(context: BindingContext, width: Expression) -> int | None:
    value = width.value if isinstance(width, Constant) else None
    if not isinstance(value, bytes):
        message = "the width of a bucket is a constant text like '1 min'"
        context.sink.error("wrong-arguments", message, width.span, _WIDTH_HINT)
        return None
    try:
        return duration_ns(value.decode("utf-8", "replace"))
    except ValueError as error:
        context.sink.error("wrong-arguments", str(error), width.span, _WIDTH_HINT)
        return None


_WIDTH_HINT = f"a whole number above 0 and a unit: {', '.join(NANOSECONDS_OF_UNIT)}"

_LANGUAGE: dict[str, Callable[[BindingContext, ast.Call, Bound], Expression | None]] = {
    "if": _if,
    "non_temporal": _non_temporal,
    "time_bucket": _time_bucket,
}


def _has_arguments(context: BindingContext, call: ast.Call, count: int, shape: str) -> bool:
    if len(call.args) == count and not call.star and not call.distinct:
        return True
    noun = "argument" if count == 1 else "arguments"
    message = f"{call.name} takes {count} {noun}"
    context.sink.error("wrong-arguments", message, call.span, f"write {shape}")
    return False


# What goes wrong


def _report_arguments(
    context: BindingContext, call: Call, overloads: Sequence[Function], arguments: list[Expression]
) -> None:
    opening, closing = "[]" if isinstance(call, ast.PredicateCall) else "()"
    types = ", ".join(exact_type(argument) for argument in arguments)
    message = f"there is no {call.name}{opening}{types}{closing}"
    shown = [function.signature for function in overloads[:SHOWN_SIGNATURES]]
    more = ", …" if len(overloads) > SHOWN_SIGNATURES else ""
    hint = f"there is {', '.join(shown)}{more}"
    context.sink.error("wrong-arguments", message, call.span, hint)


def _report_unknown(context: BindingContext, call: Call) -> None:
    catalog, key = context.catalog, call.name.lower()
    if key in catalog.stateful_functions:
        not_supported(context.sink, f"calling {call.name}", call.name_span)
        return
    is_predicate = isinstance(call, ast.PredicateCall)
    what = "predicate" if is_predicate else "function"
    hint = _other_brackets(context, call) or _near(context, call)
    context.sink.error("unknown-function", f"no {what} {call.name}", call.name_span, hint)


def _other_brackets(context: BindingContext, call: Call) -> str | None:
    is_predicate = isinstance(call, ast.PredicateCall)
    if not context.catalog.overloads(call.name, not is_predicate):
        return None
    shape = f"{call.name}(…)" if is_predicate else f"{call.name}[…]"
    return f"it is a {'function' if is_predicate else 'predicate'}: write {shape}"


def _near(context: BindingContext, call: Call) -> str:
    names = {function.name for function in context.catalog.all_functions}
    names.update(LANGUAGE, context.aggregate_names)
    meant = closest(call.name, sorted(names))
    return "`gigastream functions` lists them" if meant is None else f"did you mean {meant}?"

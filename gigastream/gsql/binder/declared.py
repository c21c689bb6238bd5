# SPDX-License-Identifier: Apache-2.0
"""Calls of functions and predicates of definition files, those that ship among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.language import LANGUAGE
from gigastream.gsql.binder.literals import byte_of_literal
from gigastream.gsql.catalog.catalog import Function
from gigastream.gsql.catalog.python_functions import PythonFunction
from gigastream.gsql.diagnostics import closest, printable
from gigastream.gsql.expressions import Constant, Expression, FunctionCall, PythonCall
from gigastream.gsql.operations.conversion import converted, exact_type
from gigastream.gsql.operations.overloads import chosen
from gigastream.gsql.order.inference import temporal_of
from gigastream.gsql.other_sql import function_hint
from gigastream.gsql.regular_expressions import WITH_PATTERNS, PatternError, compiled
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.time_formats import TimeFormat, TimeFormatError
from gigastream.late_dataclass import replace

Call = ast.Call | ast.PredicateCall

OTHER_NAMES = {
    "substr": "substring",
    "instr": "strpos",
    "octet_length": "length",
    "strlen": "length",
    "base64": "to_base64",
    "to_hex": "hex",
    "from_hex": "unhex",
    "regexp_matches": "str_regex_match",
}
"""Names that DuckDB or Postgres has for functions that are here under another one."""

SHOWN_SIGNATURES = 4
SHOWN_CHARACTERS = 40


def declared_function(
    context: BindingContext, call: Call, arguments: Sequence[Expression | None]
) -> Expression | None:
    """A call of a function or predicate of a definition file."""
    is_predicate = isinstance(call, ast.PredicateCall)
    overloads = overloads_of(context, call.name, is_predicate)
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
    return _called(context, function, good, call.span)


def overloads_of(
    context: BindingContext, name: str, is_predicate: bool = False
) -> tuple[Function, ...]:
    """The overloads of a name, or of the one that it is another name of."""
    found = context.catalog.overloads(name, is_predicate)
    other = None if is_predicate else OTHER_NAMES.get(name.lower())
    return found or (context.catalog.overloads(other) if other else ())


def built_in(
    context: BindingContext, name: str, arguments: Sequence[Expression], span: Span
) -> Expression | None:
    """A call of a function that comes with Gigastream, for what the language has words for."""
    function = chosen(context.catalog.overloads(name), arguments)
    assert function is not None
    return _called(context, function, arguments, span)


def _called(
    context: BindingContext, function: Function, arguments: Sequence[Expression], span: Span
) -> Expression | None:
    pairs = zip(arguments, function.parameters, strict=True)
    typed = tuple(converted(argument, type_) for argument, type_ in pairs)
    for position in sorted(function.constants):
        if not isinstance(typed[position], Constant):
            message = f"argument {position + 1} of {function.name} must be a constant"
            hint = "a literal, a $parameter or a #define"
            context.sink.error("wrong-arguments", message, typed[position].span, hint)
            return None
    if isinstance(function, PythonFunction):
        return _called_in_python(function, typed, span)
    if not function.header and not _is_good_handle(context, function, typed):
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
        span=span,
    )
    if has_no_value(result):
        context.sink.error("no-value", f"{span.text} has no value", span)
    return replace(result, temporal=temporal_of(result))


def _called_in_python(
    function: PythonFunction, arguments: tuple[Expression, ...], span: Span
) -> Expression:
    """A row with a NULL among what takes none gives NULL, as with any function."""
    pairs = zip(arguments, function.takes_null, strict=True)
    meets_null = any(argument.nullable and not takes for argument, takes in pairs)
    return PythonCall(
        type=function.result,
        nullable=function.may_be_null or meets_null,
        name=function.name,
        symbol=function.symbol,
        arguments=arguments,
        partial=True,
        lfta_legal=False,
        cost=function.cost,
        header=function.header,
        span=span,
        takes_null=function.takes_null,
        may_be_null=function.may_be_null,
        ends=function.ends,
        code=function.code,
    )


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


def _is_good_handle(
    context: BindingContext, function: Function, arguments: Sequence[Expression]
) -> bool:
    """Whether a HANDLE is a pattern or a format where one is wanted; an error where it is not."""
    handle = None if function.handle is None else arguments[function.handle]
    check = _HANDLES.get("pattern" if function.symbol in WITH_PATTERNS else function.name)
    if check is None or not isinstance(handle, Constant):
        return True
    if isinstance(handle.value, bytes):
        return check(context, handle, handle.value)
    message = f"NULL is no pattern for {function.name}"
    context.sink.error("wrong-arguments", message, handle.span)
    return False


def _is_pattern(context: BindingContext, handle: Constant, text: bytes) -> bool:
    try:
        compiled(text)
    except PatternError as error:
        message = f"bad regular expression: {error}"
        _report_byte(context, "bad-pattern", message, handle, error.at, error.hint)
        return False
    return True


def _is_time_format(context: BindingContext, handle: Constant, text: bytes) -> bool:
    try:
        TimeFormat(text)
    except TimeFormatError as error:
        message, hint = f"bad format of a time: {error}", "%Y-%m-%d %H:%M:%S"
        _report_byte(context, "bad-format", message, handle, error.at, hint)
        return False
    return True


def _is_key(context: BindingContext, handle: Constant, text: bytes) -> bool:
    if re.fullmatch(rb"[0-9A-Fa-f]{64}", text):
        return True
    message = f"a key of anonymize is 64 hexadecimal digits, not {len(text)} bytes"
    hint = "openssl rand -hex 32 makes one; --param keeps it out of the text"
    context.sink.error("bad-key", message, handle.span, hint)
    return False


_HANDLES: dict[str, Callable[[BindingContext, Constant, bytes], bool]] = {
    "pattern": _is_pattern,
    "strftime": _is_time_format,
    "anonymize": _is_key,
}


def _report_byte(
    context: BindingContext, code: str, message: str, text: Constant, at: int, hint: str | None
) -> None:
    """Report a byte of a constant text, by its place or by its number."""
    assert isinstance(text.value, bytes)
    place = byte_of_literal(text.span, text.value, at)
    if place is None:
        message += f", at byte {at + 1} of {_shown(text.value)}"
    context.sink.error(code, message, place or text.span, hint)


def _shown(pattern: bytes) -> str:
    text = printable(pattern.decode("utf-8", "replace"))
    return f"'{text}'" if len(text) <= SHOWN_CHARACTERS else f"'{text[:SHOWN_CHARACTERS]}…'"


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
    elsewhere = function_hint(call.name)
    if elsewhere is not None:
        return elsewhere
    names = {function.name for function in context.catalog.all_functions}
    names.update(LANGUAGE, context.aggregate_names)
    names.update(function.name for function in context.catalog.all_stateful)
    meant = closest(call.name, sorted(names))
    return "`gigastream functions` lists them" if meant is None else f"did you mean {meant}?"

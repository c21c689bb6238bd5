# SPDX-License-Identifier: Apache-2.0
"""`x LIKE pattern`, `ILIKE` and `x ~ pattern`, over bytes.

LIKE matches the whole string: `%` is any bytes, `_` one byte. There is no escape unless ESCAPE
names one (DuckDB's rule). What such a pattern says becomes the cheapest test that says it:
equality, starts_with, ends_with, contains; all else, and what ILIKE has letters for, a regular
expression.
`~` finds a regular expression anywhere, as str_regex_match does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gigastream.gsql.binder.arguments import constant_text
from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.declared import built_in
from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.operations import conditions
from gigastream.gsql.operations.conversion import with_article
from gigastream.gsql.regular_expressions import PatternError, compiled
from gigastream.gsql.source import Span
from gigastream.gsql.types import Temporal, Type

ONE, ANY = object(), object()
"""What `_` and `%` are; all else in a pattern is bytes."""
Part = bytes | object


def pattern_test(
    context: BindingContext,
    op: str,
    operand: Expression | None,
    pattern: Expression | None,
    escape: Expression | None,
    span: Span,
) -> Expression | None:
    """The condition, or None after an error."""
    if operand is None or pattern is None:
        return None
    if operand.type is not Type.STRING:
        message = f"{op} looks into a string, not into {with_article(operand.type)}"
        context.sink.error("wrong-type", message, operand.span, _hint_of_type(operand.type))
        return None
    if not (isinstance(pattern, Constant) and isinstance(pattern.value, bytes)):
        message = f"the pattern of {op} must be a constant text"
        hint = "a literal, a $parameter or a #define; contains(x, y) looks for a column"
        context.sink.error("wrong-arguments", message, pattern.span, hint)
        return None
    if op == "~":
        return built_in(context, "str_regex_match", [operand, pattern], span)
    sign = _escape(context, escape)
    parts = None if sign is None else _parts(context, pattern, pattern.value, sign)
    return None if parts is None else _test(context, op, operand, parts, pattern)


def _hint_of_type(type_: Type) -> str | None:
    if type_.is_address:
        return "srcIP IN IP_VAL'10.0.0.0/8'; text(x) makes text of it"
    return "text(x) makes text of it" if type_.is_integer else None


def _escape(context: BindingContext, escape: Expression | None) -> bytes | None:
    """The byte that takes a sign its meaning, none for an empty text; None after an error."""
    if escape is None:
        return b""
    text = constant_text(escape)
    if text is not None and len(text.encode()) <= 1:
        return text.encode()
    message = "ESCAPE is a text of one character of ASCII, or of none"
    context.sink.error("wrong-arguments", message, escape.span, "x LIKE '100#%' ESCAPE '#'")
    return None


def _parts(
    context: BindingContext, pattern: Expression, text: bytes, escape: bytes
) -> list[Part] | None:
    """The pattern in parts, no two texts and no two `%` behind each other."""
    found: list[Part] = []
    at = 0
    while at < len(text):
        byte = text[at : at + 1]
        if byte == escape and at + 1 == len(text):
            message = "nothing stands behind the last sign of ESCAPE"
            context.sink.error("bad-pattern", message, pattern.span)
            return None
        if byte == escape:
            at += 1
            _add(found, text[at : at + 1])
        else:
            _add(found, {b"%": ANY, b"_": ONE}.get(byte, byte))
        at += 1
    return found


def _add(parts: list[Part], part: Part) -> None:
    last = parts[-1] if parts else None
    if isinstance(part, bytes) and isinstance(last, bytes):
        parts[-1] = last + part
    elif part is not ANY or last is not ANY:
        parts.append(part)


def _test(
    context: BindingContext, op: str, operand: Expression, parts: Sequence[Part], pattern: Constant
) -> Expression | None:
    span = pattern.span
    texts = [part for part in parts if isinstance(part, bytes)]
    is_plain = op == "LIKE" or not any(re.search(rb"[A-Za-z]", text) for text in texts)
    name = _SHAPES.get(tuple("%" if p is ANY else "_" if p is ONE else "x" for p in parts))
    if not is_plain or name is None:
        return _regular(context, op, operand, parts, pattern)
    text = Constant(
        type=Type.STRING,
        temporal=Temporal.CONSTANT,
        value=texts[0] if texts else b"",
        span=span,
    )
    if name == "=":
        return conditions.comparison("=", operand, text, span, context.sink)
    return built_in(context, name, [operand, text], span)


_SHAPES: dict[tuple[str, ...], str] = {
    (): "=",
    ("x",): "=",
    ("%",): "starts_with",
    ("x", "%"): "starts_with",
    ("%", "x"): "ends_with",
    ("%", "x", "%"): "contains",
}
"""What is simpler than a regular expression."""


def _regular(
    context: BindingContext, op: str, operand: Expression, parts: Sequence[Part], pattern: Constant
) -> Expression | None:
    inner = b"".join(map(_in_regular, parts))
    text = (b"(?i)" if op == "ILIKE" else b"") + b"^" + inner + b"$"
    try:
        compiled(text)
    except PatternError as error:
        message = f"this pattern is too long: {error}"
        context.sink.error("bad-pattern", message, pattern.span)
        return None
    expression = Constant(
        type=Type.STRING, temporal=Temporal.CONSTANT, value=text, span=pattern.span
    )
    return built_in(context, "str_regex_match", [operand, expression], pattern.span)


def _in_regular(part: Part) -> bytes:
    if isinstance(part, bytes):
        return b"".join(b"\\x%02x" % byte if _is_sign(byte) else bytes([byte]) for byte in part)
    return b"." if part is ONE else b".*"


def _is_sign(byte: int) -> bool:
    """True for what a regular expression might read as something else."""
    return byte < 0x80 and not (chr(byte).isalnum() or byte in b" /:-_,;='\"<>@&%#~`!")

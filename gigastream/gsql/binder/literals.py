# SPDX-License-Identifier: Apache-2.0
"""Constants: literals, parameters, defines, prefixes."""

from __future__ import annotations

import re

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.expressions import Constant, ConstantValue
from gigastream.gsql.operations.conversion import converted, flexible_constant
from gigastream.gsql.source import NOWHERE, UNDECODED, Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.parser import parse_expression
from gigastream.gsql.types import Temporal, Type
from gigastream.late_dataclass import replace

_TYPES = {
    "uint": Type.UINT,
    "ullong": Type.ULLONG,
    "hex": Type.UINT,
    "lhex": Type.ULLONG,
    "float": Type.FLOAT,
    "bool": Type.BOOL,
    "null": Type.BOOL,
    "string": Type.STRING,
    "ip": Type.IP,
    "ipv6": Type.IPV6,
}


def constant(type_: Type, value: ConstantValue | None, span: Span) -> Constant:
    """A constant of that type."""
    nullable = value is None
    return Constant(
        type=type_, temporal=Temporal.CONSTANT, nullable=nullable, value=value, span=span
    )


def literal(node: ast.Literal, sink: DiagnosticSink) -> Constant | None:
    """The constant that a literal is; a prefix is none, as it is no value."""
    if node.kind.endswith("_prefix"):
        message = "a prefix stands behind IN only"
        sink.error("wrong-type", message, node.span, "write x IN " + node.span.text)
        return None
    if node.kind == "int":
        assert isinstance(node.value, int)
        return flexible_constant(node.value, node.span)
    return constant(_TYPES[node.kind], _stored(node), node.span)


def _stored(node: ast.Literal) -> ConstantValue | None:
    """The value as a constant keeps it: texts and IPv6 addresses are bytes."""
    value = node.value
    if isinstance(value, str):
        return value.encode()
    assert not isinstance(value, tuple)
    return int(value or 0).to_bytes(16, "big") if node.kind == "ipv6" else value


def byte_of_literal(span: Span, value: bytes, at: int) -> Span | None:
    """The place of a byte of a text; None where the span is none of a text in quotes."""
    if not span.text.startswith("'"):
        return None
    before = value[:at].decode("utf-8", "replace").replace("'", "''")
    start = min(span.start + 1 + len(before), span.end - 1)
    return Span(span.file, start, start + 1)


def parameter(node: ast.Parameter, context: BindingContext) -> Constant | None:
    """The value of `$name`."""
    key = node.name.lower()
    if key not in context.parameters:
        hint = did_you_mean(node.name, context.parameters) or f"PARAM {{ {node.name} uint 60; }}"
        context.sink.error("unknown-parameter", f"no parameter ${node.name}", node.span, hint)
        return None
    value = context.parameters[key]
    return None if value is None else replace(value, name=f"${node.name}", span=node.span)


def define(node: ast.Define, context: BindingContext) -> Constant | None:
    """The text of `#name`."""
    key = node.name.lower()
    if key not in context.defines:
        hint = did_you_mean(node.name, context.defines) or f"DEFINE {{ {node.name} 'text'; }}"
        context.sink.error("unknown-define", f"no constant #{node.name}", node.span, hint)
        return None
    value = constant(Type.STRING, context.defines[key].encode(), node.span)
    return replace(value, name=f"#{node.name}")


Prefix = tuple[Constant, int]
"""An address, IP or IPV6, and the number of its first bits that count."""


def prefix(node: ast.SyntaxExpression, context: BindingContext) -> Prefix | None:
    """What stands behind IN: a prefix literal, or a text that is one."""
    if isinstance(node, ast.Literal):
        return _prefix_literal(node, context.sink)
    value: Constant | None = None
    if isinstance(node, ast.Parameter):
        value = parameter(node, context)
    elif isinstance(node, ast.Define):
        value = define(node, context)
    return None if value is None else _prefix_of(value, context.sink)


def is_prefix(node: ast.SyntaxExpression) -> bool:
    """True for a prefix literal."""
    return isinstance(node, ast.Literal) and node.kind.endswith("_prefix")


def _prefix_literal(node: ast.Literal, sink: DiagnosticSink) -> Prefix | None:
    if is_prefix(node):
        assert isinstance(node.value, tuple)
        address, length = node.value
        kind = node.kind.removesuffix("_prefix")
        found = literal(ast.Literal(kind, address, span=node.span), sink)
        return None if found is None else (found, length)
    found = literal(node, sink)
    return None if found is None else _prefix_of(found, sink)


def _prefix_of(value: Constant, sink: DiagnosticSink) -> Prefix | None:
    """An address alone is a prefix of all its bits; a text is read as one or the other."""
    if value.type in (Type.IP, Type.IPV6):
        return value, 32 if value.type is Type.IP else 128
    if value.type is Type.STRING and isinstance(value.value, bytes):
        text = value.value.decode("utf-8", "replace").strip()
        found = _read_prefix(text, value.span)
        if found is not None:
            return found
    message = "this is no prefix of addresses"
    sink.error("wrong-type", message, value.span, "x IN IP_VAL'10.0.0.0/8', or x IN [1, 2, 3]")
    return None


def _read_prefix(text: str, span: Span) -> Prefix | None:
    """The parser's reading of a text, of which the errors count as `no prefix`."""
    word = "IPV6_VAL" if ":" in text else "IP_VAL"
    silent = DiagnosticSink()
    node = None if "'" in text else parse_expression(f"{word}'{text}'", "", silent)
    if not isinstance(node, ast.Literal):
        return None
    return _prefix_literal(replace(node, span=span), silent)


_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""As the language writes numbers; Python reads 1_000 and the digits of other scripts, too."""


def read_value(text: str, type_: Type, span: Span) -> Constant | None:
    """A parameter's value as the command line gives it; None if it is not of the type."""
    value = _READERS.get(type_, _number)(text.strip() if type_ is not Type.STRING else text, type_)
    return None if value is None else constant(type_, value, span)


def _number(text: str, type_: Type) -> ConstantValue | None:
    if not _NUMBER.fullmatch(text):
        return None
    whole = int(text)
    low, high = type_.limits
    return whole if low <= whole <= high else None


def _float(text: str, type_: Type) -> ConstantValue | None:
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) != float("inf") and value == value else None


def _bool(text: str, type_: Type) -> ConstantValue | None:
    return {"true": True, "false": False, "1": True, "0": False}.get(text.lower())


def _string(text: str, type_: Type) -> ConstantValue | None:
    return None if UNDECODED.search(text) else text.encode()


def _address(text: str, type_: Type) -> ConstantValue | None:
    found = _read_prefix(text, NOWHERE)
    if found is None or "/" in text:
        return None
    address = converted(found[0], type_) if found[0].type in _ACCEPTED[type_] else None
    return address.value if isinstance(address, Constant) else None


_ACCEPTED = {
    Type.IP: (Type.IP,),
    Type.IPV6: (Type.IPV6,),
    Type.INET: (Type.IP, Type.IPV6),
}

_READERS = {
    Type.FLOAT: _float,
    Type.BOOL: _bool,
    Type.STRING: _string,
    Type.IP: _address,
    Type.IPV6: _address,
    Type.INET: _address,
}

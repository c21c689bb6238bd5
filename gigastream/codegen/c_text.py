# SPDX-License-Identifier: Apache-2.0
"""C as text: types, literals, indentation. Text from a query never reaches C unescaped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gigastream.gsql.expressions import Constant
from gigastream.gsql.types import Type


class _CTypes(dict[Type, str]):
    """An opaque type is not listed: GS_OPAQUE_TYPE makes its struct."""

    def __missing__(self, type_: Type) -> str:
        assert type_.is_opaque
        return f"struct gs_opaque_{type_.size}"


C_TYPE = _CTypes(
    {
        Type.BOOL: "uint8_t",
        Type.USHORT: "uint16_t",
        Type.UINT: "uint32_t",
        Type.INT: "int32_t",
        Type.ULLONG: "uint64_t",
        Type.LLONG: "int64_t",
        Type.FLOAT: "double",
        Type.STRING: "struct gs_string",
        Type.IP: "uint32_t",
        Type.IPV6: "struct gs_inet",
        Type.INET: "struct gs_inet",
        Type.TIMESTAMP: "int64_t",
    }
)


def enum_of(type_: Type) -> str:
    """The `enum gs_type` of a type."""
    return "GS_OPAQUE" if type_.is_opaque else f"GS_{type_.name}"


def is_struct(type_: Type) -> bool:
    """True where a value is a struct: not set by 0, nor compared by ==."""
    return type_ in (Type.STRING, Type.INET, Type.IPV6) or type_.is_opaque


def identifier(text: str) -> str:
    """A C identifier that is readable and never a keyword; not unique by itself."""
    return "q_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in text)


def string_literal(text: bytes) -> str:
    """A C string literal: everything but letters, digits and spaces as an octal escape."""
    safe = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:/")
    return '"' + "".join(chr(b) if b in safe else f"\\{b:03o}" for b in text) + '"'


def comment(text: str) -> str:
    """A query's text as a C comment that it cannot end."""
    flat = " ".join(text.split()).encode("ascii", "replace").decode()
    return "/* " + flat.replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\ ") + " */"


def constant(value: Constant) -> str:
    """A constant as a C expression of its type."""
    return literal(value.type, value.value)


def literal(type_: Type, value: Any) -> str:
    """A value that is not NULL as a C expression of its type."""
    return _CONSTANTS[type_](value)


def zero(type_: Type) -> str:
    """The value that stands in a column where there is NULL."""
    if type_ is Type.STRING:
        return "(struct gs_string){NULL, 0}"
    if type_ in (Type.INET, Type.IPV6):
        return "(struct gs_inet){{0, 0}}"
    if type_.is_opaque:
        return f"({C_TYPE[type_]}){{{{0}}}}"
    return "0"


def bytes_differ(type_: Type, a: str, b: str) -> str:
    """C expression: <0, 0, >0 as the bytes of two opaque values compare."""
    return f"memcmp({a}.bytes, {b}.bytes, {type_.size})"


def _signed(value: object) -> str:
    number = int(value)  # type: ignore[call-overload]
    return "INT64_MIN" if number == -(1 << 63) else f"INT64_C({number})"


def _float(value: object) -> str:
    number = float(value)  # type: ignore[arg-type]
    return number.hex() if number >= 0 else f"({number.hex()})"


def _string(value: object) -> str:
    assert isinstance(value, bytes)
    return f"(struct gs_string){{(const uint8_t *){string_literal(value)}, {len(value)}}}"


def _inet(value: object) -> str:
    assert isinstance(value, bytes)
    words = (int.from_bytes(value[at : at + 8], sys.byteorder) for at in (0, 8))
    return "(struct gs_inet){{" + ", ".join(f"UINT64_C(0x{word:x})" for word in words) + "}}"


_CONSTANTS: dict[Type, Callable[[Any], str]] = {
    Type.BOOL: lambda value: "1" if value else "0",
    Type.USHORT: lambda value: f"{int(value)}u",
    Type.UINT: lambda value: f"{int(value)}u",
    Type.INT: lambda value: f"((int32_t){_signed(value)})",
    Type.ULLONG: lambda value: f"UINT64_C({int(value)})",
    Type.LLONG: _signed,
    Type.TIMESTAMP: _signed,
    Type.FLOAT: _float,
    Type.STRING: _string,
    Type.IP: lambda value: f"UINT32_C(0x{int(value):08x})",
    Type.IPV6: _inet,
    Type.INET: _inet,
}


class Lines:
    """C statements with their indentation."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0

    def add(self, *lines: str) -> None:
        """Append lines at the present depth; an empty one stays empty."""
        self._lines += ["    " * self._depth + line if line else "" for line in lines]

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        """`head {`, what is added inside, `tail`."""
        self.add(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self.add(tail)

    def name(self, stem: str = "t") -> str:
        """A new local name."""
        self._names += 1
        return f"{stem}{self._names}"

    @property
    def count(self) -> int:
        """Lines so far."""
        return len(self._lines)

    def text(self) -> str:
        """All of it, with a line end at the end."""
        return "\n".join(self._lines) + "\n"

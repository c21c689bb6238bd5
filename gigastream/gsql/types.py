# SPDX-License-Identifier: Apache-2.0
"""The types of GSQL and the temporal types of its expressions."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import cast

from gigastream.late_dataclass import dataclass
from gigastream.opaque import OPAQUE, OPAQUE_MAX, opaque_size


class Type(IntEnum):
    """GSQL's types; the numbers are those of `enum gs_type` in csrc/abi/gs_types.h.

    Beside those listed there is `fstringN` for N from 1 to OPAQUE_MAX: N bytes that no operation
    looks into, as the state of a UDAF is. Such a type is made when it is first asked for, one
    object for each N, as the combinations of an enum.Flag are: its value has N above the number.
    """

    BOOL = 1
    USHORT = 2
    UINT = 3
    INT = 4
    ULLONG = 5
    LLONG = 6
    FLOAT = 7
    STRING = 8
    IP = 9
    IPV6 = 10
    INET = 11
    TIMESTAMP = 12

    @classmethod
    def opaque(cls, size: int) -> Type:
        """The type `fstringN` of so many bytes. Raises ValueError beyond OPAQUE_MAX."""
        return cls(size << 8 | OPAQUE)

    @classmethod
    def _missing_(cls, value: object) -> Type | None:
        size = value >> 8 if isinstance(value, int) and value & 0xFF == OPAQUE else 0
        if not isinstance(value, int) or not 0 < size <= OPAQUE_MAX:
            return None
        made = int.__new__(cls, value)
        made._name_, made._value_ = f"FSTRING{size}", value
        return cast(Type, cls._value2member_map_.setdefault(value, made))

    def __str__(self) -> str:
        return _SPELLING.get(self, self.name.lower())

    @property
    def number(self) -> int:
        """Of `enum gs_type`."""
        return self & 0xFF

    @property
    def is_opaque(self) -> bool:
        return self.number == OPAQUE

    @property
    def size(self) -> int:
        """Bytes of an opaque type; 0 for all others."""
        return self >> 8

    @property
    def is_wide(self) -> bool:
        """Of no fixed size, or of a large one: not kept in a column of a burst."""
        return self is Type.STRING or self.is_opaque

    @property
    def is_integer(self) -> bool:
        return Type.USHORT <= self <= Type.LLONG

    @property
    def is_numeric(self) -> bool:
        return Type.USHORT <= self <= Type.FLOAT

    @property
    def is_unsigned(self) -> bool:
        return self in (Type.USHORT, Type.UINT, Type.ULLONG)

    @property
    def is_address(self) -> bool:
        return self in (Type.IP, Type.IPV6, Type.INET)

    @property
    def bits(self) -> int:
        """Width of an integer type in bits."""
        return _BITS[self]

    @property
    def limits(self) -> tuple[int, int]:
        """Least and greatest value of an integer type (a timestamp counts as its nanoseconds)."""
        width = _BITS[self]
        if self.is_unsigned:
            return 0, (1 << width) - 1
        return -(1 << (width - 1)), (1 << (width - 1)) - 1


_SPELLING = {Type.IP: "IP", Type.IPV6: "IPV6", Type.INET: "INET"}
_BITS = {
    Type.USHORT: 16,
    Type.UINT: 32,
    Type.INT: 32,
    Type.ULLONG: 64,
    Type.LLONG: 64,
    Type.TIMESTAMP: 64,
}


TYPE_NAMES = {str(member): member for member in Type}
"""The types as they are written."""


def type_named(name: str) -> Type | None:
    """The type of that name, in any case."""
    size = opaque_size(name)
    if size is None:
        return _BY_LOWER_NAME.get(name.lower())
    return Type.opaque(size) if 0 < size <= OPAQUE_MAX else None


def size_of(type_: Type) -> int:
    """Bytes of a value of one size, as C holds it."""
    return type_.size or _SIZES[type_]


_SIZES = {
    Type.BOOL: 1,
    Type.USHORT: 2,
    **dict.fromkeys((Type.UINT, Type.INT, Type.IP), 4),
    **dict.fromkeys((Type.ULLONG, Type.LLONG, Type.FLOAT, Type.TIMESTAMP), 8),
    **dict.fromkeys((Type.IPV6, Type.INET), 16),
}
_BY_LOWER_NAME = {name.lower(): member for name, member in TYPE_NAMES.items()}


class Temporal(Enum):
    """How an expression moves as the stream goes on (GSQL section 5)."""

    CONSTANT = "constant"
    INCREASING = "increasing"
    DECREASING = "decreasing"
    VARYING = "varying"

    @property
    def is_temporal(self) -> bool:
        return self in (Temporal.INCREASING, Temporal.DECREASING)

    def flipped(self) -> Temporal:
        """The temporal type of the negative."""
        return _FLIPPED.get(self, self)


_FLIPPED = {
    Temporal.INCREASING: Temporal.DECREASING,
    Temporal.DECREASING: Temporal.INCREASING,
}


class Order(Enum):
    """Whether the values of a temporal column come in order (OPERATORS section 1)."""

    ORDERED = "ordered"
    PROGRESSING = "progressing"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a stream's schema."""

    name: str
    type: Type
    temporal: Temporal = Temporal.VARYING
    nullable: bool = False
    subtype: str = ""
    """Presentation only, e.g. "mac"."""
    clock: str = ""
    """`s`, `ms`, `us` or `ns` for a temporal column that counts time since the epoch."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream, in order."""

    columns: tuple[Column, ...]

    def index(self, name: str) -> int | None:
        """Position of the column called `name` (case-insensitive), or None."""
        wanted = name.lower()
        for position, column in enumerate(self.columns):
            if column.name.lower() == wanted:
                return position
        return None

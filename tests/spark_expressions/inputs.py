# SPDX-License-Identifier: Apache-2.0
"""Rows with the values at which types end, and queries over them as the checker gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from gigastream.gsql.expressions import Expression
from gigastream.gsql.source import SourceFile
from gigastream.query_texts import QueryTexts, check_texts

Cell = bool | int | float | bytes | None

MAPPED = bytes(10) + b"\xff\xff"
_OF_IP = "IF(len > 5, IP_VAL'10.0.0.1', IP_VAL'10.0.0.2')"
_OF_IPV6 = "IF(len > 5, IPV6_VAL'2001:db8::1', IPV6_VAL'::1')"
_OF_INET = f"CAST({_OF_IP} AS INET)"


@dataclass(frozen=True)
class Kind:
    """A type's name, an expression of it over packets, and its values."""

    type: str
    source: str
    values: tuple[Cell, ...]


_LLONGS = (-(2**63), -(2**63) + 1, -(2**32), -(2**31) - 1, -1, 0, 1, 2**31, 2**32, 2**53 + 1,
           2**63 - 1)  # fmt: skip
KINDS = (
    Kind("bool", "len > 5", (False, True)),
    Kind("ushort", "CAST(len AS ushort)", (0, 1, 2, 7, 63, 64, 32767, 32768, 65535)),
    Kind("uint", "CAST(len AS uint)", (0, 1, 3, 64, 65536, 2**31 - 1, 2**31, 2**32 - 1)),
    Kind("int", "INT(len)", (-(2**31), -(2**31) + 1, -65536, -7, -1, 0, 1, 5, 2**31 - 1)),
    Kind("ullong", "ULLONG(len)", (0, 1, 2, 63, 64, 2**32, 2**53 + 1, 2**63 - 1, 2**63,
                                   2**64 - 2, 2**64 - 1)),
    Kind("llong", "LLONG(len)", _LLONGS),
    Kind("float", "FLOAT(len)", (-1.7e308, -1e300, -(2.0**63), -2.5, -0.5, -0.0, 0.0, 0.5, 1.0,
                                 7.5, 2.0**31, 2.0**53, 2.0**63, 1.8e19, 2.0**64, 1e300, 1.7e308)),
    Kind("string", "interface", (b"", b"GET", b"get /Az", b"GET /", b"\xff\xc0\x00A", b",", b"1",
                                 b"255.0.10.1", b"1.2.3.04", b"1.2.3.256", b"1.2.3.4\n", b"a,b,,c",
                                 b"no\nGET /\n", bytes(range(256)), b"aa,aaa," * 40, b"\0")),
    Kind("IP", _OF_IP, (0, 1, 0x0A000001, 0x0A0000FF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)),
    Kind("IPV6", _OF_IPV6, (bytes(16), bytes(15) + b"\x01", b"\x20\x01\x0d\xb8" + bytes(12),
                            b"\x80" + bytes(15), b"\xff" * 16)),
    Kind("INET", _OF_INET, (bytes(16), MAPPED + b"\x0a\x00\x00\x01", MAPPED + b"\xff" * 4,
                            MAPPED + bytes(4), b"\x20\x01\x0d\xb8" + bytes(11) + b"\x01",
                            b"\xff" * 16)),
    Kind("timestamp", "timestamp", _LLONGS),
)  # fmt: skip
PLAIN = ("x", "y")
NULLABLE = ("n", "m")


def columns() -> dict[str, Kind]:
    """Four of each type, as `x_uint`: x and y, and n and m, which may be NULL."""
    return {f"{where}_{kind.type}": kind for where in (*PLAIN, *NULLABLE) for kind in KINDS}


def _inner() -> str:
    items = [f"{kind.source} AS x_{kind.type}, {kind.source} AS y_{kind.type}" for kind in KINDS]
    items += [
        f"CASE WHEN len > 5 THEN {kind.source} END AS {where}_{kind.type}"
        for kind in KINDS
        for where in NULLABLE
    ]
    return f"SELECT time, {', '.join(items)} FROM IPV4"


INNER_NAME = "inner_rows"
INNER = f"DEFINE {{ query_name {INNER_NAME}; visibility internal; }} {_inner()}"
"""A query over packets with those columns."""


def query(expressions: Sequence[str]) -> str:
    """A query that computes them over the columns."""
    items = ", ".join(f"{text} AS r{index}" for index, text in enumerate(expressions))
    return f"SELECT {items} FROM {INNER_NAME}"


def checked(expressions: Sequence[str]) -> list[Expression]:
    """Them as the checker gives them, over the columns as references by name."""
    text = f"{INNER};\nDEFINE {{ query_name outer_rows; }} {query(expressions)}"
    queries = check_texts(QueryTexts((SourceFile("test", text),))).queries
    return [output.expression for output in queries[-1].outputs]


def rows() -> list[dict[str, Cell]]:
    """The cross product of the values of x and y, and of n and m, which have NULL besides."""
    width = max(len(kind.values) for kind in KINDS) + 1
    found = []
    for i in range(width):
        for j in range(width):
            found.append({name: _at(name, kind, i, j) for name, kind in columns().items()})
    return found


def _at(name: str, kind: Kind, i: int, j: int) -> Cell:
    at = i if name[0] in "xn" else j
    if name[0] in PLAIN:
        return kind.values[at % len(kind.values)]
    values = (*kind.values, None)
    return values[at % len(values)]


def spark_cell(kind: Kind, cell: Cell) -> object:
    """What a cell is in Spark's Python API."""
    if cell is None or kind.type != "ullong":
        return bytearray(cell) if isinstance(cell, bytes) else cell
    return Decimal(cell)

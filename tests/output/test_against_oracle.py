# SPDX-License-Identifier: Apache-2.0
"""Batches of every type at random, around the size of a block, byte for byte against oracle.py."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest

from tests.output.driver import Column, Printer, Value
from tests.output.oracle import csv_text, json_text

ROW_COUNTS = (1, 2, 63, 64, 65, 200, 1000)
HOSTILE = [b"", b",", b'"', b"\r\n", b"\\", b"\x00", b"\x7f", b"\xff", "é€😀".encode(), b"\xc3"]
HOSTILE += [b"a,b", b'say "so"', b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\t", b" ", b"=1+1"]


def whole(bits: int, signed: bool) -> Callable[[random.Random], int]:
    """Numbers of every length, and those at its edges."""

    def draw(of: random.Random) -> int:
        top = bits - signed
        x = min(max(0, 10 ** of.randrange(21) + of.choice((-1, 0, 1))), 2**top - 1)
        x = of.choice((x, of.getrandbits(of.randrange(top + 1)), 2**top - 1))
        return of.choice((x, -x, -(2**top))) if signed else x

    return draw


def address(of: random.Random) -> str:
    octets = [of.choice((0, 9, 10, 99, 100, 255, of.randrange(256))) for _ in range(4)]
    return ".".join(map(str, octets))


def either(of: random.Random) -> str:
    groups = [of.choice((0, 0, 1, of.randrange(65536))) for _ in range(8)]
    return of.choice((address(of), ":".join(f"{group:x}" for group in groups)))


def real(of: random.Random) -> float:
    bits = float(struct.unpack("<d", of.randbytes(8))[0])
    return of.choice((bits, of.randrange(10**6) / 1000, float(of.randrange(10**9)), 0.0, -0.5))


def string(of: random.Random) -> bytes:
    """Of what is plain, of what is not, and with one such byte somewhere."""
    text = bytes(of.choice(b"abc/.-_ xyz019~") for _ in range(of.choice((1, 3, 4, 7, 8, 9, 40))))
    at = of.randrange(len(text) + 1)
    return of.choice((text, text, text[:at] + of.choice(HOSTILE) + text[at:], of.choice(HOSTILE)))


def time_ns(of: random.Random) -> int:
    near = 1_700_000_000_000_000_000 + of.randrange(3_000_000_000)
    return of.choice((near, near, -of.getrandbits(63), of.getrandbits(63), -(2**63), 0, -1))


DRAWN: dict[str, Callable[[random.Random], Value]] = {
    "bool": lambda of: of.random() < 0.5,
    "ushort": whole(16, signed=False),
    "uint": whole(32, signed=False),
    "int": whole(32, signed=True),
    "ullong": whole(64, signed=False),
    "llong": whole(64, signed=True),
    "float": real,
    "string": string,
    "IP": address,
    "IPV6": either,
    "INET": either,
    "timestamp": time_ns,
    "mac": lambda of: of.getrandbits(48),
    "fstring5": lambda of: of.randbytes(5),
    "fstring70": lambda of: of.randbytes(70),
}
NAMES = ("x", "a name", 'na"me, x', "a_name_of_sixteen", "fifteen_and_one", "é" * 30, "n" * 300)


def drawn_batch(seed: int, row_count: int) -> list[Column]:
    """Columns of some types, some with NULLs, under names of all lengths."""
    of = random.Random(seed)
    types = of.sample(list(DRAWN), of.randrange(1, len(DRAWN)))
    return [Column(of.choice(NAMES), kind, _values(of, kind, row_count)) for kind in types]


def _values(of: random.Random, kind: str, row_count: int) -> list[Value]:
    nulls = of.choice((0, 0, 0.3, 1))
    return [None if of.random() < nulls else DRAWN[kind](of) for _ in range(row_count)]


def check(printer: Printer, columns: list[Column]) -> None:
    assert printer.text("csv", columns) == csv_text(columns)
    assert printer.text("json", columns) == json_text(columns)
    assert printer.text("json", columns, 'a "query"') == json_text(columns, 'a "query"')


@pytest.mark.parametrize("row_count", ROW_COUNTS)
@pytest.mark.parametrize("seed", range(6))
def test_batches_at_random(printer: Printer, seed: int, row_count: int) -> None:
    check(printer, drawn_batch(1000 * row_count + seed, row_count))


@pytest.mark.parametrize("kind", DRAWN)
def test_each_type_alone_with_and_without_nulls(printer: Printer, kind: str) -> None:
    of = random.Random(kind)
    values = [DRAWN[kind](of) for _ in range(300)]
    check(printer, [Column("x", kind, values)])
    check(printer, [Column("x", kind, [None, *values[:100], None])])


def test_long_strings_between_short_ones(printer: Printer) -> None:
    of = random.Random(7)
    longest = [b"x" * 70_000, b'"' * 40_000, b"\xff" * 30_000]
    values = [of.choice(longest) if i % 50 == 3 else string(of) for i in range(150)]
    check(printer, [Column("s", "string", values), Column("n", "uint", range(150))])


def test_every_short_string_of_a_hostile_byte(printer: Printer) -> None:
    values = [
        b"." * before + bytes([byte]) + b"." * behind
        for byte in range(256)
        for before in range(9)
        for behind in (0, 1, 5, 8)
    ]
    check(printer, [Column("s", "string", values)])


def test_all_octets(printer: Printer) -> None:
    values = [f"{i}.{255 - i}.{i}.{255 - i}" for i in range(256)]
    check(printer, [Column("a", "IP", values), Column("b", "INET", values)])

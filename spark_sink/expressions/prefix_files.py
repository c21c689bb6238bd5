# SPDX-License-Identifier: Apache-2.0
"""getlpmid: the id of the longest prefix that holds an address, from a file of `prefix,id` lines.

The file is read where the job is started; nested prefixes are flattened into ranges that do not
overlap, so that Python workers find an address with one binary search. csrc/abi/gs_lpm.h is the
engine's, and says what a line may be. Messages say what was expected, never what stands there.
"""

from __future__ import annotations

import os
import socket
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_sink.expressions.addresses import MAPPED

_SPACES = b" \t\n\v\f\r"
_LONGEST_LINE = 511
_MOST_BYTES = 256 << 20


class PrefixFileError(Exception):
    """A file that cannot be read, with the line at fault."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """One line, as a range of addresses, which are numbers."""

    first: int
    last: int
    id: int
    line: int


@dataclass(frozen=True, slots=True)
class Ranges:
    """From `firsts[i]` to the next one's all addresses have `ids[i]`, or none."""

    firsts: tuple[int, ...]
    ids: tuple[int | None, ...]

    def find(self, address: int) -> int | None:
        """The id of an address."""
        return self.ids[bisect_right(self.firsts, address) - 1]


@dataclass(frozen=True, slots=True)
class PrefixTable:
    """A file: an IPv6 address that holds an IPv4 one is that one."""

    ipv4: Ranges
    ipv6: Ranges

    def find(self, address: int | bytes | None) -> int | None:
        """The id of an IP, or of the 16 bytes of another address; None without one."""
        if address is None:
            return None
        if isinstance(address, int):
            return self.ipv4.find(address)
        if address.startswith(MAPPED):
            return self.ipv4.find(int.from_bytes(address[12:], "big"))
        return self.ipv6.find(int.from_bytes(address, "big"))


def finding(table: PrefixTable) -> Callable[[Column], Column]:
    """The id of an address as a column; NULL where there is none."""

    def find(addresses: pa.Array) -> pa.Array:
        return pa.array(list(map(table.find, addresses.to_pylist())), pa.int64())

    function: Callable[[Column], Column] = F.arrow_udf(find, "bigint")
    return function


def read_table(path: str) -> PrefixTable:
    """The table of a file; PrefixFileError says what is wrong with it."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise PrefixFileError(f"{path}: not a regular file")
        if status.st_size > _MOST_BYTES:
            raise PrefixFileError(f"{path}: larger than 256 MiB, which is no list of prefixes")
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise PrefixFileError(f"{path}: {error.strerror}") from error


@lru_cache(maxsize=4)
def _read(path: str, modified_ns: int, size_bytes: int) -> PrefixTable:
    """Once for each state of the file: a query names it when it is checked and when it runs."""
    families: dict[bool, list[Prefix]] = {True: [], False: []}
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                _read_line(line, number, families)
            except ValueError as error:
                raise PrefixFileError(f"{path}:{number}: {error}") from None
    return PrefixTable(_ranges(path, families[True], 32), _ranges(path, families[False], 128))


def _read_line(line: bytes, number: int, families: dict[bool, list[Prefix]]) -> None:
    """An empty one, a comment, the header `prefix,id`, or a prefix and its id."""
    if len(line.rstrip(b"\n")) >= _LONGEST_LINE:
        raise ValueError("expected `prefix,id`, not a long line")
    text = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).strip(_SPACES)
    if not text or text.startswith(b"#"):
        return
    network, comma, id_ = (part.strip(_SPACES) for part in text.partition(b","))
    if not comma:
        raise ValueError("expected `prefix,id`")
    if number == 1 and (network, id_) == (b"prefix", b"id"):
        return
    address, length = _network(network)
    is_ipv4 = address.startswith(MAPPED) and length >= 96
    value = _number(id_, (1 << 32) - 1)
    if value is None:
        raise ValueError("the id is not a number of 32 bits")
    families[is_ipv4].append(_prefix(address, length, is_ipv4, value, number))


def _prefix(address: bytes, length: int, is_ipv4: bool, id_: int, line: int) -> Prefix:
    rest = (1 << (128 - length)) - 1
    last = int.from_bytes(address, "big") | rest
    mask = (1 << 32) - 1 if is_ipv4 else -1
    return Prefix((last ^ rest) & mask, last & mask, id_, line)


def _network(text: bytes) -> tuple[bytes, int]:
    """16 bytes and how many of their bits count."""
    address, slash, digits = text.partition(b"/")
    for family, before in ((socket.AF_INET, MAPPED), (socket.AF_INET6, b"")):
        unused = 8 * len(before)
        length = _number(digits, 128 - unused) if slash else 128 - unused
        found = _address(family, address)
        if found is not None and length is not None:
            return before + found, unused + length
    raise ValueError("not an address prefix, as 10.0.0.0/8")


def _address(family: int, text: bytes) -> bytes | None:
    try:
        return socket.inet_pton(family, text.decode("ascii"))
    except (OSError, ValueError):
        return None


def _number(digits: bytes, limit: int) -> int | None:
    """Digits and nothing else, at most `limit`."""
    return int(digits) if digits.isdigit() and int(digits) <= limit else None


# Flattening


def _ranges(path: str, prefixes: Iterable[Prefix], bits: int) -> Ranges:
    """Those around an address stand before those inside; the innermost open one holds."""
    ordered = sorted(prefixes, key=lambda prefix: (prefix.first, -prefix.last, prefix.line))
    _check_unique(path, ordered)
    starts: dict[int, int | None] = {0: None}
    open_: list[Prefix] = []
    for prefix in ordered:
        _close(open_, prefix.first, starts)
        starts[prefix.first] = prefix.id
        open_.append(prefix)
    _close(open_, 1 << bits, starts)
    starts.pop(1 << bits, None)
    return Ranges(tuple(starts), tuple(starts.values()))


def _close(open_: list[Prefix], first: int, starts: dict[int, int | None]) -> None:
    """End the prefixes that `first` is behind: there the one around them holds again."""
    while open_ and open_[-1].last < first:
        after = open_.pop().last + 1
        starts[after] = open_[-1].id if open_ else None


def _check_unique(path: str, ordered: Sequence[Prefix]) -> None:
    for before, prefix in pairwise(ordered):
        if (before.first, before.last) == (prefix.first, prefix.last) and before.id != prefix.id:
            raise PrefixFileError(
                f"{path}:{prefix.line}: this prefix has id {prefix.id}, but line {before.line} "
                f"gave it id {before.id}"
            )

# SPDX-License-Identifier: Apache-2.0
"""Functions that are given a key or a file: anonymize, getlpmid; and string_hash."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.answers.reference.typed import VARYING, Typed, settled
from tests.answers.reference.types import MAPPED, NoValueError, Value
from tests.functions.published import crypto_pan, xxh64

HASH_SEED = 42
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _of_one(type_: str, operand: Typed, compute: Callable[[int | bytes], Value]) -> Typed:
    """NULL where the operand is."""
    firm = settled(operand)

    def read(row: object) -> Value:
        value = firm.read(row)
        if value is None:
            return None
        assert isinstance(value, int | bytes)
        return compute(value)

    return Typed(type_, read, VARYING)


def string_hash(operand: Typed) -> Typed:
    """XXH64 with a fixed seed."""
    return _of_one("ullong", operand, lambda value: xxh64(_bytes(value), HASH_SEED))


def anonymize(address: Typed, key: Typed) -> Typed:
    """Crypto-PAn; of an INET that holds an IPv4 address of its four bytes."""
    text = key.constant
    assert isinstance(text, bytes)

    def hidden(value: int | bytes) -> Value:
        if isinstance(value, int):
            return int.from_bytes(_hidden(text, value.to_bytes(4, "big")), "big")
        if address.type == "INET" and value.startswith(MAPPED):
            return MAPPED + _hidden(text, value[12:])
        return _hidden(text, value)

    return _of_one(address.type, address, hidden)


def getlpmid(address: Typed, path: Typed) -> Typed:
    """The id of the longest prefix of a file; no value where none holds the address."""
    name = path.constant
    assert isinstance(name, bytes)
    networks = _networks(name.decode())

    def found(value: int | bytes) -> Value:
        wanted = _address(value)
        holding = [(n.prefixlen, id_) for n, id_ in networks if wanted in n]
        if not holding:
            raise NoValueError
        return max(holding)[1]

    return _of_one("uint", address, found)


def _bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value


@cache
def _hidden(key: bytes, address: bytes) -> bytes:
    return crypto_pan(bytes.fromhex(key.decode()), address)


def _address(value: int | bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if isinstance(value, bytes) and value.startswith(MAPPED):
        value = value[12:]
    return ipaddress.ip_address(value)


@cache
def _networks(path: str) -> list[tuple[Network, int]]:
    lines = [line.split(",") for line in Path(path).read_text().splitlines()]
    return [(ipaddress.ip_network(prefix), int(id_)) for prefix, id_ in lines[1:]]


LOOKUPS: dict[str, Callable[..., Typed]] = {
    "string_hash": string_hash,
    "anonymize": anonymize,
    "getlpmid": getlpmid,
}

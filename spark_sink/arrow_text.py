# SPDX-License-Identifier: Apache-2.0
"""Strings and addresses of a segment as text, as the engine prints them.

Traffic repeats its addresses: each is printed once a batch.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pyarrow as pa

MAPPED = bytes(10) + b"\xff\xff"
"""Before the four bytes of an IPv4 address in sixteen (RFC 4291, section 2.5.5.2)."""


def as_text(values: pa.Array, type_: str) -> pa.Array:
    """An array of the GSQL type `string`, `IP`, `IPV6` or `INET` as one of UTF-8."""
    if type_ == "string":
        return _strings(values)
    return _by_value(values, _PRINTED[type_])


def printing(type_: str) -> Callable[[pa.Array], pa.Array]:
    """Return `as_text` of a type, which goes to workers: it names nothing but this module."""

    def text(values: pa.Array) -> pa.Array:
        return as_text(values, type_)

    return text


def _strings(values: pa.Array) -> pa.Array:
    r"""A byte that is not UTF-8 becomes the four characters \xHH."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return _by_value(values, lambda text: text.decode("utf-8", "backslashreplace"))


def _by_value(values: pa.Array, printed: Callable[[Any], str]) -> pa.Array:
    encoded = values.dictionary_encode()
    texts = pa.array(map(printed, encoded.dictionary.to_pylist()), pa.string())
    return texts.take(encoded.indices)


def ip_text(number: int) -> str:
    """Return an IPv4 address in dotted form."""
    return socket.inet_ntop(socket.AF_INET, number.to_bytes(4, "big"))


def inet_text(address: bytes) -> str:
    """Return sixteen bytes as the text of an address of either family."""
    if address.startswith(MAPPED):
        return socket.inet_ntop(socket.AF_INET, address[-4:])
    return _ipv6_text(address)


def ipv6_text(address: bytes) -> str:
    """Return an IPv6 address as RFC 5952 has it."""
    prefix = "::ffff:" if address.startswith(MAPPED) else ""
    return prefix + inet_text(address)


def _ipv6_text(address: bytes) -> str:
    """Libraries still print some of ::/96 as IPv4, which RFC 4291 has given up."""
    if address.startswith(bytes(12)) and any(address[12:14]):
        return f"::{address[12:14].hex().lstrip('0')}:{address[14:].hex().lstrip('0') or '0'}"
    return socket.inet_ntop(socket.AF_INET6, address)


_PRINTED: dict[str, Callable[[Any], str]] = {
    "IP": ip_text,
    "IPV6": ipv6_text,
    "INET": inet_text,
}

# SPDX-License-Identifier: Apache-2.0
"""The values that are printed otherwise than Python prints them."""

from __future__ import annotations

import ipaddress
import socket
from datetime import UTC, datetime

MAPPED = bytes(10) + b"\xff\xff"
"""What stands before an IPv4 address in sixteen bytes (RFC 4291 §2.5.5.2)."""


class Ip(int):
    """GSQL's IP: an IPv4 address as an unsigned number of 32 bits."""

    def __str__(self) -> str:
        return str(ipaddress.IPv4Address(int(self)))


class Ipv6(bytes):
    """GSQL's IPV6: sixteen bytes."""

    def __str__(self) -> str:
        return socket.inet_ntop(socket.AF_INET6, bytes(self))


class Inet(bytes):
    """GSQL's INET: sixteen bytes, an IPv4 address as ::ffff:a.b.c.d, printed as a.b.c.d."""

    def __str__(self) -> str:
        if self.startswith(MAPPED):
            return socket.inet_ntop(socket.AF_INET, bytes(self[12:]))
        return socket.inet_ntop(socket.AF_INET6, bytes(self))


class Mac(int):
    """A MAC address as an unsigned number of 48 bits, printed as six pairs of digits."""

    def __str__(self) -> str:
        return bytes(self.to_bytes(6, "big")).hex(":")


class Timestamp(int):
    """GSQL's timestamp: nanoseconds since the epoch, printed as ISO 8601 in UTC."""

    def __str__(self) -> str:
        seconds, nanoseconds = divmod(int(self), 1_000_000_000)
        moment = datetime.fromtimestamp(seconds, UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds:09d}Z"


def inet_of_ipv4(address: bytes) -> Inet:
    """An IPv4 address of four bytes as INET."""
    return Inet(MAPPED + address)


def text(value: object) -> str | None:
    """A value as it stands in a cell of CSV output; None is NULL, an empty cell."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes) and not isinstance(value, Ipv6 | Inet):
        return value.decode("utf-8", "backslashreplace")
    return str(value)

# SPDX-License-Identifier: Apache-2.0
"""Functions of addresses as text, for DataFrames and for SQL.

    from spark_sink import ip_bytes, ip_in

    rows.where(ip_in("srcIP", "10.0.0.0/8")).orderBy(ip_bytes("destIP"))
    spark.sql("SELECT * FROM talkers WHERE ip_in(srcIP, '10.0.0.0/8')")   -- after register(spark)

NULL is what an address that is NULL gives, and a text that is none. Each goes over columns of Arrow
in a Python worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from spark_sink import arrow_text
from spark_sink.remembered import remembered

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

Address = IPv4Address | IPv6Address
_KNOWN = 1 << 16
"""Addresses that a worker keeps: traffic repeats them."""


def ip_text(address: Column | str) -> Column:
    """Return a bigint (IPv4) or 16 bytes as text: what `addresses=bytes` has left."""
    return _call("ip_text", address)


def ip_number(address: Column | str) -> Column:
    """Return the bigint of an IPv4 address; NULL for any other."""
    return _call("ip_number", address)


def ip_bytes(address: Column | str) -> Column:
    """Return the 16 bytes of an address of either family, which sort as addresses do."""
    return _call("ip_bytes", address)


def ip_in(address: Column | str, prefix: Column | str) -> Column:
    """Return whether an address is in a network; `prefix` is a text such as 10.0.0.0/8."""
    return _call("ip_in", address, _literal(prefix))


def ip_prefix(address: Column | str, length: Column | int) -> Column:
    """Return the network of so many bits that an address is in, as text; NULL if it has less."""
    return _call("ip_prefix", address, _literal(length))


def register_ip_functions(spark: SparkSession) -> None:
    """Make them known to the SQL of a session."""
    for name in _FUNCTIONS:
        spark.udf.register(name, _function(name))


def _texts(addresses: pa.Array) -> pa.Array:
    if pa.types.is_integer(addresses.type):
        return _array((_ip(number) for number in addresses.to_pylist()), pa.string())
    return _array((_inet(bytes_) for bytes_ in addresses.to_pylist()), pa.string())


def _numbers(addresses: pa.Array) -> pa.Array:
    found = _parsed(addresses)
    return _array((int(a) if isinstance(a, IPv4Address) else None for a in found), pa.int64())


def _bytes(addresses: pa.Array) -> pa.Array:
    return _array((a and _sixteen(a) for a in _parsed(addresses)), pa.binary())


def _inside(addresses: pa.Array, prefixes: pa.Array) -> pa.Array:
    pairs = zip(_parsed(addresses), prefixes.to_pylist(), strict=True)
    found = (None if a is None or p is None else a in _network(p) for a, p in pairs)
    return _array(found, pa.bool_())


def _prefixes(addresses: pa.Array, lengths: pa.Array) -> pa.Array:
    pairs = zip(_parsed(addresses), lengths.to_pylist(), strict=True)
    return _array((_prefix(a, length) for a, length in pairs), pa.string())


_FUNCTIONS: dict[str, tuple[Callable[..., pa.Array], str]] = {
    "ip_text": (_texts, "string"),
    "ip_number": (_numbers, "bigint"),
    "ip_bytes": (_bytes, "binary"),
    "ip_in": (_inside, "boolean"),
    "ip_prefix": (_prefixes, "string"),
}


@cache
def _function(name: str) -> Any:
    from pyspark.sql import functions as F

    compute, type_ = _FUNCTIONS[name]
    return F.arrow_udf(compute, type_)


def _call(name: str, *arguments: Any) -> Column:
    result: Column = _function(name)(*arguments)
    return result


def _literal(value: Any) -> Any:
    from pyspark.sql import functions as F

    return F.lit(value) if isinstance(value, str | int) else value


def _array(values: Iterable[Any], type_: pa.DataType) -> pa.Array:
    return pa.array(list(values), type_)


def _parsed(addresses: pa.Array) -> Iterator[Address | None]:
    return map(_address, addresses.to_pylist())


@remembered(_KNOWN)
def _address(text: str | None) -> Address | None:
    try:
        return None if text is None else ip_address(text)
    except ValueError:
        return None


@remembered(_KNOWN)
def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"ip_in: {text!r} is no prefix of addresses, as 10.0.0.0/8 is") from None


@remembered(_KNOWN)
def _prefix(address: Address | None, length: int | None) -> str | None:
    if address is None or length is None or not 0 <= length <= address.max_prefixlen:
        return None
    return str(ip_network((address, length), strict=False))


def _sixteen(address: Address) -> bytes:
    mapped = arrow_text.MAPPED if address.version == 4 else b""
    return mapped + address.packed


def _ip(number: int | None) -> str | None:
    return None if number is None or not 0 <= number < 1 << 32 else arrow_text.ip_text(number)


def _inet(bytes_: bytes | None) -> str | None:
    return None if bytes_ is None or len(bytes_) != 16 else arrow_text.inet_text(bytes_)

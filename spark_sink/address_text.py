# SPDX-License-Identifier: Apache-2.0
"""Addresses as text, as the engine prints them, by the Java that Spark comes with.

The JDK makes an address of IPv4 of sixteen bytes that hold one; Guava prints one of IPv6 as RFC
5952 has it, and none of ::/96 as IPv4. Spark Connect has no JVM at hand, and another Spark may have
Guava elsewhere: there a Python worker prints.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from gigastream.gsql.types import Type
from spark_sink.arrow_text import printing
from spark_sink.static_methods import STRING, StaticMethods, has_static_method

_ADDRESS, _IPV4_ADDRESS = "java.net.InetAddress", "java.net.Inet4Address"
_GUAVA = "com.google.common.net.InetAddresses"
_BEFORE_IPV4 = r"^(?=\d+\.)"


def address_text(address: Column, type_: Type) -> Column:
    """Return an IP, which is a bigint, or an IPV6 or INET, sixteen bytes, as text."""
    if is_remote() or not _has_guava():
        return text_by_worker(address, type_)
    text = _of_ip(address) if type_ is Type.IP else _of_sixteen(address)
    return F.regexp_replace(text, _BEFORE_IPV4, "::ffff:") if type_ is Type.IPV6 else text


def text_by_worker(address: Column, type_: Type) -> Column:
    """Return the same by way of a Python worker, which prints each address of a batch once."""
    text: Column = F.arrow_udf(printing(str(type_)), "string")(address)
    return text


def _has_guava() -> bool:
    return has_static_method(_GUAVA, "fromInteger", "int") and has_static_method(
        _GUAVA, "toAddrString", _ADDRESS
    )


def _of_ip(address: Column) -> Column:
    signed = F.shiftright(F.shiftleft(address, 32), 32).cast("int")
    return _printed(StaticMethods(signed).call(_GUAVA, "fromInteger", _IPV4_ADDRESS))


def _of_sixteen(address: Column) -> Column:
    return _printed(StaticMethods(address).call(_ADDRESS, "getByAddress", _ADDRESS))


def _printed(address: StaticMethods) -> Column:
    return address.call(_GUAVA, "toAddrString", STRING).text()

# SPDX-License-Identifier: Apache-2.0
"""What kind of address one is (csrc/abi/gs_addresses.h): whether it lies in some prefixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from ipaddress import IPv4Network, IPv6Network, ip_network

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from spark_sink.expressions.addresses import MAPPED, is_mapped
from spark_sink.expressions.values import literal
from spark_sink.expressions.whole_numbers import number

KINDS: dict[str, tuple[str, ...]] = {
    "is_private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    "is_multicast": ("224.0.0.0/4", "ff00::/8"),
    "is_loopback": ("127.0.0.0/8", "::1/128"),
    "is_link_local": ("169.254.0.0/16", "fe80::/10"),
}
Network = IPv4Network | IPv6Network


def within_ip(prefixes: Sequence[str]) -> Callable[[Column], Column]:
    """Whether an IP lies in one of them."""
    networks = [network for network in map(ip_network, prefixes) if network.version == 4]

    def build(ip: Column) -> Column:
        tests = [ip.between(*(number(int(network[at])) for at in (0, -1))) for network in networks]
        return reduce(Column.__or__, tests)

    return build


def within_inet(prefixes: Sequence[str]) -> Callable[[Column], Column]:
    """Whether 16 bytes do: addresses are in the order of their bytes."""

    def build(address: Column) -> Column:
        tests = [address.between(*_ends(ip_network(prefix))) for prefix in prefixes]
        return reduce(Column.__or__, tests)

    return build


def _ends(network: Network) -> list[Column]:
    before = MAPPED if network.version == 4 else b""
    return [literal(before + network[at].packed, Type.INET) for at in (0, -1)]


def family_of_ip(ip: Column) -> Column:
    """4; NULL over NULL."""
    return F.when(ip.isNotNull(), number(4))


def family_of_inet(address: Column) -> Column:
    """4 or 6."""
    is_ip = is_mapped(address)
    return F.when(is_ip, number(4)).when(~is_ip, number(6))

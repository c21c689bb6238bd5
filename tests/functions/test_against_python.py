# SPDX-License-Identifier: Apache-2.0
"""Functions against the same thing said in Python."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functions.driver import Driver
from tests.functions.published import xxh64

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MANY = settings(max_examples=200)
FEW = settings(MANY, max_examples=40)

small_text = st.text(alphabet="ab,\0", max_size=12).map(str.encode)
inets = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)

# Neighbours of one another, so that prefixes nest and touch.
bits_v4 = st.integers(0, 15).map(lambda n: n << 28) | st.integers(0, 2**32 - 1)
bits_v6 = st.integers(0, 15).map(lambda n: n << 124) | st.integers(0, 2**128 - 1)
networks = st.one_of(
    st.tuples(bits_v4, st.integers(0, 32)).map(lambda p: ipaddress.IPv4Network(p, strict=False)),
    st.tuples(bits_v6, st.integers(0, 128)).map(lambda p: ipaddress.IPv6Network(p, strict=False)),
)


@pytest.mark.long
@MANY
@given(inets, st.integers(0, 130))
def test_prefix(driver: Driver, address: str, n: int) -> None:
    parsed = ipaddress.ip_address(address)
    if parsed.version == 6 and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    network = ipaddress.ip_network((parsed, min(n, parsed.max_prefixlen)), strict=False)
    expected = network.network_address
    if expected.version == 6 and expected.ipv4_mapped:
        expected = expected.ipv4_mapped
    assert driver.call("prefix_inet_uint", address, n) == str(expected)


@FEW
@given(st.dictionaries(networks, st.integers(0, 2**32 - 1), max_size=30), st.data())
def test_getlpmid(
    driver: Driver, tmp_path: Path, table: dict[Network, int], data: st.DataObject
) -> None:
    path = tmp_path / "prefixes.csv"
    path.write_text("".join(f"{network},{number}\n" for network, number in table.items()))
    edges = [str(n[i]) for n in table for i in (0, -1)]
    for address in [*edges, *data.draw(st.lists(inets, max_size=5))]:
        wanted = _longest_match(table, ipaddress.ip_address(address))
        assert driver.call("getlpmid_inet_string", address, str(path)) == wanted


def _longest_match(table: dict[Network, int], address: Address) -> int | None:
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    matches = [n for n in table if n.version == address.version and address in n]
    return table[max(matches, key=lambda n: n.prefixlen)] if matches else None


@MANY
@given(small_text, small_text)
def test_str_exists_substr(driver: Driver, x: bytes, part: bytes) -> None:
    assert driver.call("str_exists_substr_string_string", x, part) is (part in x)


@MANY
@given(small_text, small_text, st.integers(0, 15))
def test_str_match_offset(driver: Driver, x: bytes, part: bytes, offset: int) -> None:
    expected = offset <= len(x) and x[offset:].startswith(part)
    assert driver.call("str_match_offset_uint_string_string", offset, part, x) is expected


@MANY
@given(small_text, small_text.filter(bool), st.integers(0, 6))
def test_get_list_entry(driver: Driver, x: bytes, separator: bytes, index: int) -> None:
    entries = x.split(separator)
    expected = entries[index] if index < len(entries) else b""
    assert driver.call("get_list_entry_string_string_uint", x, separator, index) == expected


@MANY
@given(st.text(alphabet="0129.x", max_size=16) | st.ip_addresses(v=4).map(str))
def test_strtoip(driver: Driver, text: str) -> None:
    try:
        expected = str(ipaddress.IPv4Address(text))
    except ValueError:
        expected = None
    assert driver.call("strtoip_string", text) == expected


@MANY
@given(st.binary(max_size=100))
def test_string_hash(driver: Driver, x: bytes) -> None:
    assert driver.call("string_hash_string", x) == xxh64(x, 42)


XXH64_SEED_0 = [
    (b"", 0xEF46DB3751D8E999),
    (b"a", 0xD24EC4F1A98C6E5B),
    (b"abc", 0x44BC2CF5AD770999),
]


@pytest.mark.parametrize(("x", "expected"), XXH64_SEED_0)
def test_the_reference_hash_gives_the_published_values(x: bytes, expected: int) -> None:
    assert xxh64(x, 0) == expected

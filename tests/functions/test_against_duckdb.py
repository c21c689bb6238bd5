# SPDX-License-Identifier: Apache-2.0
"""Functions under DuckDB's names against DuckDB, values at random.

Every byte is a character to it: as text of ISO 8859-1, so that places count what ours count.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.functions.driver import Driver, inet_bytes, inet_text
from tests.functions.published import crypto_pan

duckdb = pytest.importorskip("duckdb")

MANY = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
Ask = Callable[..., object]

LONG = [b"ab" * 32768, b"\xff" * 65535, b"," * 65536]
texts = st.one_of(
    st.lists(st.sampled_from(b"ab, \0\xffZ="), max_size=12).map(bytes),
    st.binary(max_size=40),
    st.sampled_from(LONG),
)
of_plain_spaces = texts.map(lambda text: text.replace(b"\xa0", b""))
"""Without the space of ISO 8859-1 that DuckDB trims too."""
short = st.lists(st.sampled_from(b"ab, \xff"), max_size=3).map(bytes)
places = st.integers(-20, 20) | st.sampled_from([-(2**63), -(2**33), 2**33, 2**63 - 1, 65537])
near = st.integers(-20, 20) | st.sampled_from([-70000, -65535, 65536, 70000])
instants = st.integers(-(2**63), 2**63 - 1) | st.integers(-3 * 10**18, 4 * 10**18)


@dataclass(frozen=True)
class Case:
    """A function of ours, the same in DuckDB's SQL over a0, a1, …, and values for these."""

    suffix: str
    sql: str
    arguments: tuple[st.SearchStrategy[object], ...]


CASES = [
    Case("length_string", "length($a0)", (texts,)),
    Case("strpos_string_string", "strpos($a0, $a1)", (texts, short)),
    Case("contains_string_string", "contains($a0, $a1)", (texts, short)),
    Case("starts_with_string_string", "starts_with($a0, $a1)", (texts, short)),
    Case("ends_with_string_string", "ends_with($a0, $a1)", (texts, short)),
    Case("substring_string_llong", "substring($a0, $a1)", (texts, near)),
    Case("substring_string_llong_llong", "substring($a0, $a1, $a2)", (texts, near, near)),
    Case("left_string_llong", "left($a0, $a1)", (texts, near)),
    Case("right_string_llong", "right($a0, $a1)", (texts, near)),
    Case("split_part_string_string_llong", "split_part($a0, $a1, $a2)",
         (texts, short.filter(bool), near)),
    Case("trim_string_string", "trim($a0, $a1)", (texts, short)),
    Case("ltrim_string_string", "ltrim($a0, $a1)", (texts, short)),
    Case("rtrim_string_string", "rtrim($a0, $a1)", (texts, short)),
    Case("trim_string", "trim($a0)", (of_plain_spaces,)),
    Case("ltrim_string", "ltrim($a0)", (of_plain_spaces,)),
    Case("rtrim_string", "rtrim($a0)", (of_plain_spaces,)),
    Case("concat_string_string", "concat($a0, $a1)", (texts, texts)),
    Case("replace_string_string_string", "replace($a0, $a1, $a2)", (texts, short, short)),
    Case("repeat_string_llong", "repeat($a0, $a1)", (texts, st.integers(-3, 40))),
    Case("lpad_string_llong_string", "lpad($a0, $a1::INT, $a2)", (texts, near, short.filter(bool))),
    Case("rpad_string_llong_string", "rpad($a0, $a1::INT, $a2)", (texts, near, short.filter(bool))),
    Case("hex_ullong", "hex($a0::UBIGINT)", (st.integers(0, 2**64 - 1),)),
]  # fmt: skip
OF_BYTES = [
    Case("hex_string", "hex($a0)", (texts,)),
    Case("to_base64_string", "to_base64($a0)", (texts,)),
]
PARTS = ("year", "quarter", "month", "week", "day", "dayofyear", "dayofweek", "isodow", "hour",
         "minute", "second", "millisecond", "microsecond", "nanosecond")  # fmt: skip
FORMAT = "%a %A %b %B %d %-d %f %g %H %-H %I %-I %j %-j %m %-m %M %-M %n %p %S %-S %u %w %y %-y" \
         " %Y %z %% %U %W %G %V"  # fmt: skip


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    connection = duckdb.connect(config={"threads": 1})

    def asked(sql: str, arguments: list[object]) -> object:
        named = {f"a{index}": value for index, value in enumerate(arguments)}
        return connection.execute(f"SELECT {sql}", named).fetchone()[0]

    yield asked
    connection.close()


def _text(value: object) -> object:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _bytes(value: object) -> object:
    return value.encode("latin-1") if isinstance(value, str) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.suffix)
@MANY
@given(data=st.data())
def test_of_texts(driver: Driver, ask: Ask, case: Case, data: st.DataObject) -> None:
    arguments = [data.draw(strategy) for strategy in case.arguments]
    wanted = _bytes(ask(case.sql, list(map(_text, arguments))))
    too_long = isinstance(wanted, bytes) and len(wanted) > 65536
    assert driver.call(case.suffix, *arguments) == (None if too_long else wanted)


@pytest.mark.parametrize("case", OF_BYTES, ids=lambda case: case.suffix)
@MANY
@given(data=st.data())
def test_of_bytes(driver: Driver, ask: Ask, case: Case, data: st.DataObject) -> None:
    arguments = [data.draw(strategy) for strategy in case.arguments]
    wanted = _bytes(ask(case.sql, arguments))
    assert isinstance(wanted, bytes)
    assert driver.call(case.suffix, *arguments) == (None if len(wanted) > 65536 else wanted)


@pytest.mark.parametrize(("suffix", "sql", "alphabet"), [
    ("unhex_string", "unhex($a0)", "0123aAfFg "),
    ("from_base64_string", "from_base64($a0)", "AZaz09+/=-"),
])  # fmt: skip
@MANY
@given(data=st.data())
def test_what_says_bytes(
    driver: Driver, ask: Ask, suffix: str, sql: str, alphabet: str, data: st.DataObject
) -> None:
    text = data.draw(st.text(alphabet=alphabet, max_size=9) | st.binary(max_size=20).map(bytes.hex))
    try:
        wanted = ask(sql, [text])
    except duckdb.Error:
        wanted = None
    assert driver.call(suffix, text) == wanted


@pytest.mark.parametrize("part", PARTS)
@MANY
@given(ns=instants)
def test_parts_of_a_time(driver: Driver, ask: Ask, part: str, ns: int) -> None:
    assume(ns > -(2**63) + 1)  # DuckDB's infinities
    assume(ns < 2**63 - 1)
    # its function of the part cuts to microseconds towards 0
    of_time = f"date_part('{part}', t)" if part != "nanosecond" else "nanosecond(t)"
    wanted = ask(f"{of_time} FROM (SELECT make_timestamp_ns($a0) AS t)", [ns])
    assert driver.call(f"{part}_timestamp", ns) == wanted
    seconds = abs(ns) % 2**32
    if part not in ("millisecond", "microsecond", "nanosecond"):
        wanted = ask(f"{part}(make_timestamp($a0))", [seconds * 10**6])
        assert driver.call(f"{part}_uint", seconds) == wanted


@MANY
@given(ns=instants)
def test_strftime(driver: Driver, ask: Ask, ns: int) -> None:
    assume(-(2**63) + 1 < ns < 2**63 - 1)
    wanted = _bytes(ask("strftime(make_timestamp_ns($a0), $a1)", [ns, FORMAT]))
    assert driver.call("strftime_timestamp_string", ns, FORMAT) == wanted


@pytest.mark.parametrize("unit", ["month", "quarter", "year"])
@MANY
@given(ns=instants)
def test_starts(driver: Driver, ask: Ask, unit: str, ns: int) -> None:
    assume(-9214560000000000000 < ns < 2**63 - 1)
    sql = f"epoch_ns(date_trunc('{unit}', make_timestamp_ns($a0)::TIMESTAMP))"
    assert driver.call(f"start_of_{unit}_timestamp", ns) == ask(sql, [ns // 1000 * 1000])


KINDS: dict[str, list[str]] = {
    "is_private": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
    "is_multicast": ["224.0.0.0/4", "ff00::/8"],
    "is_loopback": ["127.0.0.0/8", "::1/128"],
    "is_link_local": ["169.254.0.0/16", "fe80::/10"],
}
edges = st.sampled_from(
    [str(network[at]) for each in KINDS.values() for network in map(ipaddress.ip_network, each)
     for at in (0, -1)]
)  # fmt: skip
inets = st.one_of(st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(str), edges)


@MANY
@given(text=inets)
def test_kinds_of_addresses(driver: Driver, text: str) -> None:
    text = inet_text(inet_bytes(text))
    address = ipaddress.ip_address(text)
    for name, networks in KINDS.items():
        found = any(address in ipaddress.ip_network(network) for network in networks)
        of_family = f"{name}_ip" if address.version == 4 else f"{name}_ipv6"
        assert driver.call(f"{name}_inet", text) == driver.call(of_family, text) == found
    assert driver.call("family_inet", text) == address.version


@MANY
@given(x=texts, n=places)
def test_bytes_and_bits(driver: Driver, x: bytes, n: int) -> None:
    byte = x[n] if 0 <= n < len(x) else None
    assert driver.call("get_byte_string_llong", x, n) == byte
    bit = x[n // 8] >> n % 8 & 1 if 0 <= n < 8 * len(x) else None
    assert driver.call("get_bit_string_llong", x, n) == bit
    assert driver.call("reverse_string", x) == x[::-1]
    shown = bytes(c if 0x20 <= c < 0x7F else ord(".") for c in x)
    assert driver.call("printable_string", x) == shown


@settings(MANY, max_examples=20)
@given(text=inets, key=st.binary(min_size=32, max_size=32))
def test_anonymize(driver: Driver, text: str, key: bytes) -> None:
    pytest.importorskip("cryptography")
    text = inet_text(inet_bytes(text))
    address = ipaddress.ip_address(text)
    wanted = str(ipaddress.ip_address(crypto_pan(key, address.packed)))
    of_family = "anonymize_ip_string" if address.version == 4 else "anonymize_ipv6_string"
    assert driver.call("anonymize_inet_string", text, key.hex()) == wanted
    assert driver.call(of_family, text, key.hex()) == wanted

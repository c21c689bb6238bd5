# SPDX-License-Identifier: Apache-2.0
"""Definition files: what they declare, what can be wrong with them, and which overload is meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from binder.cases import HERE
from binder.catalogs import bound, shipped

from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.expressions import FunctionCall
from gigastream.gsql.types import Temporal, Type

FILES = sorted((HERE / "catalog").glob("*.gsql"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bad_definitions_get_the_expected_messages(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(path.name).write_text(path.read_text())
    Path(path.name).with_suffix(".h").write_text("")
    with pytest.raises(GsqlError) as caught:
        load_catalog([path.name])
    found = str(caught.value) + "\n"
    expected = path.with_suffix(".expected")
    if os.environ.get("GIGASTREAM_UPDATE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(GsqlError, match="cannot read the file: No such file"):
        load_catalog(["/nowhere/at.gsql"])


def test_a_missing_header_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.gsql"
    path.write_text("uint FUN f(uint);")
    with pytest.raises(GsqlError, match=r"no mine\.h beside"):
        load_catalog([path])
    path.write_text("STREAM s { uint a (increasing, clock s); }")
    assert "s" in load_catalog([path]).streams


# What is shipped

PROTOCOLS = ["PKT", "ETH", "IPV4", "IPV6", "IP", "TCP", "UDP", "ICMP", "DataProtocol"]
FIELDS = {
    "PKT": "systemTime time time_ms timestamp len caplen interface packet_id",
    "ETH": "srcMAC destMAC etherType vlan inner_vlan mpls_label",
    "IP": "ipversion hdr_length tos dscp ecn total_length id dont_frag more_frag offset ttl"
    " protocol srcIP destIP flow_label hop_limit sourceIP community_id",
    "DataProtocol": "srcPort destPort data_length source_port dest_port",
    "TCP": "sequence_number ack_number flags syn ack fin rst psh urg window TCP_data",
    "UDP": "UDP_data",
    "ICMP": "icmp_type icmp_code",
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols_of_the_contract_are_there(name: str) -> None:
    protocol = shipped().protocol(name)
    assert protocol is not None
    assert protocol.is_builtin
    assert protocol.base_protocol == name


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_the_contract_are_there(name: str) -> None:
    protocol = shipped().protocol(name)
    assert protocol is not None
    for field in FIELDS[name].split():
        assert protocol.field(field) is not None, field
        assert protocol.field(field.upper()) is protocol.field(field)


def test_times_have_their_clocks() -> None:
    protocol = shipped().protocol("TCP")
    assert protocol is not None
    temporal = {f.name: f.clock for f in protocol.fields.values() if f.temporal.is_temporal}
    assert temporal == {"time": "s", "systemTime": "s", "time_ms": "ms", "timestamp": "ns"}
    alias = protocol.field("systemtime")
    assert alias is not None
    assert alias.alias_of == "time"


# What users add


@pytest.fixture(scope="module")
def with_dns() -> Catalog:
    return load_catalog([HERE / "definitions" / "dns.gsql"])


def test_a_users_protocol(with_dns: Catalog) -> None:
    protocol = with_dns.protocol("dns")
    assert protocol is not None
    assert not protocol.is_builtin
    assert protocol.base_protocol == "UDP"
    assert [Path(header).name for header in protocol.headers] == ["dns.h"]
    field = protocol.field("dns_id")
    assert field is not None
    assert (field.type, field.required, field.unpack) == (Type.USHORT, True, ("dns_header",))
    serial = protocol.field("serial")
    assert serial is not None
    assert (serial.temporal, serial.clock) == (Temporal.INCREASING, "")
    assert {"pkt", "eth", "ip", "dataprotocol", "udp", "dns"} <= protocol.ancestors


def test_a_users_function_brings_its_header(with_dns: Catalog) -> None:
    call = bound("dns_kind(UDP_data)", with_dns, "DNS")
    assert isinstance(call, FunctionCall)
    assert call.symbol == "gs_function_dns_kind_string"
    assert Path(call.header).name == "dns.h"
    assert (call.lfta_legal, call.hfta_legal, call.cost, call.partial) == (True, True, 10, False)


# Overloads


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("UMIN(time, 5)", "umin_uint_uint"),
        ("UMIN(time, -5)", "umin_llong_llong"),
        ("UMIN(time, 5000000000)", "umin_ullong_ullong"),
        ("UMIN(etherType, vlan)", "umin_uint_uint"),
        ("UMIN(time, time_ms)", "umin_llong_llong"),
        ("UMIN(packet_id, time_ms)", "umin_llong_llong"),
        ("UMIN(time, 1.5)", "umin_float_float"),
        ("UMAX(timestamp, timestamp)", "umax_timestamp_timestamp"),
        ("abs(len)", "abs_uint"),
        ("abs(len - 5)", "abs_llong"),
        ("abs(timestamp - timestamp)", "abs_llong"),
        ("sqrt(packet_id)", "sqrt_float"),
        ("to_hex_string(len)", "to_hex_string_ullong"),
        ("to_hex_string(interface)", "to_hex_string_string"),
        ("prefix(IP_VAL'1.2.3.4', 24)", "prefix_ip_uint"),
        ("prefix(IPV6_VAL'::1', 24)", "prefix_ipv6_uint"),
        ("PACK(etherType, 5)", "pack_uint_uint"),
    ],
)
def test_overload(text: str, symbol: str) -> None:
    call = bound(text, shipped(), "ETH")
    assert isinstance(call, FunctionCall)
    assert call.symbol == f"gs_function_{symbol}"


def test_handles_and_constants_are_told() -> None:
    call = bound("getlpmid(srcIP, 'prefixes.csv')", shipped(), "IPV4")
    assert isinstance(call, FunctionCall)
    assert (call.handle, call.partial) == (1, True)
    assert bound("prefix(srcIP, 24)", shipped(), "IPV4").type is Type.IP

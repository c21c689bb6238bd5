# SPDX-License-Identifier: Apache-2.0
"""NetFlow v5, v9 and IPFIX: each field in its column, each loss in its cause."""

from __future__ import annotations

import struct

import pytest

from tests.flows.datagrams import (
    BEGUN_NS,
    CAME_NS,
    EXPORTED_S,
    EXPORTER,
    bytes_of,
    decoded,
    ipfix,
    ipfix_options,
    one_set,
    template,
    v5,
    v5_record,
    v9,
    v9_options,
)

V4_KEY = ((8, 4), (12, 4), (2, 4))


def _v4(source: str, destination: str, packets: int) -> bytes:
    return bytes_of(source)[12:] + bytes_of(destination)[12:] + struct.pack(">I", packets)


def test_a_record_of_v5() -> None:
    (row,), account = decoded(v5(v5_record("10.0.0.1", "10.0.0.2", 7, 700), sampling=0x4064))
    assert row == {
        "timestamp": CAME_NS,
        "exporter": EXPORTER,
        "domain": 0x102,
        "format": "netflow5",
        "flow_start": BEGUN_NS + 1_000 * 10**6,
        "flow_end": BEGUN_NS + 2_000 * 10**6,
        "packets": 7,
        "bytes": 700,
        "sampling_rate": 100,
        "ipversion": 4,
        "srcIP": bytes_of("10.0.0.1"),
        "destIP": bytes_of("10.0.0.2"),
        "next_hop": bytes_of("10.9.9.9"),
        "srcPort": 1234,
        "destPort": 80,
        "protocol": 6,
        "flags": 0x1B,
        "tos": 0x20,
        "input_interface": 3,
        "output_interface": 4,
        "src_as": 65_001,
        "dest_as": 65_002,
        "src_mask": 24,
        "dest_mask": 16,
    }
    assert account.damaged_sets == account.missing == 0


def test_v5_that_is_cut_off() -> None:
    record = v5_record("10.0.0.1", "10.0.0.2", 7, 700)
    rows, account = decoded(v5(record, record[:47], count=2), v5(record)[:23])
    assert len(rows) == 1
    assert (account.damaged_sets, account.damaged, account.decoded) == (1, 1, 1)


def test_what_the_numbers_of_v5_miss() -> None:
    record = v5_record("10.0.0.1", "10.0.0.2", 7, 700)
    numbers = (100, 101, 105, 104, 106, 5, 6)  # 102 and 103 are missing; 104 is late; then anew
    _, account = decoded(*(v5(record, sequence=number) for number in numbers))
    assert account.missing == 3  # 104 had been missing when 105 came


@pytest.mark.parametrize("version", [9, 10])
def test_templates_and_records(version: int) -> None:
    make, number = (v9, 0) if version == 9 else (ipfix, 2)
    fields = ((27, 16), (28, 16), (1, 8), (7, 2), (11, 2), (4, 1), (99, 5), (34, 2))
    values = (
        bytes_of("2001:db8::1")
        + bytes_of("2001:db8::2")
        + struct.pack(">QHHB5xH", 1 << 40, 1, 2, 17, 64)
    )
    rows, account = decoded(
        make(one_set(number, template(300, *fields)), one_set(300, values, values, b"\0\0\0"))
    )
    assert len(rows) == 2
    assert account.damaged_sets == account.unknown_sets == 0
    assert (
        rows[0]
        == rows[1]
        == {
            "timestamp": CAME_NS,
            "exporter": EXPORTER,
            "domain": 7,
            "format": "netflow9" if version == 9 else "ipfix",
            "ipversion": 6,
            "srcIP": bytes_of("2001:db8::1"),
            "destIP": bytes_of("2001:db8::2"),
            "bytes": 1 << 40,
            "srcPort": 1,
            "destPort": 2,
            "protocol": 17,
            "sampling_rate": 64,
        }
    )


def test_records_before_their_template_are_counted() -> None:
    data = v9(one_set(300, _v4("10.0.0.1", "10.0.0.2", 1)), sequence=1)
    announced = v9(one_set(0, template(300, *V4_KEY)), sequence=2)
    rows, account = decoded(data, announced, data)
    assert len(rows) == 1
    assert account.unknown_sets == 1
    others = v9(one_set(300, _v4("10.0.0.1", "10.0.0.2", 1)), domain=8)
    rows, account = decoded(announced, others)
    assert not rows, "templates are of a domain"
    assert account.unknown_sets == 1


def test_fields_of_variable_length_and_of_enterprises() -> None:
    fields = ((0x8000 | 8, 4), (8, 4), (82, 0xFFFF), (12, 4), (0x8000 | 99, 0xFFFF), (2, 0xFFFF))
    short = b"\x03abc"
    long = b"\xff" + struct.pack(">H", 300) + bytes(300)
    record = b"\1\2\3\4" + bytes_of("10.0.0.1")[12:] + short + bytes_of("10.0.0.2")[12:]
    rows, account = decoded(
        ipfix(
            one_set(2, template(256, *fields)),
            one_set(256, record + long + b"\2\1\0", record + short + b"\0"),
        ),
        ipfix(one_set(256, record + long[:-9])),
        ipfix(one_set(256, record + short + b"\1\7", record + long[:-9])),
    )
    assert [row["packets"] for row in rows] == [256, 0, 7]
    assert rows[0]["srcIP"] == bytes_of("10.0.0.1")
    assert account.damaged_sets == 2


def test_a_set_that_is_damaged_leaves_the_others() -> None:
    good = one_set(300, _v4("10.0.0.1", "10.0.0.2", 1))
    announced = one_set(0, template(300, *V4_KEY))
    cut = one_set(0, struct.pack(">HH", 301, 90) + bytes(8))
    empty = one_set(0, template(302, (8, 0), (12, 0)))
    rows, account = decoded(v9(announced, cut, empty, one_set(17), good, b"\1\x2c\0\2" + good))
    assert len(rows) == 1
    assert account.damaged_sets == 4


def test_what_ipfix_withdraws() -> None:
    announced = ipfix(one_set(2, template(300, *V4_KEY), template(301, *V4_KEY)))
    data = one_set(300, _v4("10.0.0.1", "10.0.0.2", 1))
    one = ipfix(one_set(2, struct.pack(">HH", 300, 0)))
    rows, account = decoded(announced, one, ipfix(data), ipfix(one_set(301, data[4:])))
    assert (len(rows), account.unknown_sets) == (1, 1)
    every = ipfix(one_set(2, struct.pack(">HH", 2, 0)))
    rows, account = decoded(announced, every, ipfix(data), ipfix(one_set(301, data[4:])))
    assert (len(rows), account.unknown_sets) == (0, 2)
    again = ipfix(one_set(2, template(300, *V4_KEY)))
    options = ipfix(one_set(3, struct.pack(">HH", 3, 0)))
    rows, account = decoded(announced, every, again, options, ipfix(data))
    assert (len(rows), account.unknown_sets) == (1, 0)


def test_sampling_rates_come_by_options() -> None:
    announced = v9(one_set(0, template(300, *V4_KEY, (48, 1))))
    samplers = v9(
        one_set(1, v9_options(400, [(1, 4)], (48, 1), (49, 1), (50, 4))),
        one_set(400, struct.pack(">4xBBI", 3, 2, 1000), struct.pack(">4xBBI", 4, 2, 10)),
    )
    key = _v4("10.0.0.1", "10.0.0.2", 1)
    data = v9(one_set(300, key + b"\3", key + b"\4", key + b"\5"))
    rows, account = decoded(announced, data, samplers, data)
    assert [row["sampling_rate"] for row in rows] == [1, 1, 1, 1000, 10, 1]
    assert account.records == 6, "options are no records"


def test_sampling_of_all_records_and_begin_of_ipfix() -> None:
    announced = ipfix(one_set(2, template(300, *V4_KEY, (22, 4), (21, 4))), sequence=0)
    said = ipfix(
        one_set(3, ipfix_options(400, 1, (144, 4), (305, 4), (306, 4), (160, 8))),
        one_set(400, struct.pack(">IIIQ", 1, 1, 99, EXPORTED_S * 1000)),
        sequence=1,
    )
    record = _v4("10.0.0.1", "10.0.0.2", 1) + struct.pack(">II", 5, 6)
    data = [ipfix(one_set(300, record), sequence=number) for number in (0, 2)]
    rows, account = decoded(announced, data[0], said, data[1])
    assert account.missing == 0, "records of options are counted in the number"
    assert [row["sampling_rate"] for row in rows] == [1, 100]
    assert "flow_start" not in rows[0]
    assert rows[1]["flow_end"] == EXPORTED_S * 10**9 + 6 * 10**6


def test_times_of_ipfix() -> None:
    fields = ((150, 4), (153, 8), (8, 4), (12, 4))
    ntp = struct.pack(">II", EXPORTED_S + 2_208_988_800, 1 << 31)
    rows, _ = decoded(
        ipfix(
            one_set(2, template(300, *fields), template(301, (156, 8), (158, 4), (159, 4))),
            one_set(300, struct.pack(">IQ", 17, 1 << 63) + bytes(8)),
            one_set(301, ntp + struct.pack(">II", 0, 1_000_000)),
        )
    )
    assert rows[0]["flow_start"] == 17 * 10**9
    assert "flow_end" not in rows[0], "beyond what a timestamp holds"
    assert rows[1]["flow_start"] == EXPORTED_S * 10**9, "the last of two elements, which is not 0"
    assert rows[1]["flow_end"] == (EXPORTED_S - 1) * 10**9


def test_both_families_in_one_template() -> None:
    fields = ((27, 16), (8, 4), (28, 16), (12, 4))
    four = bytes(16) + bytes_of("10.0.0.1")[12:] + bytes(16) + bytes_of("10.0.0.2")[12:]
    six = bytes_of("2001:db8::1") + bytes(4) + bytes_of("2001:db8::2") + bytes(4)
    rows, _ = decoded(ipfix(one_set(2, template(300, *fields)), one_set(300, four, six)))
    assert [row["srcIP"] for row in rows] == [bytes_of("10.0.0.1"), bytes_of("2001:db8::1")]
    assert [row["ipversion"] for row in rows] == [4, 6]


def test_numbers_of_other_lengths() -> None:
    fields = ((8, 4), (12, 4), (2, 3), (7, 4), (1, 9), (32, 2), (70, 3), (81, 6), (4, 1))
    body = bytes_of("10.0.0.1")[12:] + bytes_of("10.0.0.2")[12:]
    body += (70_000).to_bytes(3, "big") + (70_000).to_bytes(4, "big") + (5).to_bytes(9, "big")
    body += b"\x08\x01" + (1234 << 4 | 1).to_bytes(3, "big") + b"\2\0\0\0\0\1" + b"\1"
    (row,), _ = decoded(v9(one_set(0, template(300, *fields)), one_set(300, body)))
    assert row["packets"] == 70_000
    assert "srcPort" not in row, "no port has such a number"
    assert row["bytes"] == 5
    assert (row["icmp_type"], row["icmp_code"]) == (8, 1)
    assert row["mpls_label"] == 1234
    assert row["srcMAC"] == 0x020000000001

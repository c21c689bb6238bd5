# SPDX-License-Identifier: Apache-2.0
"""Every cause of the account, induced a known number of times and counted exactly."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings

from gigastream.engine.batch import EngineError
from gigastream.plan import Plan
from gigastream.sources.files import SourceError
from tests.captures import capture_id, captures
from tests.engine.accounts import DEFAULT, Account, account
from tests.engine.stepping import plan_of
from tests.engine.traffic import SECOND_NS, arp_packet, packet, tcp_packet, udp_packet
from tests.strategies.captures import capture_files, damaged_files
from tests.strategies.files import (
    NANOSECONDS,
    Packet,
    enhanced_packet,
    interface,
    option,
    pcap,
    section_header,
)

FOLDER = Path(__file__).parent / "account_queries"
UNSUPPORTED = 147
"""LINKTYPE_USER0: nobody knows what is in it."""


@cache
def plan(name: str, **replaced: str) -> Plan:
    text = (FOLDER / f"{name}.gsql").read_text(encoding="utf-8")
    for word, by in replaced.items():
        text = text.replace(word, by)
    return plan_of(text)


def capture(packets: list[Packet]) -> bytes:
    return pcap(packets, magic=NANOSECONDS)


# ---- the source ----


def mixed_pcapng(packets: list[Packet]) -> bytes:
    """Interface 0 is Ethernet, 1 of an unknown link; 2 is Ethernet whose clock is beyond 2262."""
    nanoseconds = option(9, b"\x09") + option(0, b"")
    beyond = option(9, b"\x09") + option(14, struct.pack("<q", 9_300_000_000)) + option(0, b"")
    head = section_header() + interface(options=nanoseconds)
    head += interface(link_type=UNSUPPORTED, options=nanoseconds) + interface(options=beyond)
    return head + b"".join(enhanced_packet(p, p.timestamp_ns) for p in packets)


def on(interface_id: int, at: Packet) -> Packet:
    return replace(at, interface_id=interface_id)


def test_undecodable_are_those_of_unknown_links_and_those_without_a_usable_time() -> None:
    packets = [packet(at) for at in range(9)]
    unknown = [on(1, packets[2]), on(1, packets[3])]
    timeless = [on(2, packets[4])]
    found = account(plan("tens"), mixed_pcapng([*packets[:2], *unknown, *timeless, *packets[5:]]))
    assert (found.source.read, found.source.undecodable, found.source.decoded) == (9, 3, 6)


def test_filtered_are_those_that_the_bpf_filter_does_not_pass() -> None:
    times = range(20)
    packets = [udp_packet(t * SECOND_NS, 1, 2, port=53 if t % 4 else 123) for t in times]
    wanted = replace(DEFAULT, filter="udp port 53")
    found = account(plan("tens"), capture([*packets, arp_packet(20 * SECOND_NS)]), wanted)
    assert (found.source.read, found.source.filtered, found.source.decoded) == (21, 6, 15)


def late_capture() -> list[Packet]:
    """Records of 58 bytes: four to a block of 232; the last three come when W is at 20 s."""
    forward = [packet(at) for at in (10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33, 40)]
    return [*forward, packet(19), packet(20), packet(5, port=123), packet(1)]


def test_late_are_those_below_what_the_blocks_before_had_promised() -> None:
    found = account(plan("tens"), capture(late_capture()), replace(DEFAULT, disorder_bytes=232))
    assert (found.source.read, found.source.late, found.source.decoded) == (17, 3, 14)
    assert found.source.worst_lateness_ns == 19 * SECOND_NS


def test_late_are_those_below_the_slack() -> None:
    packets = [packet(at) for at in (10, 20, 21, 16, 15, 14, 22)]
    found = account(plan("tens"), capture(packets), replace(DEFAULT, slack_ns=5 * SECOND_NS))
    assert (found.source.late, found.source.decoded) == (1, 6), "H is 20, so W is 15: 14 is late"


def test_the_first_cause_that_applies_counts() -> None:
    """Undecodable before filtered before late: each packet is counted once."""
    wanted = replace(DEFAULT, disorder_bytes=232, filter="udp port 53")
    found = account(plan("tens"), capture(late_capture()), wanted)
    assert (found.source.filtered, found.source.late, found.source.decoded) == (1, 2, 14)
    mixed = mixed_pcapng([packet(50), packet(51), packet(52), on(1, packet(1)), packet(2)])
    found = account(plan("tens"), mixed, replace(wanted, slack_ns=0))
    assert (found.source.undecodable, found.source.late, found.source.decoded) == (1, 1, 3)


# ---- the low level ----


def test_the_causes_of_an_lfta() -> None:
    def of_size(payload: int) -> list[Packet]:
        return [packet(at, payload=payload) for at in range(3)]

    to_others = [udp_packet(0, 1, 2, payload=10)]
    to_others = [
        Packet(p.timestamp_ns, p.data.replace(b"\x13\x88", b"\x13\x89")) for p in to_others
    ]
    others = [tcp_packet(SECOND_NS, 1, 2), arp_packet(SECOND_NS)]
    packets = [*of_size(0), *of_size(10), *of_size(50), *to_others * 4, *others, *of_size(20)]
    found = account(plan("low"), capture(packets))
    assert found.low("q_low") == {
        "not_of_protocol": 2,
        "prefiltered": 4,
        "no_value": 3,
        "rejected": 3,
        "accepted": 6,
    }
    assert sum(count for *_, count in found.rows("q")) == 6


def test_no_value_of_a_selected_expression() -> None:
    packets = [packet(at, payload=at % 3) for at in range(10)] + [packet(11, port=200)]
    found = account(plan("low_selection"), capture(packets))
    assert found.low("q") == {"no_value": 4, "prefiltered": 1, "accepted": 6}
    assert len(found.rows("q")) == 6


def test_no_value_by_overflow() -> None:
    packets = [packet(at, payload=55 + at) for at in range(10)]
    found = account(plan("overflow"), capture(packets))
    assert found.low("q") == {"no_value": 4, "accepted": 6}, "103 bytes and more"
    assert [wide // 90_000_000_000_000_000 for _, wide in found.rows("q")] == [*range(97, 103)]


def test_no_value_of_a_partial_function(tmp_path: Path) -> None:
    prefixes = tmp_path / "prefixes.csv"
    prefixes.write_text("10.0.0.0/31,7\n10.0.0.4/32,8\n", encoding="utf-8")
    packets = [packet(at, source=at) for at in range(6)]
    found = account(plan("partial", PREFIXES=str(prefixes)), capture(packets))
    assert found.low("q_low") == {"no_value": 3, "accepted": 3}
    assert sorted(row[1:] for row in found.rows("q")) == [(7, 2), (8, 1)]


# ---- the high level ----


def groups_of(*sizes: int) -> list[Packet]:
    """As many packets of each host."""
    return [packet(1, source=host) for host, size in enumerate(sizes) for _ in range(size)]


def test_groups_without_a_value_and_groups_that_having_rejects() -> None:
    found = account(plan("high"), capture(groups_of(1, 2, 3, 2, 1, 1, 12)))
    top = found.operator("q")
    assert (top.rejected, top.no_value, top.rows_out) == (3, 2, 2)
    assert sorted(quotient for *_, quotient in found.rows("q")) == [10, 100]


@pytest.mark.parametrize("slots", [1, 64])
def test_sums_that_leave_64_bits_are_counted_and_never_wrap(slots: int) -> None:
    """However many partial rows they come in."""
    sizes = (1, 5, 6, 10, 11, 12)
    found = account(plan("sums"), capture(groups_of(*sizes)), replace(DEFAULT, slots=slots))
    assert found.operator("signed").no_value == 4
    assert found.operator("unsigned").no_value == 2
    time_ns = packet(1).timestamp_ns
    assert sorted(row[2] for row in found.rows("signed")) == [time_ns, 5 * time_ns]
    assert sorted(row[2] // time_ns for row in found.rows("unsigned")) == [1, 5, 6, 10]


def test_operators_over_streams() -> None:
    """Groups of four and five are rejected, those of two have no value."""
    found = account(plan("above"), capture(groups_of(3, 2, 3, 2, 4, 5)))
    selected, minutes = found.operator("selected"), found.operator("minutes")
    assert (selected.rows_in, selected.rejected, selected.no_value) == (6, 2, 2)
    assert (minutes.rows_in, minutes.rejected, minutes.no_value) == (6, 2, 2)
    assert (selected.rows_out, minutes.rows_out) == (2, 1)


# ---- max_groups ----


def test_groups_beyond_the_limit_are_refused_and_their_window_is_marked() -> None:
    """Two windows: five groups in the first, of which three are let in, then two."""
    first = [packet(1, source=host) for host in (0, 1, 2, 3, 4, 3, 0)]
    second = [packet(60, source=8), packet(61, source=9), packet(62, source=8)]
    limited = replace(DEFAULT, max_groups=3, slots=1, slack_ns=0, flush="immediate")
    found = account(plan("tens"), capture([*first, *second]), limited)
    assert found.operator("q").groups_refused == 3, "3, 4 and 3 again"
    marks = {row[1] & 0xFF: out.is_partial for out in found.outs for row in out.rows}
    assert marks == {0: True, 1: True, 2: True, 8: False, 9: False}
    assert {row[1] & 0xFF: row[2] for row in found.rows("q")} == {0: 2, 1: 1, 2: 1, 8: 2, 9: 1}


def test_the_mark_reaches_what_reads_the_window() -> None:
    limited = replace(DEFAULT, max_groups=3, slots=4096, hash_key=(1, 3), slack_ns=0)
    later = [packet(at, source=1) for at in (70, 71, 72, 140, 141, 142)]
    found = account(plan("above"), capture([*groups_of(3, 3, 3, 3), *later]), limited)
    assert found.operator("tens").groups_refused == 1
    for node in ("selected", "minutes"):
        outs = [out for out in found.outs if out.node == node and out.rows]
        marks = {row[0] for out in outs if out.is_partial for row in out.rows}
        assert marks == {min(row[0] for row in found.rows(node))}


def test_the_limit_is_over_all_windows_that_are_open() -> None:
    packets = [packet(10 * at, source=at) for at in range(8)]
    found = account(plan("tens"), capture(packets), replace(DEFAULT, max_groups=5))
    assert found.operator("q").groups_refused == 3
    assert len(found.rows("q")) == 5


# ---- whatever the capture ----


def try_it(data: bytes) -> Account | None:
    """The account of a capture that is not refused, under a filter and a small block."""
    strict = replace(DEFAULT, disorder_bytes=300, filter="not port 443", slots=4)
    try:
        return account(plan("low"), data, strict)
    except (SourceError, EngineError):
        return None


quickly = settings(max_examples=80)


@quickly
@given(file=capture_files())
def test_it_adds_up_for_any_capture(file) -> None:
    found = try_it(file.data)
    assert found is None or found.source.read == len(file.packets)


@quickly
@given(data=damaged_files())
def test_it_adds_up_for_damaged_captures(data: bytes) -> None:
    try_it(data)


@pytest.mark.parametrize("path", captures("good", "hostile", "ng-odd"), ids=capture_id)
def test_it_adds_up_for_real_captures(path: Path) -> None:
    try_it(path.read_bytes())

# SPDX-License-Identifier: Apache-2.0
"""Packets from memory: their answer is that of a capture with the same packets."""

from __future__ import annotations

import gc
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import dpkt
import pytest
import scapy.all as scapy
from captures import DEMO_CAPTURE

import gigastream
from gigastream.gsql.diagnostics import GsqlError
from gigastream.settings import Settings
from gigastream.sources.files import DamagedSourceError, SourceError
from tests.engine.traffic import packet
from tests.oracle.capture import read_bytes
from tests.strategies.files import NANOSECONDS, pcap
from tests.waiting import PATIENCE_S, wait_until

QUERY = """SELECT tb, srcIP, destIP, protocol, count(*) AS n, sum(len) AS bytes, sum(caplen) AS kept
FROM IP GROUP BY time/60 AS tb, srcIP, destIP, protocol"""
TIMES = "SELECT timestamp, len FROM PKT"
COUNTS = "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb"
Rows = list[dict[str, Any]]
SECOND = 10**9


def rows(query: str, packets: Any, **options: Any) -> Rows:
    with gigastream.run(query, packets, **options) as answer:
        return [row for batch in answer for row in batch.to_pylist()]


def sorted_rows(query: str, packets: Any, **options: Any) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row.values())) for row in rows(query, packets, **options))


def demo_packets() -> list[tuple[int, bytes]]:
    records = read_bytes(DEMO_CAPTURE.read_bytes()).records
    return [(r.timestamp_ns, r.data) for r in records if r.timestamp_ns is not None]


def whole_packets(folder: Path) -> tuple[Path, list[tuple[int, bytes]]]:
    """A capture without packets that were cut, and these packets."""
    made = [packet(at, at % 7, at % 5, at) for at in range(300)]
    path = folder / "whole.pcap"
    path.write_bytes(pcap(made, magic=NANOSECONDS))
    records = read_bytes(path.read_bytes()).records
    return path, [(r.timestamp_ns or 0, r.data) for r in records]


def as_datetime(time_ns: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)


FORMS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "float": lambda time_ns: time_ns / SECOND,
    "Decimal": lambda time_ns: Decimal(time_ns) / SECOND,
    "datetime": as_datetime,
    "datetime elsewhere": lambda t: as_datetime(t).astimezone(timezone(timedelta(hours=-7))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("give", [list, iter, tuple], ids=["list", "iterator", "tuple"])
def test_pairs_answer_like_their_file(
    tmp_path: Path, form: str, give: Callable[[Iterable[Any]], Any]
) -> None:
    path, packets = whole_packets(tmp_path)
    pairs = give((FORMS[form](time_ns), data) for time_ns, data in packets)
    assert sorted_rows(QUERY, pairs) == sorted_rows(QUERY, path)


@pytest.mark.parametrize("form", FORMS)
def test_times_are_kept(form: str) -> None:
    """Of today, to the microsecond; an int and a Decimal to the nanosecond."""
    exact = form in ("int", "Decimal")
    given = 1_700_000_000_123_456_789 if exact else 1_700_000_000_123_456_000
    (batch,) = gigastream.run(TIMES, [(FORMS[form](given), bytes(60))])
    assert batch.column(0).cast("int64").to_pylist() == [given]


def test_scapy_packets_answer_like_their_file() -> None:
    packets = scapy.rdpcap(str(DEMO_CAPTURE))
    expected = sorted_rows(QUERY, DEMO_CAPTURE)
    assert sorted_rows(QUERY, packets) == expected
    assert sorted_rows(QUERY, iter(packets)) == expected
    assert sorted_rows(QUERY, scapy.PcapReader(str(DEMO_CAPTURE))) == expected


def test_scapy_packets_say_their_link_type() -> None:
    made = [
        scapy.Ether() / scapy.IP(dst="10.0.0.1") / scapy.UDP(),
        scapy.IP(dst="10.0.0.1") / scapy.UDP(),
        scapy.IPv6(dst="::1") / scapy.TCP(),
        scapy.CookedLinux(proto=0x800) / scapy.IP(dst="10.0.0.1") / scapy.UDP(),
    ]
    query = "SELECT destPort, count(*) AS n FROM DataProtocol GROUP BY time/60 AS tb, destPort"
    for at, each in enumerate(made):
        each.time = 1_700_000_000 + at
    assert sorted_rows(query, made) == [("53", "3"), ("80", "1")]
    with pytest.raises(DamagedSourceError, match=r"outermost layer is ARP.*give link_type"):
        rows(COUNTS, [scapy.ARP()])


class Ether:
    """Looks like a packet of scapy's, of which 1,000 bytes were not captured."""

    def __init__(self, at: float, data: bytes) -> None:
        self.time, self.data, self.wirelen = at, data, len(data) + 1000

    def __bytes__(self) -> bytes:
        return self.data


def test_a_packet_that_was_cut_keeps_its_length() -> None:
    (row,) = rows("SELECT len, caplen FROM PKT", [Ether(1e9, bytes(100))])
    assert row == {"len": 1100, "caplen": 100}


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_dpkt_reader_answers_like_its_file(tmp_path: Path, kind: str) -> None:
    path, packets = whole_packets(tmp_path)
    other = tmp_path / "other"
    with other.open("wb") as stream:
        writer = (dpkt.pcap if kind == "pcap" else dpkt.pcapng).Writer(stream)
        for time_ns, data in packets:
            writer.writepkt(data, ts=time_ns / SECOND)
    with other.open("rb") as stream:
        reader = (dpkt.pcap if kind == "pcap" else dpkt.pcapng).Reader(stream)
        assert sorted_rows(QUERY, reader) == sorted_rows(QUERY, path)


def test_a_dpkt_reader_says_its_link_type(tmp_path: Path) -> None:
    path = tmp_path / "raw.pcap"
    with path.open("wb") as stream:
        writer = dpkt.pcap.Writer(stream, linktype=dpkt.pcap.DLT_RAW)
        writer.writepkt(bytes(packet(1).data[14:]), ts=1)
    with path.open("rb") as stream:
        assert rows("SELECT protocol FROM IPV4", dpkt.pcap.Reader(stream)) == [{"protocol": 17}]


@pytest.mark.parametrize("link_type", [101, "RAW", "raw", 12])
def test_a_link_type_is_given(link_type: int | str) -> None:
    pairs = [(1, packet(1).data[14:])]
    assert rows("SELECT protocol FROM IPV4", pairs, link_type=link_type) == [{"protocol": 17}]
    assert rows("SELECT protocol FROM IPV4", pairs) == []


def test_a_list_in_any_order_loses_nothing_and_an_iterator_may_step_back_by_the_slack() -> None:
    packets = [(at * SECOND, bytes(60)) for at in reversed(range(1, 100))]
    assert sum(row["n"] for row in rows(COUNTS, packets)) == 99
    assert sum(row["n"] for row in rows(COUNTS, iter(packets))) < 99
    generous = Settings(slack_ns=100 * SECOND)
    assert sum(row["n"] for row in rows(COUNTS, iter(packets), settings=generous)) == 99


def test_packets_of_two_interfaces_and_a_file() -> None:
    query = "SELECT tb, interface, count(*) AS n FROM PKT GROUP BY time/60 AS tb, interface"
    sources = [
        gigastream.PacketSource([(1, b"x" * 60)] * 3, "left"),
        gigastream.PacketSource(iter([(1, b"x" * 60)] * 2), "right"),
        f"old={DEMO_CAPTURE}",
    ]
    found: dict[bytes, int] = {}
    for row in rows(query, sources):
        found[row["interface"]] = found.get(row["interface"], 0) + row["n"]
    assert found == {b"left": 3, b"right": 2, b"old": 2010}


def test_no_packets_at_all() -> None:
    assert rows(COUNTS, []) == rows(COUNTS, iter(())) == []


def test_a_list_has_an_end_and_an_iterator_may_have_none() -> None:
    """An aggregation without a clock is answered at the end, where there is one."""
    query = "SELECT count(*) AS n FROM PKT"
    assert rows(query, [(1, bytes(60))] * 3) == [{"n": 3}]
    with pytest.raises(GsqlError):
        gigastream.run(query, endless())


# ---- as they come ----


def endless() -> Iterator[tuple[int, bytes]]:
    return ((at * SECOND, bytes(60)) for at in itertools.count(1))


def test_rows_of_an_endless_iterable_are_taken_as_they_come() -> None:
    with gigastream.run(COUNTS, endless()) as answer:
        first = [row for batch in itertools.islice(answer, 3) for row in batch.to_pylist()]
    assert [row["tb"] for row in first[:3]] == [1, 2, 3]
    assert all(row["n"] == 1 for row in first)


def test_an_iterable_that_waits_for_our_rows_gets_them() -> None:
    """What it has given is answered though it gives no more."""
    are_here = threading.Event()

    def packets() -> Iterator[tuple[int, bytes]]:
        yield from ((at * SECOND, bytes(60)) for at in range(1, 10))
        assert are_here.wait(PATIENCE_S)
        yield 10 * SECOND, bytes(60)

    found: Rows = []
    for batch in gigastream.run(COUNTS, packets()):
        found += batch.to_pylist()
        if len(found) == 6:
            are_here.set()
    assert len(found) == 10


# ---- what is given back ----


def held() -> set[str | threading.Thread]:
    """Descriptors and threads of this process."""
    return {*os.listdir("/proc/self/fd"), *threading.enumerate()}


@pytest.mark.parametrize("what", ["file", "list", "endless"])
@pytest.mark.parametrize("how", ["dropped", "closed", "with", "begun"])
def test_a_run_that_is_left_keeps_nothing(what: str, how: str) -> None:
    rows(COUNTS, [])
    gc.collect()
    before = held()
    for _ in range(20):
        sources: Any = {"file": DEMO_CAPTURE, "list": demo_packets(), "endless": endless()}[what]
        answer = gigastream.run(COUNTS, sources)
        if how == "begun":
            next(answer)
        if how == "closed":
            answer.close()
            assert list(answer) == []
        if how == "with":
            with answer:
                pass
        del answer
    gc.collect()
    # What an earlier test had left may have gone meanwhile.
    wait_until(lambda: held() <= before, "what the runs held to be given back")


# ---- what is wrong ----


class BrokenError(Exception):
    pass


def collect(answer: Iterable[Any], found: Rows) -> None:
    for batch in answer:
        found += batch.to_pylist()


def breaks() -> Iterator[tuple[int, bytes]]:
    yield from ((at * SECOND, bytes(60)) for at in range(1, 18))
    raise BrokenError("no more of these")


def test_an_iterable_that_raises_is_told_after_the_rows_before_it() -> None:
    found: Rows = []
    with pytest.raises(DamagedSourceError, match="after 17 packets: BrokenError: no more of these"):
        collect(gigastream.run(COUNTS, breaks()), found)
    assert len(found) == 17


def test_what_it_raised_is_the_cause() -> None:
    for broken in (BrokenError("x"), BrokenPipeError("its own")):

        def raises(problem: Exception = broken) -> Iterator[tuple[int, bytes]]:
            yield 1, bytes(60)
            raise problem

        with pytest.raises(DamagedSourceError) as caught:
            rows(COUNTS, raises())
        assert caught.value.__cause__ is broken


FRAME = bytes(60)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, "text"), "its second part is a str, not bytes"),
        ((1, None), "its second part is a NoneType, not bytes"),
        ((-1, FRAME), "its time -1 is not between 1970 and 2262"),
        ((-0.5, FRAME), "its time -0.5 is not between"),
        ((2**63, FRAME), "is not between 1970 and 2262"),
        ((float("nan"), FRAME), "its time nan is not finite"),
        ((float("inf"), FRAME), "its time inf is not finite"),
        ((Decimal("NaN"), FRAME), "its time NaN is not finite"),
        ((Decimal("1E+99999999"), FRAME), "is not between 1970 and 2262"),
        ((datetime(2024, 1, 1), FRAME), "has no time zone"),
        (("now", FRAME), "its time is a str: seconds as a float or Decimal"),
        ((True, FRAME), "its time is a bool"),
        ((Fraction(1, 2), FRAME), "its time is a Fraction"),
        ((1, bytes(262_145)), "it has 262,145 bytes; 262,144 are the most"),
        ((1, FRAME, 3), "it is a tuple; a packet is a pair"),
        (FRAME, "it is a bytes; a packet is a pair"),
        ("a.pcap", "it is a str; .*captures are named in a list"),
        (None, "it is a NoneType"),
        (7, "it is an int; a packet is a pair"),
    ],
    ids=str,
)
def test_a_packet_that_is_none_is_told(given: Any, message: str) -> None:
    found: Rows = []
    with pytest.raises(DamagedSourceError, match=f"packets is damaged: packet 2: .*{message}"):
        collect(gigastream.run(COUNTS, iter([(1, FRAME), given])), found)
    assert [row["n"] for row in found] == [1]


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        (7, {}, "packets of an int"),
        ([], {"link_type": "TOKEN"}, "link type 'TOKEN' is not supported"),
        ([], {"link_type": 147}, "link type 147 is not supported"),
        (DEMO_CAPTURE, {"link_type": 1}, "a capture says its own"),
    ],
    ids=str,
)
def test_what_is_no_source_is_told_at_once(sources: Any, options: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        gigastream.run(COUNTS, sources, **options)

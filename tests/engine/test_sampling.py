# SPDX-License-Identifier: Apache-2.0
"""Sampling under overload: flows whole or not at all, time goes on, sums can be scaled."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.batch import EngineError
from gigastream.engine.engine import Engine
from gigastream.engine.statistics import SourceStatistics
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.captures import DEMO_CAPTURE
from tests.engine.accounts import SOURCE, account
from tests.engine.stepping import Row, memory_file, out_of, plan_of
from tests.engine.traffic import EPOCH_NS, HOST
from tests.strategies import frames
from tests.strategies.files import Packet, pcap

SETTINGS = Settings(hash_key=(0x9E3779B97F4A7C15, 0xD1B54A32D192ED03), deliver_every_burst=True)
DEMO = DEMO_CAPTURE.read_bytes()
FLOWS = """SELECT srcIP, destIP, protocol, srcPort, destPort, packet_id, sampling_rate
    FROM DataProtocol"""
SECONDS = """DEFINE { no_temporal_aggr true; } SELECT tb, count(*) AS packets, sum(len) AS bytes,
    sum(sampling_rate) AS scaled_packets, sum(len * sampling_rate) AS scaled_bytes
    FROM PKT GROUP BY time/600 AS tb"""
RATES = "SELECT packet_id, sampling_rate FROM PKT"


def sampled(
    text: str,
    capture: bytes,
    change: Callable[[Engine], None],
    settings: Settings = SETTINGS,
    steps: int = 1 << 20,
) -> tuple[list[Row], SourceStatistics]:
    """The rows of a query; `change` is asked before each call that reads `steps` packets."""
    descriptor, path = memory_file(capture)
    try:
        with Engine(settings) as engine, AttachedSet(plan_of(text), settings) as queries:
            engine.add_files([FileSource("default", path)])
            engine.attach(queries)
            engine.start()
            rows = list(_rows(engine, queries, change, steps))
            (source,) = engine.statistics()
    finally:
        os.close(descriptor)
    assert source.read == sum(getattr(source, counter) for counter in SOURCE)
    return rows, source


def _rows(
    engine: Engine, queries: AttachedSet, change: Callable[[Engine], None], steps: int
) -> Iterator[Row]:
    goes_on = True
    while goes_on:
        change(engine)
        goes_on = engine.run(steps - read_of(engine) % steps, 0)
        for event in queries.taken():
            yield from out_of(event.query, event.batch).rows


def read_of(engine: Engine) -> int:
    """Packets of its only source."""
    return engine.statistics()[0].read


def at(shift: int) -> Callable[[Engine], None]:
    """Sampling that stays as it is."""
    return lambda engine: engine.sample(shift)


def flow(row: Row) -> tuple[object, ...]:
    """Which flow a row of FLOWS is of, whichever way it goes."""
    source, destination, protocol, source_port, destination_port = row[:5]
    ends = sorted([(str(source), source_port), (str(destination), destination_port)])
    return (protocol, *ends)


def flows_of(rows: list[Row]) -> dict[tuple[object, ...], set[int]]:
    """By flow: which packets came of it."""
    found: dict[tuple[object, ...], set[int]] = {}
    for row in rows:
        found.setdefault(flow(row), set()).add(row[5])
    return found


def conversations(count: int, seed: int = 11) -> bytes:
    """So many flows over IPv4 and IPv6, TCP and UDP, in both directions, their packets mixed."""
    dice, made = random.Random(seed), []
    for number in range(count):
        ends = [(HOST + dice.randrange(200), dice.randrange(1, 65536)) for _ in range(2)]
        protocol = dice.choice((frames.TCP, frames.UDP))
        for _ in range(dice.randrange(1, 12)):
            dice.shuffle(ends)
            made.append(_frame(ends, protocol, dice.randrange(900), is_ipv6=number % 3 == 0))
    dice.shuffle(made)
    times = range(EPOCH_NS, EPOCH_NS + len(made) * 10**9, 10**9)
    return pcap(Packet(time_ns, frame) for time_ns, frame in zip(times, made, strict=True))


def _frame(ends: list[tuple[int, int]], protocol: int, payload: int, is_ipv6: bool) -> bytes:
    (source, source_port), (other, other_port) = ends
    make = frames.tcp if protocol == frames.TCP else frames.udp
    content = make(source_port, other_port, bytes(payload))
    if not is_ipv6:
        packet = frames.ipv4(source, other, protocol, content)
        return frames.ethernet(frames.ETHERTYPE_IPV4, packet)
    addresses = (host.to_bytes(16, "big") for host in (source, other))
    return frames.ethernet(frames.ETHERTYPE_IPV6, frames.ipv6(*addresses, protocol, content))


CAPTURES = {"demo": DEMO, "conversations": conversations(600)}


@pytest.mark.parametrize("name", CAPTURES)
def test_without_sampling_all_is_as_it_was(name: str) -> None:
    rows, source = sampled(FLOWS, CAPTURES[name], at(0))
    assert rows == account(plan_of(FLOWS), CAPTURES[name], SETTINGS).rows("query")
    assert source.sampled_out == 0
    assert {row[6] for row in rows} == {1}


@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("name", CAPTURES)
def test_a_flow_is_seen_whole_or_not_at_all(name: str, shift: int) -> None:
    every = flows_of(sampled(FLOWS, CAPTURES[name], at(0))[0])
    rows, source = sampled(FLOWS, CAPTURES[name], at(shift))
    kept = flows_of(rows)
    assert 0 < len(kept) < len(every)
    assert kept == {of: every[of] for of in kept}
    assert {row[6] for row in rows} == {1 << shift}
    assert source.sampled_out > 0
    less = flows_of(sampled(FLOWS, CAPTURES[name], at(shift - 1))[0])
    assert kept.keys() <= less.keys()


def test_the_share_of_flows_is_what_it_says() -> None:
    capture = conversations(3000)
    every = len(flows_of(sampled(FLOWS, capture, at(0))[0]))
    for shift in (1, 2, 4):
        share = 2.0**-shift
        kept = len(flows_of(sampled(FLOWS, capture, at(shift))[0]))
        assert abs(kept - every * share) < 4 * math.sqrt(every * share * (1 - share))


def test_who_does_not_know_the_key_does_not_know_the_flows() -> None:
    other = Settings(hash_key=(5, 7), deliver_every_burst=True)
    found = [sampled(RATES, CAPTURES["conversations"], at(1), key)[0] for key in (SETTINGS, other)]
    assert found[0] != found[1]


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_scaled_sums_are_within_their_error(shift: int) -> None:
    """The error of a sum over flows: sizes squared, by rate (rate - 1), of the flows that came."""
    capture, rate = conversations(3000), 1 << shift
    text = "SELECT srcIP, destIP, protocol, srcPort, destPort, packet_id, len FROM DataProtocol"
    lengths: dict[tuple[object, ...], list[int]] = {}
    for row in sampled(text, capture, at(shift))[0]:
        lengths.setdefault(flow(row), []).append(row[6])
    true = sampled(SECONDS, capture, at(0))[0]
    found = sampled(SECONDS, capture, at(shift))[0]
    for column, size in ((3, len), (4, sum)):
        error = math.sqrt(rate * (rate - 1) * sum(size(each) ** 2 for each in lengths.values()))
        difference = sum(row[column] for row in found) - sum(row[column] for row in true)
        assert 0 < abs(difference) < 3 * error


def test_each_packet_has_the_rate_that_held_for_it() -> None:
    capture, steps = CAPTURES["conversations"], 100
    kept = [{row[0] for row in sampled(RATES, capture, at(shift))[0]} for shift in range(4)]

    def change(engine: Engine) -> None:
        engine.sample(read_of(engine) // steps % 4)

    rows, source = sampled(RATES, capture, change, steps=steps)
    shifts = ((place, place // steps % 4) for place in range(source.read))
    assert rows == [(place, 1 << shift) for place, shift in shifts if place in kept[shift]]


# ---- what has no ports ----


def is_kept(frame: bytes) -> bool:
    """Whether 1 in 2 has it."""
    return bool(sampled(RATES, pcap([Packet(EPOCH_NS, frame)]), at(1))[0])


def test_fragments_go_with_one_another() -> None:
    choices = set()
    for host in range(40):
        ends = (HOST + host, HOST + 77)
        first = frames.ipv4(*ends, frames.UDP, frames.udp(1, 2, bytes(24)), more=True)
        later = frames.ipv4(*ends, frames.UDP, bytes(24), offset=4)
        back = frames.ipv4(*ends[::-1], frames.UDP, bytes(24), offset=4)
        made = [frames.ethernet(frames.ETHERTYPE_IPV4, packet) for packet in (first, later, back)]
        kept = {is_kept(frame) for frame in made}
        assert len(kept) == 1
        choices |= kept
    assert choices == {True, False}


def test_frames_without_ip_go_by_their_stations() -> None:
    choices = set()
    for station in range(40):
        ends = [bytes([2, 0, 0, 0, 0, station]), bytes([2, 0, 0, 0, 1, 1])]
        there, back = (b"".join(way) + b"\x08\x06" + bytes(28) for way in (ends, ends[::-1]))
        assert is_kept(there) == is_kept(back)
        choices.add(is_kept(there))
    assert choices == {True, False}


def test_what_has_no_address_is_chosen_by_the_packet() -> None:
    packets = [Packet(EPOCH_NS + number, b"\0\0\0\1" + bytes(16)) for number in range(400)]
    rows, source = sampled(RATES, pcap(packets, link_type=0), at(2))
    assert 60 < len(rows) == 400 - source.sampled_out < 140


# ---- time, and what is refused ----


def test_time_is_told_where_every_packet_is_left_out() -> None:
    everything, one = sampled(SECONDS, DEMO, at(0))
    nothing, other = sampled(SECONDS, DEMO, at(32))
    assert everything
    assert not nothing
    assert (other.sampled_out, other.decoded) == (one.decoded, 0)
    assert (other.high_ns, other.promise_ns) == (one.high_ns, one.promise_ns)


def test_windows_close_when_nothing_comes_any_more() -> None:
    """Half is read, then all is left out: the windows of the first half come before the end."""
    settings = replace(SETTINGS, disorder_bytes=4096, flush="immediate")
    half, before_the_end = 1000, 2000

    def change(engine: Engine) -> None:
        engine.sample(32 if read_of(engine) >= half else 0)

    text = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"
    descriptor, path = memory_file(DEMO)
    with Engine(settings) as engine, AttachedSet(plan_of(text), settings) as queries:
        engine.add_files([FileSource("default", path)])
        engine.attach(queries)
        engine.start()
        rows = _rows(engine, queries, change, half)
        counts = (row[1] for row in rows if read_of(engine) <= before_the_end)
        assert sum(counts) == half
    os.close(descriptor)


def test_a_rate_that_cannot_be_is_refused() -> None:
    with Engine(SETTINGS) as engine, pytest.raises(EngineError, match="at the most 1 in 2"):
        engine.sample(33)


def test_everything_has_no_rate_unless_it_is_named() -> None:
    rows, _ = sampled("SELECT * FROM PKT", DEMO, at(0))
    named, _ = sampled("SELECT *, sampling_rate FROM PKT", DEMO, at(0))
    assert named == [(*row, 1) for row in rows]

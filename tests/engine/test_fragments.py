# SPDX-License-Identifier: Apache-2.0
"""Datagrams that are put together: as the oracle and scapy do it, within bounds, all counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from scapy.layers.inet import IP, defrag
from scapy.layers.l2 import Ether

from gigastream.engine.statistics import OF_FRAGMENTS, LftaStatistics
from gigastream.settings import Settings
from tests.answers.engine import Given, plan_of, run, source
from tests.answers.mixture import START_NS
from tests.cli.command import gigastream
from tests.oracle.fragments import Datagrams, wholes
from tests.oracle.query import decode
from tests.oracle.rows import parse_csv, to_csv
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap
from tests.strategies.fragments import cut_anywhere, everything, honest, hostile

WHOLE = "DEFINE { defragment 'yes'; } "
QUERY = WHOLE + "SELECT timestamp, packet_id, srcPort, destPort, data_length, UDP_data FROM UDP"
OPENED = QUERY.replace("'yes';", "'yes'; decapsulate 'all';")
COLUMNS = ("timestamp", "packet_id", "srcPort", "destPort", "data_length", "UDP_data")
SECOND_NS = 10**9


def _run(folder: Path, packets: Sequence[Packet], query: str = QUERY, burst: int = 256) -> Given:
    path = folder / "fragments.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    return run(plan_of(query), [source(path)], Settings(burst=burst))


def _spaced(data: Sequence[bytes], step_ns: int = 10**6) -> list[Packet]:
    return [Packet(START_NS + at * step_ns, each) for at, each in enumerate(data)]


def _lfta(given: Given) -> LftaStatistics:
    (lfta,) = given.statistics.lftas
    return lfta


def _piece(id_: int, begin: int, size: int, *, more: bool = True, source: int = 1) -> bytes:
    offset = {"offset": begin // 8, "more": more, "identification": id_}
    packet = frames.ipv4(source, 2, frames.UDP, bytes(size), **offset)  # type: ignore[arg-type]
    return frames.ethernet(frames.ETHERTYPE_IPV4, packet)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("query", "tunnels"), [(QUERY, ""), (OPENED, "all")])
def test_what_comes_at_random_is_as_the_oracle_has_it(
    tmp_path: Path, seed: int, query: str, tunnels: str
) -> None:
    packets = everything(seed, START_NS)
    given = _run(tmp_path, packets, query, burst=(1, 7, 256)[seed % 3])
    datagrams = Datagrams()
    seen = wholes(decode(tmp_path / "fragments.pcap").layers, tunnels, datagrams)
    tuples = [found for found in (each.as_protocol("UDP") for each in seen) if found]
    rows = [tuple(each[name] for name in COLUMNS) for each in tuples]
    assert given.rows["query"] == parse_csv(to_csv(COLUMNS, rows))[1]
    counts = _lfta(given)
    assert {name: getattr(counts, name) for name in OF_FRAGMENTS} == {
        name: datagrams.counts[name] for name in OF_FRAGMENTS
    }
    assert counts.decoded == len(packets)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_sent_is_seen(tmp_path: Path, seed: int) -> None:
    """Of many senders at once, cut anywhere, in any order, some fragments twice."""
    random = Random(seed)
    sent, waiting = {}, []
    for number in range(1, 80):
        sent[number], frames_ = cut_anywhere(random, number)
        waiting.append(frames_)
    data = []
    while waiting:
        data.append(random.choice(waiting).pop())
        waiting = [each for each in waiting if each]
    query = WHOLE + "SELECT srcPort, data_length, UDP_data FROM UDP"
    given = _run(tmp_path, _spaced(data, 1000), query)
    expected = [[str(port), str(len(text)), text.decode()] for port, text in sent.items()]
    assert sorted(given.rows["query"]) == sorted(expected)


def test_scapy_puts_the_same_together(tmp_path: Path) -> None:
    chosen = ("in order", "long", "tiny, ports apart", "of TCP", "of ICMP")
    data = [frame for name in chosen for frame in honest()[name]]
    query = WHOLE + "SELECT id, protocol, total_length FROM IPV4"
    rows = _run(tmp_path, _spaced(data), query).rows["query"]
    _, expected, _ = defrag([Ether(frame) for frame in data])
    assert sorted(rows) == sorted(
        [str(packet[IP].id), str(packet[IP].proto), str(len(packet[IP]))] for packet in expected
    )


@pytest.mark.parametrize("name", hostile())
def test_nothing_is_made_of_what_attacks(tmp_path: Path, name: str) -> None:
    data = hostile()[name]
    given = _run(tmp_path, _spaced(data))
    counts = _lfta(given)
    assert counts.fragments == len(data)
    assert (counts.datagrams, given.rows["query"]) == (name == "nested headers", [])


@pytest.mark.parametrize("more", [True, False])
def test_the_same_bytes_with_another_end_contradict(tmp_path: Path, more: bool) -> None:
    second = [_piece(1, 16, 16, more=more), _piece(1, 16, 16, more=not more)]
    counts = _lfta(_run(tmp_path, _spaced([*second, _piece(1, 0, 16)])))
    assert (counts.fragments_overlapping, counts.fragments_repeated) == (3, 0)


@pytest.mark.parametrize(("after_s", "datagrams"), [(30, 1), (31, 0)])
def test_time_is_the_packets(tmp_path: Path, after_s: int, datagrams: int) -> None:
    """Two packets must have reached it: one that lies does not end the waiting."""
    first, last = _piece(1, 0, 16), _piece(1, 16, 16, more=False)
    other = frames.ethernet(frames.ETHERTYPE_ARP, bytes(28))
    times = [(0, other), (0, other), (0, first), (10_000, other), (1, other), (after_s, other)]
    packets = [Packet(START_NS + at * SECOND_NS, each) for at, each in [*times, (after_s, last)]]
    counts = _lfta(_run(tmp_path, packets, QUERY.replace("timestamp, ", "")))
    assert counts.datagrams == datagrams
    assert counts.fragments_incomplete == (0 if datagrams else 2)


def test_a_silence_before_it_is_no_waiting(tmp_path: Path) -> None:
    pieces = [_piece(1, 0, 16), _piece(1, 16, 16, more=False), _piece(2, 0, 16)]
    other = frames.ethernet(frames.ETHERTYPE_ARP, bytes(28))
    late = START_NS + 3600 * SECOND_NS
    packets = [Packet(START_NS, other), Packet(START_NS, other)]
    packets += [Packet(late + at, piece) for at, piece in enumerate(pieces)]
    counts = _lfta(_run(tmp_path, [*packets, Packet(late + 3600 * SECOND_NS, other)]))
    assert (counts.datagrams, counts.fragments_incomplete) == (1, 1)


def test_a_flood_pushes_out_the_oldest(tmp_path: Path) -> None:
    flood = [_piece(at % 65_536, 0, 8, source=1 + at // 65_536) for at in range(5000)]
    honest_one = [_piece(7, 0, 16, source=9), _piece(7, 16, 16, more=False, source=9)]
    counts = _lfta(_run(tmp_path, _spaced([*honest_one[:1], *flood, *honest_one, *honest_one])))
    assert counts.datagrams == 2
    assert counts.fragments_no_room == 5001 - 4096 + 1
    assert counts.fragments_incomplete == 4095
    large = [_piece(at, 0, 65_000, source=3) for at in range(200)]
    counts = _lfta(_run(tmp_path, _spaced([*large, *honest_one])))
    assert counts.datagrams == 1
    assert counts.fragments_no_room + counts.fragments_incomplete == len(large)
    assert 0 < counts.fragments_incomplete < 4 * 2**20 // 65_000 + 1


def test_queries_beside_it_see_packets_as_they_are(tmp_path: Path) -> None:
    data = honest()["in order"]
    named = QUERY.replace("{", "{ query_name wholes;")
    text = f"DEFINE {{ query_name pieces; }} SELECT packet_id, offset FROM IPV4; {named}"
    given = run(plan_of(text), [source(_written(tmp_path, data))], Settings())
    assert len(given.rows["pieces"]) == len(data)
    assert len(given.rows["wholes"]) == 1
    assert [lfta.fragments for lfta in given.statistics.lftas] == [0, len(data)]


def _written(folder: Path, data: Sequence[bytes]) -> Path:
    path = folder / "written.pcap"
    path.write_bytes(pcap(_spaced(data), magic=NANOSECONDS))
    return path


def test_the_account_says_what_became_of_them(tmp_path: Path) -> None:
    path = _written(tmp_path, [*honest()["one of them twice"], *hostile()["teardrop"]])
    result = gigastream("run", "-e", QUERY, "-r", path, "-o", "csv")
    assert result.code == 0
    assert "decoded 8 - fragments 8 + datagrams 1 = " in result.err
    assert "fragments dropped: 2 overlapping, 2 repeated" in result.err

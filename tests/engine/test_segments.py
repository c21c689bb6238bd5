# SPDX-License-Identifier: Apache-2.0
"""Segments of TCP that come in order: as the oracle has them, within bounds, all counted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from gigastream.engine.statistics import OF_SEGMENTS, LftaStatistics
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from tests.answers.engine import Given, plan_of, run, source
from tests.answers.mixture import START_NS
from tests.capture.capture_files import enhanced, interface, option, section
from tests.cli.command import gigastream
from tests.engine.stepping import NOTHING, out_of
from tests.oracle.fragments import Datagrams
from tests.oracle.packet import Packet as OraclePacket
from tests.oracle.query import decode
from tests.oracle.rows import parse_csv, to_csv
from tests.oracle.segments import Segments, in_order
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap
from tests.strategies.segments import ACK, FIN, MODULUS, MS, SYN, Way, everything, stream

ORDERED = "DEFINE { tcp_order 'yes'; } "
QUERY = "SELECT packet_id, timestamp, sequence_number, TCP_data FROM TCP"
OF_IP = "SELECT packet_id, timestamp, ipversion, protocol, total_length FROM IP"
OPENED = "SELECT packet_id, outer_srcIP, outer_protocol, caplen, sequence_number, TCP_data FROM TCP"
CASES = (
    (QUERY, "TCP", ""),
    (OF_IP, "IP", ""),
    (OPENED, "TCP", "decapsulate 'all'; "),
    (QUERY, "TCP", "decapsulate 'all'; defragment 'yes'; "),
)
HALF_A_SECOND = 500 * MS


def _run(folder: Path, packets: Sequence[Packet], query: str = QUERY, burst: int = 256) -> Given:
    path = folder / "segments.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    text = query if query.startswith("DEFINE") else ORDERED + query
    return run(plan_of(text), [source(path)], Settings(burst=burst))


def _spaced(data: Sequence[bytes], step_ns: int = MS) -> list[Packet]:
    return [Packet(START_NS + at * step_ns, each) for at, each in enumerate(data)]


def _lfta(given: Given) -> LftaStatistics:
    (lfta,) = given.statistics.lftas
    return lfta


def _ids(given: Given) -> list[int]:
    return [int(row[0] or "") for row in given.rows["query"]]


def _columns(query: str) -> list[str]:
    return query.removeprefix("SELECT ").partition(" FROM")[0].split(", ")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("query", "protocol", "more"), CASES)
def test_what_comes_at_random_is_as_the_oracle_has_it(
    tmp_path: Path, seed: int, query: str, protocol: str, more: str
) -> None:
    packets = everything(seed, START_NS)
    text = f"DEFINE {{ tcp_order; {more}}} {query}"
    given = _run(tmp_path, packets, text, burst=(1, 7, 256)[seed % 3])
    segments, columns = Segments(), _columns(query)
    datagrams = Datagrams() if "defragment" in more else None
    layers = decode(tmp_path / "segments.pcap").layers
    seen = in_order(layers, "all" if more else "", segments, datagrams)
    tuples = [found for found in (each.as_protocol(protocol) for each in seen) if found]
    rows = [tuple(each[name] for name in columns) for each in tuples if _has(each, columns)]
    assert given.rows["query"] == parse_csv(to_csv(tuple(columns), rows))[1]
    counts = _lfta(given)
    assert {name: getattr(counts, name) for name in OF_SEGMENTS} == {
        name: segments.counts[name] for name in OF_SEGMENTS
    }
    assert counts.decoded == len(packets)


def _has(packet: OraclePacket, columns: Sequence[str]) -> bool:
    return all(name in packet for name in columns)


def test_no_packet_is_lost_or_given_twice(tmp_path: Path) -> None:
    packets = everything(99, START_NS)
    given = _run(tmp_path, packets, ORDERED + "SELECT packet_id FROM PKT")
    assert sorted(_ids(given)) == list(range(len(packets)))


def test_the_stream_is_read_as_it_was_sent(tmp_path: Path) -> None:
    """Backwards within two seconds, and around the end of the numbers."""
    sent = stream(Way(1), MODULUS - 900, [300] * 6)
    assert _ids(_run(tmp_path, _spaced([sent[0], *sent[:0:-1]]))) == [0, *range(7, 0, -1)]


def test_windows_of_rows_count_them_in_this_order(tmp_path: Path) -> None:
    sent = stream(Way(1), 5, [300] * 6)
    text = "SELECT window_end, sum(packet_id) FROM TCP [RANGE 2 ROWS, SLIDE 2 ROWS]"
    given = _run(tmp_path, _spaced([sent[0], *sent[:0:-1]]), text)
    assert [row[1] for row in given.rows["query"]] == ["7", "11", "7", "3"]


@pytest.mark.parametrize(("after_ms", "waits"), [(2000, True), (2001, False)])
def test_time_is_the_packets(tmp_path: Path, after_ms: int, waits: bool) -> None:
    """Two packets must have reached it: one that lies does not end the waiting."""
    first, missing, ahead = stream(Way(1), 0, [10])[:3]
    other = Way(2).frame(5)
    times = [(0, other), (0, first), (0, ahead), (10**7, other), (1, other), (after_ms, other)]
    packets = [Packet(START_NS + at * MS, each) for at, each in [*times, (after_ms, missing)]]
    given = _run(tmp_path, packets)
    assert _lfta(given).gaps_waited == (not waits)
    assert _ids(given) == ([0, 1, 3, 4, 5, 6, 2] if waits else [0, 1, 3, 4, 5, 2, 6])


def test_a_silence_before_it_is_no_part_of_its_waiting(tmp_path: Path) -> None:
    first, missing, ahead = stream(Way(1), 0, [10])[:3]
    times = [(0, first), (10_000, ahead), (10_001, Way(2).frame(5)), (10_002, missing)]
    packets = [Packet(START_NS + at * MS, each) for at, each in times]
    assert _ids(_run(tmp_path, packets)) == [0, 2, 3, 1]


def test_punctuation_waits_for_what_is_held(tmp_path: Path) -> None:
    """No window is closed before what is held has come to it, and every one is closed."""
    first, missing, ahead = stream(Way(1), 0, [10])[:3]
    ticks = [Packet(START_NS + at * HALF_A_SECOND, Way(2).frame(5)) for at in range(2, 40)]
    packets = [Packet(START_NS, first), Packet(START_NS + HALF_A_SECOND, ahead), *ticks]
    packets.insert(5, Packet(packets[4].timestamp_ns, missing))
    path = tmp_path / "segments.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    text = ORDERED + "SELECT tb, count(*) FROM TCP GROUP BY time AS tb"
    for settings in (Settings(slack_ns=0), Settings(disorder_bytes=1), Settings()):
        given = run(plan_of(text), [source(path)], settings)
        assert [int(row[1] or "") for row in given.rows["query"]] == [2, 2, 3, *[2] * 17]
        assert given.statistics.sources[0].late == 0


@pytest.mark.parametrize("seed", range(6))
def test_no_row_is_below_what_was_promised_before_it(tmp_path: Path, seed: int) -> None:
    """Nor does it matter in which bursts packets are read."""
    path, found = tmp_path / "segments.pcap", []
    path.write_bytes(pcap(everything(seed, START_NS), magic=NANOSECONDS))
    plan = plan_of(ORDERED + "SELECT timestamp, packet_id FROM TCP")
    for burst, more in product((1, 5, 256), ({"slack_ns": 0}, {"disorder_bytes": 600})):
        settings = Settings(burst=burst, output_punctuation=True, **more)  # type: ignore[arg-type]
        promised, rows = NOTHING, []
        with Session(plan, [source(path)], settings) as session:
            for out in (out_of(event.query, event.batch) for event in session.batches()):
                times = [row[0].value for row in out.rows]
                assert all(time >= promised for time in times)
                promised = out.bounds[0]
                rows += out.rows
        found.append(rows)
    assert found[0]
    assert found[0] == found[2] == found[4]
    assert found[1] == found[3] == found[5]


def test_what_a_filter_drops_tells_the_time(tmp_path: Path) -> None:
    """Wherever a burst ends, and whether the timer fires meanwhile or not."""
    first, missing, ahead = stream(Way(1), 0, [10])[:3]
    dropped = frames.ethernet(frames.ETHERTYPE_IPV4, frames.ipv4(1, 2, frames.UDP, b""))
    path, found = tmp_path / "segments.pcap", []
    data = _spaced([first, ahead, *[dropped] * 60, missing], 100 * MS)
    path.write_bytes(pcap(data, magic=NANOSECONDS))
    plan = plan_of(ORDERED + "SELECT packet_id FROM TCP")
    for burst, heartbeat_ns in product((1, 256), (0, 10**9)):
        settings = Settings(burst=burst, heartbeat_ns=heartbeat_ns, slack_ns=0, filter="tcp")
        found.append(_ids(run(plan, [source(path)], settings)))
    assert found == [[0, 1, 62]] * 4


def test_another_connection_lets_the_first_one_go(tmp_path: Path) -> None:
    way = Way(1)
    first = [way.frame(0, flags=SYN), way.frame(9, b"too early")]
    second = [way.frame(5 * 10**8, flags=SYN), way.frame(5 * 10**8 + 1, b"x", FIN | ACK)]
    given = _run(tmp_path, _spaced([*first, *second]))
    assert (_ids(given), _lfta(given).gaps_ended) == ([0, 1, 2, 3], 1)
    far = _spaced([way.frame(0, b"x"), way.frame(2**31 - 1, b"x"), way.frame(1, b"x")])
    given = _run(tmp_path, far)
    assert (_ids(given), _lfta(given).segments_held) == ([0, 1, 2], 0)


def test_a_flood_of_connections_forgets_those_that_are_silent(tmp_path: Path) -> None:
    begun, _, ahead = stream(Way(0), 0, [10])[:3]
    flood = [Way(number).frame(0, flags=SYN) for number in range(1, 33_000)]
    given = _run(tmp_path, _spaced([begun, ahead, *flood], 1000), "SELECT packet_id FROM TCP")
    counts = _lfta(given)
    assert counts.directions_forgotten == 33_000 - 32_768
    assert (counts.gaps_no_room, counts.gaps_ended) == (1, 0)
    assert sorted(_ids(given)) == list(range(len(flood) + 2))


@pytest.mark.parametrize(("ways", "size"), [(1, 1), (20, 1), (20, 1400), (3, 40_000)])
def test_a_flood_that_is_ahead_makes_the_oldest_go_on(tmp_path: Path, ways: int, size: int) -> None:
    """Of a direction, of segments, of bytes there are so many, and no more."""
    data = [Way(way).frame(0, flags=SYN) for way in range(ways)]
    for at in range(18_000 if size == 1 else 12_000 if size == 1400 else 400):
        data.append(Way(at % ways).frame(10 + at * 2 * size, bytes(size)))
    given = _run(tmp_path, _spaced(data, 1000), "SELECT packet_id, TCP_data FROM TCP")
    counts = _lfta(given)
    assert counts.gaps_no_room > 0
    assert sorted(_ids(given)) == list(range(len(data)))
    assert counts.gaps_no_room + counts.gaps_ended == counts.segments_held
    most = min(2048 * ways, 16_384, 32_768 * 252 // (size + 54))
    assert counts.gaps_ended <= most


def test_the_interface_is_that_of_the_packet(tmp_path: Path) -> None:
    """Held beyond the section that names it, and given with packets of another source."""
    first, missing, ahead = stream(Way(1), 0, [10])[:3]
    sections = [("a", "b", first, ahead), ("c", "d", Way(2).frame(0), missing)]
    written = b"".join(
        section()
        + b"".join(interface(options=option(2, name.encode())) for name in (one, other))
        + b"".join(enhanced(at, data, index=at) for at, data in enumerate(data))
        for one, other, *data in sections
    )
    path, plain = tmp_path / "sections.pcapng", tmp_path / "plain.pcap"
    path.write_bytes(written)
    plain.write_bytes(pcap([Packet(0, Way(3).frame(0))], magic=NANOSECONDS))
    text = ORDERED + "SELECT interface, sequence_number FROM TCP"
    given = run(plan_of(text), [source(path), source(plain)], Settings())
    names = {(row[0], row[1]) for row in given.rows["query"]}
    assert names == {("a", "0"), ("c", "0"), ("d", "1"), ("b", "11"), ("default", "0")}


def test_a_filter_join_goes_by_the_order_that_it_sees(tmp_path: Path) -> None:
    way = Way(1)
    packets = _spaced([way.frame(0, b"a"), way.frame(2, b"cd"), way.frame(1, b"b")])
    text = """SELECT r.packet_id FILTER_JOIN(time, 5) FROM TCP r, TCP s
        WHERE r.srcPort = s.srcPort AND s.data_length = 2"""
    assert _ids(_run(tmp_path, packets, "DEFINE { tcp_order 'no'; } " + text)) == [2]
    assert _ids(_run(tmp_path, packets, text)) == []


def test_queries_beside_it_see_packets_as_they_come(tmp_path: Path) -> None:
    first, missing, ahead = stream(Way(1), 0, [10])[:3]
    as_they_come = "DEFINE { query_name come; } SELECT packet_id FROM TCP; "
    text = as_they_come + QUERY.replace("SELECT", "DEFINE { query_name query; tcp_order; } SELECT")
    given = _run(tmp_path, _spaced([first, ahead, missing]), text)
    assert given.rows["come"] == [["0"], ["1"], ["2"]]
    assert _ids(given) == [0, 2, 1]
    assert [lfta.segments for lfta in given.statistics.lftas] == [0, 3]


def test_the_account_says_what_became_of_them(tmp_path: Path) -> None:
    first, missing, ahead = stream(Way(1), 0, [10])[:3]
    path = tmp_path / "segments.pcap"
    path.write_bytes(pcap(_spaced([first, ahead, missing, missing, Way(1).frame(99)])))
    result = gigastream("run", "-e", ORDERED + QUERY, "-r", path, "-o", "csv")
    assert result.code == 0
    expected = "TCP in order: held 2 of 5, repeated 1; gaps given up: 1 at an end"
    assert expected in result.err

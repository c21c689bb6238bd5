# SPDX-License-Identifier: Apache-2.0
"""An LFTA that decodes for itself gives what it gives behind the decoder: rows, order, counters."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

from gigastream.codegen.query_set import generate
from gigastream.engine.batch import EngineError
from gigastream.engine.statistics import Statistics
from gigastream.plan import Plan
from gigastream.settings import Settings
from gigastream.sources.files import SourceError
from tests.answers.engine import plan_of, run, source
from tests.captures import capture_id, captures
from tests.engine.odd_packets import START_NS, cut_packets, jumping_packets, straggling_packets
from tests.engine.pcapng_forms import pcapng_forms
from tests.strategies import frames as f
from tests.strategies.files import MODIFIED, NANOSECONDS, Packet, pcap, pcapng

QUERIES = {
    "ipv4": "SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS b, min(ttl) AS t, "
    "max(total_length) AS l FROM IPV4 GROUP BY time/60 AS tb, srcIP, destIP",
    "ipv6": "SELECT tb, srcIP, flow_label, count(*) AS n, sum(caplen) AS b FROM IPV6 "
    "GROUP BY time AS tb, srcIP, flow_label",
    "tcp": "SELECT tb, srcIP, destIP, destPort, count(*) AS n, sum(data_length) AS b, "
    "min(window) AS w FROM TCP WHERE syn = 1 OR ack = 1 GROUP BY time/5 AS tb, srcIP, destIP, "
    "destPort",
    "udp": "SELECT tb, srcPort, destPort, count(*) AS n, sum(data_length) AS b FROM UDP "
    "WHERE destPort > 52 AND len < 1300 GROUP BY time/60 AS tb, srcPort, destPort",
    "narrowed": "SELECT tb, srcIP, count(*) AS n FROM DataProtocol WHERE ipversion = 4 AND "
    "srcPort < 1024 GROUP BY time/60 AS tb, srcIP",
    "ip": "SELECT tb, ipversion, protocol, hdr_length, tos, count(*) AS n, sum(ttl) AS t FROM IP "
    "GROUP BY time/60 AS tb, ipversion, protocol, hdr_length, tos",
    "fragments": "SELECT time, srcIP, offset, id FROM IPV6 WHERE offset >= 0",
    "icmp": "SELECT time, icmp_type, icmp_code, srcIP FROM ICMP",
    "eth": "SELECT tb, etherType, vlan, inner_vlan, srcMAC, count(*) AS n FROM ETH "
    "GROUP BY time/60 AS tb, etherType, vlan, inner_vlan, srcMAC",
    "pkt": "SELECT tb, count(*) AS n, sum(len) AS b, max(caplen) AS c FROM PKT "
    "GROUP BY time/10 AS tb",
    "payload": "SELECT time, srcIP, length(TCP_data) AS l FROM TCP WHERE srcPort <> 80",
    "placed": "SELECT packet_id, timestamp, len FROM UDP",
    "two": "DEFINE { query_name a; } SELECT tb, srcIP, count(*) AS n FROM IPV4 "
    "GROUP BY time/60 AS tb, srcIP; DEFINE { query_name b; } SELECT time, destPort FROM TCP",
}
ALONE = QUERIES.keys() - {"two"}
FRAMES = ALONE - {"placed"}
BASE = Settings(hash_key=(0x1234567 | 1, 0x89ABCDEF01 | 1), slots=64, disorder_bytes=4096)
BLOCKS = (4096, 1 << 15)
"""Bytes: few bursts lie within one of the small blocks and are taken as frames; nearly all within
one of the others, of which there are some in a file."""


def _answer(plan: Plan, path: Path, settings: Settings) -> tuple[Any, ...]:
    try:
        given = run(plan, [source(path)], settings)
    except (EngineError, SourceError) as refused:
        return (str(refused),)
    return given.rows, _counted(given.statistics, settings)


def _counted(statistics: Statistics, settings: Settings) -> tuple[Any, ...]:
    """All that is counted, but memory, and how many bytes a run that is broken off read ahead."""
    operators = [(o.name, o.rows_in, o.rows_out, o.rejected) for o in statistics.operators]
    lftas = [replace(lfta, held_bytes=0, peak_bytes=0) for lfta in statistics.lftas]
    sources = list(statistics.sources)
    if settings.packets_max is not None:
        sources = [replace(source, bytes=0) for source in sources]
    return sources, lftas, operators


def _assert_same(query: str, path: Path, settings: Settings = BASE) -> None:
    plan = plan_of(QUERIES[query])
    for block in BLOCKS if settings.disorder_bytes else (0,):
        fast = _answer(plan, path, replace(settings, disorder_bytes=block))
        ahead = _answer(plan, path, replace(settings, disorder_bytes=block, fast_path=False))
        assert fast == ahead


def test_what_lags_is_of_its_block(tmp_path: Path) -> None:
    """The least time of a block counts, though records have been passed over together."""
    path = _file(tmp_path, pcap(straggling_packets()))
    settings = replace(BASE, disorder_bytes=BLOCKS[1])
    (read,) = run(plan_of(QUERIES["pkt"]), [source(path)], settings).statistics.sources
    assert (read.read, read.late) == (4000, 0)


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "made.pcap"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("query", sorted(QUERIES))
def test_generated_code_decodes_where_it_is_alone(query: str) -> None:
    text = generate(plan_of(QUERIES[query]))
    assert ("gs_burst_packet(" in text) == (query in ALONE)
    assert (".takes_frames = true" in text) == (query in FRAMES)
    assert (".walks = GS_WALKS" in text) == (query in FRAMES)
    ahead = generate(replace(plan_of(QUERIES[query]), is_fused=False))
    assert "gs_burst_packet(" not in ahead
    assert ".takes_frames = true" not in ahead


@pytest.mark.parametrize("query", sorted(QUERIES))
@pytest.mark.parametrize("make", [cut_packets, jumping_packets, straggling_packets])
def test_made_packets(query: str, make: Any, tmp_path: Path) -> None:
    _assert_same(query, _file(tmp_path, pcap(make())))


SETTINGS = [
    replace(BASE, burst=1),
    replace(BASE, burst=256, use_mmap=True),
    replace(BASE, slack_ns=0),
    replace(BASE, slack_ns=10**9, heartbeat_packets=7),
    replace(BASE, slack_ns=20 * 10**9, heartbeat_ns=0, slots=4096, flush="slow_inorder"),
    replace(BASE, heartbeat_packets=300, batch_rows=1),
    replace(BASE, disorder_bytes=0, heartbeat_ns=0),
    replace(BASE, flush="immediate"),
    replace(BASE, flush="slow_inorder"),
    replace(BASE, flush="lazy"),
    replace(BASE, filter="udp or ip6"),
    replace(BASE, packets_max=1000),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
@pytest.mark.parametrize("make", [cut_packets, jumping_packets])
def test_settings(settings: Settings, make: Any, tmp_path: Path) -> None:
    path = _file(tmp_path, pcap(make()))
    for query in ("ipv4", "udp", "pkt"):
        _assert_same(query, path, settings)


def _records(packets: list[Packet]) -> dict[str, bytes]:
    """Files whose records can be taken as frames."""
    return {
        "microseconds": pcap(packets),
        "swapped": pcap(packets, order=">"),
        "nanoseconds": pcap(packets, magic=NANOSECONDS),
        "swapped nanoseconds": pcap(packets, magic=NANOSECONDS, order=">"),
        "modified": pcap(packets, magic=MODIFIED),
        "swapped modified": pcap(packets, magic=MODIFIED, order=">"),
        "pcapng": pcapng(packets),
        "swapped pcapng": pcapng(packets, order=">"),
    }


def _forms(packets: list[Packet]) -> dict[str, bytes]:
    whole = pcap(packets)
    return _records(packets) | {
        **pcapng_forms(packets),
        "raw": pcap(packets, link_type=101),
        "cooked": pcap(packets, link_type=113),
        "cut": whole[:-3],
        "cut in a header": whole[: -len(packets[-1].data) - 3] if packets else whole,
        "damaged": whole[:9000] + b"\xff" * 64 + whole[9064:],
    }


@pytest.mark.parametrize("form", sorted(_forms([])))
def test_forms_of_files(form: str, tmp_path: Path) -> None:
    for make in (cut_packets, jumping_packets):
        path = _file(tmp_path, _forms(make())[form])
        for query in ("ipv4", "tcp", "eth"):
            _assert_same(query, path)


def _bytes_read(path: Path, settings: Settings) -> int:
    (read,) = run(plan_of(QUERIES["ipv4"]), [source(path)], settings).statistics.sources
    return read.bytes


@pytest.mark.parametrize("form", sorted(_records([])))
def test_frames_are_taken_where_they_lie(form: str, tmp_path: Path) -> None:
    """Who takes frames has read no further than it has taken; else records are read ahead."""
    packets, taken = cut_packets(), 900
    path = _file(tmp_path, _records(packets)[form])
    settings = replace(BASE, disorder_bytes=1 << 20, packets_max=taken)
    read = len(_records(packets[:taken])[form])
    assert _bytes_read(path, settings) == read
    assert _bytes_read(path, replace(settings, fast_path=False)) > read
    assert _bytes_read(path, replace(settings, filter="ether[0] >= 0")) > read


def test_frames_are_taken_up_to_where_time_advances(tmp_path: Path) -> None:
    """A heartbeat each ten packets ends a burst, and the one that brings it begins the next."""
    data, taken = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(1, 2, f.UDP, f.udp(1, 2))), 905
    packets = [Packet(START_NS + at * 10**8, data, None) for at in range(2 * taken)]
    path = _file(tmp_path, pcap(packets))
    settings = replace(BASE, disorder_bytes=1 << 20, packets_max=taken)
    assert _bytes_read(path, settings) == len(pcap(packets[:taken]))
    for slack in (None, 0, 3 * 10**8):
        _assert_same("ipv4", path, replace(settings, slack_ns=slack, packets_max=None))


@pytest.mark.parametrize("use_mmap", [True, False])
def test_windows_over_a_file(use_mmap: bool, tmp_path: Path) -> None:
    """Records over the ends of the parts in which a file is read, and longer than most."""
    data = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(1, 2, f.UDP, f.udp(1, 2)))
    sizes = [262_000 if at % 2000 == 999 else 60 + at % 900 for at in range(9000)]
    packets = [
        Packet(START_NS + at * 10**6, data.ljust(size, b"."), 60 + at % 900)
        for at, size in enumerate(sizes)
    ]
    path = _file(tmp_path, pcap(packets))
    for query in ("ipv4", "payload", "pkt"):
        _assert_same(query, path, replace(BASE, use_mmap=use_mmap))


def test_frames_are_taken_until_another_file_is_due(tmp_path: Path) -> None:
    """Which is opened where packets of its time have come, however many a burst has."""
    packets, taken = cut_packets(), 900
    first, second = tmp_path / "first.pcap", tmp_path / "second.pcap"
    first.write_bytes(pcap(packets))
    for due, is_opened in ((packets[-1], False), (packets[taken // 2], True)):
        second.write_bytes(pcap([replace(due, timestamp_ns=due.timestamp_ns + 1)]))
        settings = replace(BASE, disorder_bytes=1 << 20, packets_max=taken)
        given = run(plan_of(QUERIES["ipv4"]), [source(first), source(second)], settings)
        read = [counted.read for counted in given.statistics.sources]
        assert read == [taken - is_opened, is_opened]
        if not is_opened:
            assert given.statistics.sources[0].bytes == len(pcap(packets[:taken]))


BORDERS = st.lists(st.integers(0, 400), min_size=1, max_size=3).map(sorted)


@given(
    borders=BORDERS,
    reach=st.sampled_from([0, 1, 40]),
    is_dealt=st.booleans(),
    names=st.permutations(range(4)),
    slack_ns=st.sampled_from([None, 0, 10**9]),
)
@tried(max_examples=60)
def test_any_files(
    tmp_path_factory: pytest.TempPathFactory,
    borders: list[int],
    reach: int,
    is_dealt: bool,
    names: list[int],
    slack_ns: int | None,
) -> None:
    """Parts of a capture that reach into the next one, or beside one another."""
    packets, ends = jumping_packets()[:400], [0, *borders, 400]
    parts = [packets[begin : end + reach] for begin, end in pairwise(ends)]
    if is_dealt:
        parts = [packets[at :: len(parts)] for at in range(len(parts))]
    folder = tmp_path_factory.mktemp("parts")
    for name, part in zip(names, parts, strict=False):
        (folder / f"{name}.pcap").write_bytes(pcap(part))
    sources = [source(path) for path in sorted(folder.iterdir())]
    own = replace(BASE, slack_ns=slack_ns, disorder_bytes=BLOCKS[1])
    for query in ("ipv4", "payload", "pkt"):
        plan = plan_of(QUERIES[query])
        fast, ahead = (run(plan, sources, replace(own, fast_path=fast)) for fast in (True, False))
        assert fast.rows == ahead.rows
        assert _counted(fast.statistics, own) == _counted(ahead.statistics, own)


def test_files_one_after_another_and_beside_one_another(tmp_path: Path) -> None:
    """Frames are taken where one is open alone."""
    packets = jumping_packets()
    parts = {
        "first": packets[:1000],
        "beside": packets[700:2500:3],
        "last": packets[1500:],
    }
    for name, part in parts.items():
        (tmp_path / name).write_bytes(pcap(part))
    for query in ("ipv4", "udp", "pkt"):
        plan = plan_of(QUERIES[query])
        for interfaces in (("default",) * 3, ("default", "other", "default")):
            sources = [source(tmp_path / n, i) for n, i in zip(parts, interfaces, strict=True)]
            settings = replace(BASE, disorder_bytes=BLOCKS[1])
            fast = run(plan, sources, settings)
            ahead = run(plan, sources, replace(settings, fast_path=False))
            assert fast.rows == ahead.rows
            assert _counted(fast.statistics, settings) == _counted(ahead.statistics, settings)


def test_a_link_that_a_frame_does_not_tell(tmp_path: Path) -> None:
    """What is read of a raw link is not read as Ethernet."""
    packets = [Packet(p.timestamp_ns, p.data[14:], p.length) for p in jumping_packets()]
    path = _file(tmp_path, pcap(packets, link_type=101))
    _assert_same("ipv4", path)
    rows, _ = _answer(plan_of(QUERIES["ipv4"]), path, BASE)
    assert len(rows["query"]) > 100


@pytest.mark.parametrize(
    "capture", captures("good", "hostile", "broken", "ng-odd", "empty"), ids=capture_id
)
def test_real_captures(capture: Path) -> None:
    """Each with some of the queries: together they meet every kind of packet with each."""
    names = sorted(QUERIES)
    first = sum(capture.name.encode()) % len(names)
    for query in (names[first], names[(first + 5) % len(names)]):
        _assert_same(query, capture)

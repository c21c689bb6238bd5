# SPDX-License-Identifier: Apache-2.0
"""The ring's blocks, walked by the code that walks real ones: all that came in is accounted for."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from gigastream.engine.batch import EngineError
from gigastream.engine.events import Event
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from tests.engine.stepping import plan_of
from tests.live.mock_link import SECOND_NS, START_NS, Frame, MockLink, MockSession, frame
from tests.strategies.files import NANOSECONDS, Packet, pcap

EACH = """SELECT timestamp, len, caplen, packet_id, srcMAC, destMAC, etherType, vlan
FROM ETH"""
SETTINGS = Settings(hash_key=(1, 2))


def random_frames(seed: int, count: int) -> list[Frame]:
    """Frames of all sizes, some cut, some with one tag or two; in order of time."""
    rng = random.Random(seed)
    found, timestamp = [], START_NS
    for _ in range(count):
        timestamp += rng.randrange(1_000_000)
        data = rng.randbytes(12) + rng.choice([b"\x08\x00", b"\x81\x00", b"\x88\xb5"])
        data += rng.randbytes(rng.choice([0, 4, 46, 200, 1486]))
        tag = rng.choice([None, None, (0x8100, rng.randrange(1 << 16)), (0x88A8, 5)])
        found.append(Frame(timestamp, data, len(data) + rng.choice([0, 0, 9]), tag))
    return found


def answer_of_a_file(frames: list[Frame], folder: Path) -> bytes:
    tag_bytes = [0 if one.tag is None else 4 for one in frames]
    packets = [
        Packet(one.timestamp_ns, one.on_the_wire, one.length + more)
        for one, more in zip(frames, tag_bytes, strict=True)
    ]
    path = folder / "frames.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    with Session(plan_of(EACH), [FileSource("default", str(path))], SETTINGS) as session:
        return b"".join(e.batch.csv() for e in session.batches() if e.batch.row_count)


@pytest.mark.parametrize("seed", range(8))
def test_frames_are_those_of_a_file(seed: int, tmp_path: Path) -> None:
    """Tags are where they were on the wire, and nothing else is touched."""
    frames = random_frames(seed, 500)
    link = MockLink(block_bytes=1 << (12 + seed % 3), block_count=4)
    text = b""
    with MockSession(plan_of(EACH, ["link"]), [link.source()], SETTINGS) as session:
        session.set_clock(0)
        for one in frames:
            assert link.receive(one) == 1
            if random.Random(one.timestamp_ns).random() < 0.1:
                link.retire()
            text += session.csv()
        session.finish()
        text += session.csv()
        counted = session.source()
    assert text == answer_of_a_file(frames, tmp_path)
    assert (counted.read, counted.decoded, counted.kernel_received) == (500, 500, 500)


@pytest.mark.parametrize("seed", range(8))
def test_what_finds_no_room_is_counted(seed: int) -> None:
    """Received = read + dropped, whenever the reader comes; it recovers by itself."""
    rng, link = random.Random(seed), MockLink(block_count=2 + seed % 4)
    plan = plan_of("SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb", ["link"])
    sent = kept = 0
    with MockSession(plan, [link.source()], SETTINGS) as session:
        session.set_clock(0)
        rows = session.rows()
        for step in range(60):
            sizes = [rng.randrange(14, 1500) for _ in range(rng.randrange(40))]
            burst = [frame(START_NS + step, size) for size in sizes]
            sent += len(burst)
            kept += link.receive(*burst)
            if rng.random() < 0.4:
                rows += session.rows()
        rows += session.end()
        counted = session.source()
    assert 0 < kept < sent
    assert sum(n for _, n in rows) == kept == counted.read
    assert (counted.kernel_received, counted.kernel_dropped) == (sent, sent - kept)
    assert counted.freezes > 0


def test_a_ring_recovers_without_a_trace() -> None:
    link = MockLink(block_count=2)
    plan = plan_of("SELECT timestamp, packet_id FROM PKT", ["link"])
    with MockSession(plan, [link.source()], SETTINGS) as session:
        session.set_clock(0)
        while link.receive(frame(START_NS, 1000)):
            pass
        dropped_before = 1
        first = len(session.rows())
        assert link.receive(*(frame(START_NS, 100) for _ in range(5))) == 5
        assert [row[1] for row in session.end()] == [first + at for at in range(5)]
        assert session.source().kernel_dropped == dropped_before


@pytest.mark.parametrize("field", ["first packet", "frame", "captured length"])
def test_a_block_that_lies_is_an_error_and_nothing_is_read_beyond_it(field: str) -> None:
    link = MockLink(block_bytes=1 << 12)
    plan = plan_of("SELECT timestamp, packet_id FROM PKT", ["link"])
    with MockSession(plan, [link.source()], SETTINGS) as session:
        session.set_clock(0)
        session.rows()
        link.receive(frame(START_NS))
        block = link.open_block(1 << 12)
        (first,) = struct.unpack_from("=I", block, 16)
        places = {"first packet": (16, "=I"), "frame": (first + 24, "=H")}
        place, form = places.get(field, (first + 12, "=I"))
        struct.pack_into(form, block, place, 0xFFFF if form == "=H" else 1 << 30)
        link.retire()
        with pytest.raises((EngineError, SourceError), match="damaged"):
            session.rows()


def test_the_state_of_the_link_is_told() -> None:
    link = MockLink()
    plan = plan_of("SELECT timestamp, packet_id FROM PKT", ["link"])
    with MockSession(plan, [link.source()], SETTINGS) as session:
        seen = []
        for second, state in enumerate([1, 2, 3, 1]):
            link.set_state(state)
            session.set_clock(second * 10**9)
            session.rows()
            seen.append(session.source().link)
    assert seen == ["up", "down", "gone", "up"]


def test_a_link_that_is_lost_ends_when_it_is_read() -> None:
    link = MockLink()
    plan = plan_of("SELECT timestamp, packet_id FROM PKT", ["link"])
    with MockSession(plan, [link.source()], SETTINGS) as session:
        link.receive(frame(START_NS), frame(START_NS + 1))
        link.retire()
        link.set_state(4)
        session.set_clock(10**9)
        assert len([row for event in session.batches() for row in out_of_event(event)]) == 2
        assert session.source().link == "lost"
        assert session.source().read == 2


def out_of_event(event: Event) -> list[bytes]:
    return event.batch.csv().splitlines()


def test_the_account_adds_up_at_any_time() -> None:
    """The kernel is asked now and then: what was read since, and what was not, is in its count."""
    link, found = MockLink(), []
    with MockSession(plan_of(EACH, ["link"]), [link.source()], SETTINGS) as session:

        def note() -> None:
            source = session.source()
            found.append((source.kernel_received, source.read, source.unread))

        session.set_clock(0)
        session.rows()
        link.receive(*(frame(START_NS) for _ in range(3)))
        link.retire()
        session.rows()
        note()
        link.receive(*(frame(START_NS) for _ in range(2)))
        session.set_clock(2 * SECOND_NS)
        session.rows()
        note()
        session.end()
        note()
    assert found == [(3, 3, 0), (5, 3, 2), (5, 5, 0)]

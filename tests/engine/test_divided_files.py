# SPDX-License-Identifier: Apache-2.0
"""Threads that divide several capture files give the answer and the account of one."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from gigastream.sessions.divided_session import DividedSession, why_undivided
from gigastream.sessions.replay import open_divided
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from tests.answers.engine import plan_of
from tests.answers.paths import side_by_side
from tests.engine.divided_queries import TEXTS
from tests.engine.odd_packets import cut_packets, jumping_packets, straggling_packets
from tests.engine.traffic import streams
from tests.engine.whole_runs import told
from tests.strategies.files import Packet, pcap, pcapng

SHAPES = ((2, 300), (5, 9_000))
"""Of sessions: threads, and bytes of an extent; less than some records, and many."""
BASE = Settings(slots=64, disorder_bytes=4096)
Cut = Callable[[list[Packet]], list[list[Packet]]]


def _rotated(packets: list[Packet]) -> list[list[Packet]]:
    """As a capture that begins a new file now and then; the newest is named first."""
    size = len(packets) // 5 + 1
    return [packets[at : at + size] for at in range(0, len(packets), size)][::-1]


def _of_two_taps(packets: list[Packet]) -> list[list[Packet]]:
    return [packets[0::2], packets[1::2]]


def _sparse(packets: list[Packet]) -> list[list[Packet]]:
    """One has few packets beside all others; one has none, one a single one."""
    few = packets[3::40]
    return [[], few, [p for at, p in enumerate(packets) if at % 40 != 3], packets[:1]]


def _overlapping(packets: list[Packet]) -> list[list[Packet]]:
    third = len(packets) // 3
    mixed = packets[third : 2 * third]
    return [packets[:third] + mixed[0::2], mixed[1::2] + packets[2 * third :]]


def _twice(packets: list[Packet]) -> list[list[Packet]]:
    return [packets, packets]


CUTS: Sequence[Cut] = (_rotated, _of_two_taps, _sparse, _overlapping, _twice)


def _written(folder: Path, parts: Sequence[list[Packet]]) -> list[FileSource]:
    """Of both formats."""
    sources = []
    for number, packets in enumerate(parts):
        path = folder / f"{number}.pcap"
        path.write_bytes((pcapng if number % 3 == 2 else pcap)(packets))
        sources.append(FileSource("default", str(path)))
    return sources


def _assert_same(
    plan: Plan,
    sources: Sequence[FileSource],
    own: Settings = BASE,
    shapes: Sequence[tuple[int, int]] = SHAPES,
) -> None:
    alone = told(plan, Session(plan, sources, own))
    for jobs, extent_bytes in shapes:
        many = replace(own, jobs=jobs)
        assert why_undivided(plan, sources, many) is None
        session = open_divided(plan, sources, many, extent_bytes=extent_bytes)
        assert told(plan, side_by_side(session)) == alone


MAKERS = (cut_packets, jumping_packets, straggling_packets)


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__.strip("_"))
@pytest.mark.parametrize("make", MAKERS)
def test_made_packets(cut: Cut, make: Callable[[], list[Packet]], tmp_path: Path) -> None:
    _assert_same(plan_of(TEXTS["parts"]), _written(tmp_path, cut(make())))


@pytest.mark.parametrize("text", sorted(TEXTS))
def test_every_kind_of_plan(text: str, tmp_path: Path) -> None:
    """With one high level for all, or with one for each's groups."""
    _assert_same(plan_of(TEXTS[text]), _written(tmp_path, _sparse(straggling_packets())))


@pytest.mark.parametrize(
    "own",
    [
        Settings(burst=1, batch_rows=1, slots=1, disorder_bytes=1),
        Settings(fast_path=False, flush="slow_inorder", batch_rows=3, disorder_bytes=100),
        Settings(slack_ns=0, slots=64),
        Settings(slots=64, disorder_bytes=0),
    ],
    ids=["one at a time", "slow in order", "no slack", "all disorder"],
)
def test_settings(own: Settings, tmp_path: Path) -> None:
    sources = _written(tmp_path, _overlapping(jumping_packets()))
    _assert_same(plan_of(TEXTS["pairs"]), sources, own)


@settings(max_examples=30)
@given(
    packets=streams(max_packets=60),
    borders=st.lists(st.integers(0, 60), min_size=1, max_size=3),
    disorder_bytes=st.sampled_from([0, 100, 700, 1 << 20]),
    slack_ns=st.sampled_from([None, 0, 10**9]),
    extent_bytes=st.integers(1, 900),
    is_dealt=st.booleans(),
)
def test_any_files(
    tmp_path_factory: pytest.TempPathFactory,
    packets: list[Packet],
    borders: list[int],
    disorder_bytes: int,
    slack_ns: int | None,
    extent_bytes: int,
    is_dealt: bool,
) -> None:
    """Parts of a stream one behind the other, or its packets dealt out."""
    ends = [0, *sorted(borders), len(packets)]
    parts = [packets[begin:end] for begin, end in pairwise(ends)]
    if is_dealt:
        parts = [packets[at :: len(ends) - 1] for at in range(len(ends) - 1)]
    own = Settings(slots=4, disorder_bytes=disorder_bytes, slack_ns=slack_ns, batch_rows=2)
    sources = _written(tmp_path_factory.mktemp("files"), parts)
    _assert_same(plan_of(TEXTS["pairs"]), sources, own, [(3, extent_bytes)])


# ---- files that are not as they should be, or are left ----


@pytest.mark.parametrize("number", [0, 2, 4])
@pytest.mark.parametrize("wrong", ["cut", "damaged", "raw"])
def test_one_of_them_is_wrong(wrong: str, number: int, tmp_path: Path) -> None:
    """What is told of it, where in the time of the others it is, and what they answer."""
    sources = _written(tmp_path, _rotated(jumping_packets()))
    path = Path(sources[number].path)
    if wrong == "cut":
        path.write_bytes(path.read_bytes()[:-3])
    elif wrong == "damaged":
        data = path.read_bytes()
        path.write_bytes(data[:9000] + b"\xff" * 64 + data[9064:])
    else:
        path.write_bytes(pcap(_rotated(jumping_packets())[number], link_type=101))
    _assert_same(plan_of(TEXTS["pairs"]), sources)


def test_one_that_cannot_be_read_is_told_before_any_is(tmp_path: Path) -> None:
    sources = _written(tmp_path, _rotated(jumping_packets()))
    Path(sources[3].path).write_bytes(pcap(jumping_packets(), link_type=271))
    with pytest.raises(SourceError, match=r"3.pcap: its link type 271 \(VSOCK\)"):
        open_divided(plan_of(TEXTS["pairs"]), sources, replace(BASE, jobs=2))


def test_a_stop_ends_what_is_begun(tmp_path: Path) -> None:
    """Of each file a beginning is answered, and none of those that nobody has come to."""
    in_order = sorted(straggling_packets(), key=lambda packet: packet.timestamp_ns)
    sources = _written(tmp_path, _rotated(in_order))
    three = replace(BASE, jobs=3)
    session = open_divided(plan_of(TEXTS["pairs"]), sources, three, extent_bytes=1000)
    with session:
        assert session._lows[0]._engine.run(100, 0)  # as its thread does
        session.stop()
        counted = sum(int(row.split(b",")[3]) for row in _lines(session))
        read = [source.read for source in session.statistics().sources]
    assert 0 < sum(read) == counted
    assert sorted(read)[:4] == [0, 0, 0, 0], "the first of them in time alone"


def _lines(session: DividedSession) -> list[bytes]:
    return [line for event in session.batches() for line in event.batch.csv().splitlines()]


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """As if 20 files could be opened besides those that a run may need for other things."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 50, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_descriptors")
@pytest.mark.parametrize("is_overlapping", [False, True])
def test_many_files_are_not_all_open_at_once(is_overlapping: bool, tmp_path: Path) -> None:
    """Whoever finds no room waits for those that others have open."""
    packets = straggling_packets()[:240]
    parts = [packets[at : at + 2] for at in range(0, 240, 2)]
    if is_overlapping:
        parts = [[packets[at], packets[at + 120]] for at in range(120)]
    _assert_same(plan_of(TEXTS["pairs"]), _written(tmp_path, parts), BASE, [(2, 300), (8, 9000)])


@contextmanager
def _room_for(files: int) -> Iterator[None]:
    """So many and no more, besides what a run may need for other things."""
    highest = max(map(int, os.listdir("/proc/self/fd")))
    between = [os.dup(0)]
    while between[-1] < highest:
        between.append(os.dup(0))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (between[-1] + 1 + files + 16, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    for descriptor in between:
        os.close(descriptor)


def test_room_that_another_makes_is_seen(tmp_path: Path) -> None:
    """Who reads on in a long file, without room for the next one, hears that it was opened."""
    long = [replace(p, timestamp_ns=at * 10**9) for at, p in enumerate(jumping_packets()[:400])]
    sources = _written(tmp_path, [long[:5], long[2:], long[20:30]])
    own = replace(BASE, jobs=2, burst=1)
    session = open_divided(plan_of(TEXTS["pairs"]), sources, own, extent_bytes=1 << 20)
    with _room_for(2), session:
        one, other = session._lows
        assert one._engine.run(1, 0)  # of the first, which it has still
        assert other._engine.run(60, 0)
        assert [source.is_ended for source in other.statistics().sources] == [True, False, False]
        assert one._engine.run(6, 0)
        assert [source.read for source in one.statistics().sources] == [5, 0, 2]
        assert other._engine.run(200, 0)
        assert [source.is_ended for source in other.statistics().sources] == [True, False, True]


def test_files_that_are_no_more_where_they_were(tmp_path: Path) -> None:
    """Who has opened one has opened it for all."""
    plan, sources = plan_of(TEXTS["pairs"]), _written(tmp_path, _of_two_taps(jumping_packets()))
    alone = told(plan, Session(plan, sources, BASE))
    session = open_divided(plan, sources, replace(BASE, jobs=3), extent_bytes=300)
    assert session._lows[0]._engine.run(200, 0)
    assert all(source.read > 0 for source in session._lows[0].statistics().sources)
    Path(sources[0].path).unlink()
    Path(sources[1].path).rename(tmp_path / "before.pcap")
    Path(sources[1].path).write_bytes(b"no capture")
    assert told(plan, side_by_side(session)) == alone


def test_nobody_is_far_ahead_of_who_has_ended_one_file(tmp_path: Path) -> None:
    """It may have a piece of another still."""
    packets = [replace(p, timestamp_ns=at * 10**9) for at, p in enumerate(jumping_packets())]
    sources = _written(tmp_path, [packets[:1], packets])
    many = replace(BASE, jobs=2)
    session = open_divided(plan_of(TEXTS["pairs"]), sources, many, extent_bytes=300)
    with session:
        slow, fast = session._lows
        while not slow.statistics().sources[0].is_ended:
            assert slow._engine.run(1, 0)
        reading = threading.Thread(target=fast._engine.run, args=(len(packets), 0))
        reading.start()
        reading.join(timeout=0.5)
        session.stop()
        reading.join()
        read = [low.statistics().sources[1].read for low in session._lows]
    assert read[0] < 10
    assert 0 < read[1] < len(packets) // 4

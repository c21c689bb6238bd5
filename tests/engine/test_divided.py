# SPDX-License-Identifier: Apache-2.0
"""Threads that divide a capture file give the answer and the account of one."""

from __future__ import annotations

import gzip
import os
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigastream.codegen.compiler import compile_query_set
from gigastream.engine import opening
from gigastream.engine.batch import EngineError
from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.plan import Plan
from gigastream.sessions.changes import ChangeError
from gigastream.sessions.divided_session import DividedSession, why_undivided
from gigastream.sessions.replay import open_divided, open_replay
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from tests.answers.engine import plan_of
from tests.answers.paths import side_by_side
from tests.captures import capture_id, captures
from tests.engine.divided_queries import PAIRS, TEXTS
from tests.engine.odd_packets import cut_packets, jumping_packets, straggling_packets
from tests.engine.pcapng_forms import pcapng_forms
from tests.engine.test_threaded import rows
from tests.engine.whole_runs import told
from tests.strategies import frames as f
from tests.strategies.files import (
    MODIFIED,
    NANOSECONDS,
    Packet,
    block,
    pcap,
    pcap_record,
    pcapng,
    section_header,
)

SHAPES = ((2, 300), (5, 9_000))
"""Of sessions: threads, and bytes of an extent; less than some records, and many."""
BASE = Settings(slots=64, disorder_bytes=4096)


def _divided(plan: Plan, path: Path, settings: Settings, extent_bytes: int) -> DividedSession:
    source = FileSource("default", str(path))
    assert why_undivided(plan, [source], settings) is None
    return open_divided(plan, [source], settings, extent_bytes=extent_bytes)


def _assert_same(
    plan: Plan, path: Path, settings: Settings = BASE, shapes: Sequence[tuple[int, int]] = SHAPES
) -> None:
    alone = told(plan, Session(plan, [FileSource("default", str(path))], settings))
    for jobs, extent_bytes in shapes:
        many = replace(settings, jobs=jobs)
        session = side_by_side(_divided(plan, path, many, extent_bytes))
        assert told(plan, session) == alone


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "made.pcap"
    path.write_bytes(data)
    return path


# ---- one answer; that of golden queries, and of queries at random: tests/answers ----

REAL = [
    capture
    for capture in captures("good", "large", "hostile", "broken")
    if FileSource("default", str(capture)).is_divisible
]


@pytest.mark.parametrize("capture", REAL, ids=capture_id)
def test_real_captures(capture: Path) -> None:
    if capture.stat().st_size > 1 << 22:
        shapes: Sequence[tuple[int, int]] = ((2, 0), (3, 70_000))
    else:
        shapes = ((3, max(1, capture.stat().st_size // 40)),)
    for text in TEXTS.values():
        _assert_same(plan_of(text), capture, BASE, shapes)


@pytest.mark.parametrize("text", sorted(TEXTS))
@pytest.mark.parametrize("make", [cut_packets, jumping_packets, straggling_packets])
@pytest.mark.parametrize("write", [pcap, pcapng])
def test_made_packets(
    text: str, make: Callable[[], list[Packet]], write: Callable[..., bytes], tmp_path: Path
) -> None:
    _assert_same(plan_of(TEXTS[text]), _file(tmp_path, write(make())))


SETTINGS = (
    Settings(burst=1, batch_rows=1, slots=1),
    Settings(burst=256, slots=16, flush="immediate", disorder_bytes=5_000),
    Settings(fast_path=False, flush="slow_inorder", batch_rows=3, disorder_bytes=100),
    Settings(slack_ns=0, flush="slow"),
    Settings(slack_ns=2 * 10**9, flush="lazy", share_groups=False),
    Settings(disorder_bytes=0, heartbeat_packets=7),
    Settings(filter="udp or ip6", use_mmap=True, time="on-demand"),
)


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
@pytest.mark.parametrize("make", [cut_packets, jumping_packets])
def test_settings(settings: Settings, make: Callable[[], list[Packet]], tmp_path: Path) -> None:
    path = _file(tmp_path, pcap(make()))
    for text in TEXTS.values():
        _assert_same(plan_of(text), path, settings)


def _forms(packets: list[Packet]) -> dict[str, bytes]:
    whole = pcap(packets)
    return {
        "swapped": pcap(packets, order=">"),
        "nanoseconds": pcap(packets, magic=NANOSECONDS),
        "modified": pcap(packets, magic=MODIFIED),
        "raw": pcap(packets, link_type=101),
        "no link type": pcap(packets, link_type=147),
        "no packet": pcap([]),
        "cut": whole[:-3],
        "cut in a header": whole[: -len(packets[-1].data) - 3],
        "damaged": whole[:9000] + b"\xff" * 64 + whole[9064:],
        **pcapng_forms(packets),
        "long": pcap([*packets[:50], replace(packets[0], data=bytes(262_144)), *packets[50:]]),
    }


@pytest.mark.parametrize("form", sorted(_forms(cut_packets())))
def test_forms_of_files(form: str, tmp_path: Path) -> None:
    path = _file(tmp_path, _forms(cut_packets())[form])
    for text in TEXTS.values():
        _assert_same(plan_of(text), path, BASE, ((3, 9_999),))
        at_the_end = [(2, path.stat().st_size + more) for more in (-1, 0, 1)]
        _assert_same(plan_of(text), path, replace(BASE, disorder_bytes=1), at_the_end)


STEPS = st.lists(st.integers(-3, 3), max_size=60)


@given(
    STEPS, st.integers(1, 400), st.integers(2, 4), st.sampled_from([None, 0, 10**9]),
    st.integers(0, 900), st.sampled_from([pcap, pcapng]),
)  # fmt: skip
def test_times_that_step(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[int], extent_bytes: int, jobs: int, slack_ns: int | None, disorder: int,
    write: Callable[..., bytes],
) -> None:  # fmt: skip
    data = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(1, 2, f.UDP, f.udp(1, 2)))
    times = [1_700_000_000 + sum(steps[:at]) for at in range(len(steps))]
    packets = [Packet(second * 10**9, data[: 14 + second % 40]) for second in times]
    path = _file(tmp_path_factory.getbasetemp(), write(packets))
    settings = Settings(slots=4, slack_ns=slack_ns, disorder_bytes=disorder, batch_rows=2)
    _assert_same(plan_of(TEXTS["all"]), path, settings, [(jobs, extent_bytes)])
    _assert_same(plan_of(PAIRS), path, settings, [(jobs, extent_bytes)])


# ---- ends ----


@pytest.fixture(scope="module")
def long_capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(1, 2, f.UDP, f.udp(1, 2)))
    packets = [Packet(1_700_000_000 * 10**9 + at * 10**8, data) for at in range(60_000)]
    path = tmp_path_factory.mktemp("long") / "long.pcap"
    path.write_bytes(pcap(packets))
    return path


def test_a_stop_comes_behind_one_packet_for_all(long_capture: Path) -> None:
    plan = plan_of(PAIRS)
    settings = Settings(jobs=3, batch_rows=16, slack_ns=0)
    with _divided(plan, long_capture, settings, 1 << 16) as session:
        for low in session._lows[:2]:
            assert low._engine.run(2000, 0)  # as their threads do
        session.stop()
        events = list(session.batches())
        read = session.statistics().sources[0].read
    assert 2000 < read < 60_000
    source = FileSource("default", str(long_capture))
    with Session(plan, [source], Settings(packets_max=read, slack_ns=0)) as alone:
        assert rows(events) == rows(alone.batches())


def test_who_leaves_early_leaves_no_thread_behind(long_capture: Path) -> None:
    settings = Settings(jobs=3, batch_rows=1, slack_ns=0)
    with _divided(plan_of(PAIRS), long_capture, settings, 4096) as session:
        next(session.batches())
    assert not [at for at in threading.enumerate() if at.name.startswith("gigastream-")]


def test_a_program_that_ends_amid_its_rows_ends(long_capture: Path, tmp_path: Path) -> None:
    """Nobody takes the threads' rows or closes the answer, and of the file there is no end.

    Behind its packets are records of nothing, which take no room on the disk.
    """
    path = tmp_path / "endless.pcap"
    path.write_bytes(long_capture.read_bytes())
    os.truncate(path, 1 << 42)
    program = f"""
import gigastream
from gigastream.settings import Settings
settings = Settings(jobs=2, batch_rows=1, slack_ns=0)
answer = iter(gigastream.run({PAIRS!r}, [{str(path)!r}], settings=settings))
next(answer)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_what_threads_run_is_compiled_once(
    long_capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []

    def seen(text: str, **options: Any) -> Path:
        texts.append(text)
        return compile_query_set(text, **options)

    monkeypatch.setattr(opening, "compile_query_set", seen)
    with _divided(plan_of(PAIRS), long_capture, Settings(jobs=5), 4096):
        assert len(texts) == 1


def test_a_thread_that_is_not_to_be_had(
    long_capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == "gigastream-1":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    with (
        _divided(plan_of(PAIRS), long_capture, Settings(jobs=2), 4096) as session,
        pytest.raises(EngineError, match="2 threads: can't start new thread"),
    ):
        list(session.batches())
    assert not [at for at in threading.enumerate() if at.name.startswith("gigastream-")]


def test_a_file_that_becomes_another(long_capture: Path, tmp_path: Path) -> None:
    """One of the readers has opened it for all."""
    path = tmp_path / "one.pcap"
    path.write_bytes(long_capture.read_bytes())
    plan = plan_of(PAIRS)
    alone = told(plan, Session(plan, [FileSource("default", str(path))], Settings()))
    session = _divided(plan, path, Settings(jobs=2), 4096)
    assert session._lows[0]._engine.run(1, 0)
    path.rename(tmp_path / "before.pcap")
    path.write_bytes(b"not a capture")
    assert told(plan, side_by_side(session)) == alone


def test_a_file_that_is_overwritten_in_another_format(long_capture: Path, tmp_path: Path) -> None:
    """One has read all of it, and found no packet: what there is now nobody looks at."""
    path, whole = tmp_path / "one.pcap", long_capture.read_bytes()
    path.write_bytes(section_header() + block(99, bytes(len(whole))))
    with _divided(plan_of(PAIRS), path, Settings(jobs=2), 4096) as session:
        first, second = session._lows
        assert first._engine.run(1, 0)
        path.write_bytes(whole)
        second._engine.run(1, 0)
        list(session.batches())
        (read,) = session.statistics().sources
    assert (read.read, read.damage) == (0, None)


def test_a_file_that_becomes_a_pipe(long_capture: Path, tmp_path: Path) -> None:
    """A reader that waited for a writer would see no stop."""
    path = tmp_path / "one.pcap"
    path.write_bytes(long_capture.read_bytes())
    with _divided(plan_of(PAIRS), path, Settings(jobs=2), 4096) as session:
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(SourceError, match="was replaced while it was opened"):
            list(session.batches())


@pytest.mark.parametrize("left", [24, 4000])
def test_a_file_that_is_cut_while_it_is_read(left: int, long_capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(long_capture.read_bytes())
    with _divided(plan_of(PAIRS), path, Settings(jobs=2), 4096) as session:
        assert session._lows[0]._engine.run(1, 0)
        os.truncate(path, left)
        list(session.batches())
        (read,) = session.statistics().sources
    assert read.read == (4096 - 24) // 58
    assert read.damage == "was cut short while it was read, at byte 4084"


def test_a_clock_that_has_wrapped(tmp_path: Path) -> None:
    """Its windows have been passed; whose bound comes first to the high level says nothing."""
    data = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(1, 2, f.UDP, f.udp(1, 2)))
    second = [(0xFFFFFFFF if at == 600 else 1_700_000_000 + at // 10) for at in range(1200)]
    packets = [Packet(s * 10**9, data) for s in second]
    whole = bytearray(pcap(packets))
    at = 24 + 600 * (16 + len(data)) + 4
    whole[at : at + 4] = (4_000_000_000).to_bytes(4, "little")  # µs: 4,000 s more
    path = _file(tmp_path, bytes(whole))
    text = "SELECT tb, count(*) AS n FROM IPV4 GROUP BY time/15 AS tb"
    for policy in FLUSH_POLICIES:
        settings = Settings(slack_ns=0, flush=policy)
        _assert_same(plan_of(text), path, settings, ((2, 1000), (3, 2000)))
        with Session(plan_of(text), [FileSource("default", str(path))], settings) as alone:
            list(alone.batches())
            assert alone.statistics().lftas[0].no_value == 1


def test_a_clock_that_wraps_back_into_the_window_met_last(tmp_path: Path) -> None:
    """Windows of sixty years: the one that is passed was met by the packet before."""
    data = f.ethernet(f.ETHERTYPE_IPV4, f.ipv4(1, 2, f.UDP, f.udp(1, 2)))
    wrapped = struct.pack("<IIII", 0xFFFFFFFF, 9_000_000, len(data), len(data)) + data
    whole = 100 * pcap_record(Packet(1_700_000_000 * 10**9, data)) + 40 * wrapped
    path = _file(tmp_path, pcap([]) + whole)
    plan = plan_of("SELECT tb, count(*) AS n FROM IPV4 GROUP BY time/2147483648 AS tb")
    for policy in FLUSH_POLICIES:
        settings = Settings(slack_ns=0, flush=policy)
        _assert_same(plan, path, settings, ((2, 1000), (3, 300)))
        with Session(plan, [FileSource("default", str(path))], settings) as alone:
            assert rows(alone.batches()) == Counter([("query", "0", "101")])  # H has risen then
            assert alone.statistics().lftas[0].no_value == 39


MOMENTS = "SELECT timestamp, count(*) AS n FROM IPV4 GROUP BY timestamp"


@pytest.mark.parametrize("jobs", [2, 5])
def test_nobody_is_far_ahead_of_the_slowest(
    jobs: int, long_capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is ahead is held above: while one is held up the others do not read all of the file."""
    read_all = DividedSession._read_all

    def held_up(session: DividedSession, part: int) -> None:
        if part == 0:
            session._lows[0]._engine.run(1, 0)
            time.sleep(1)
        read_all(session, part)

    monkeypatch.setattr(DividedSession, "_read_all", held_up)
    settings = Settings(jobs=jobs, slack_ns=0, memory_bytes=1 << 20)
    with _divided(plan_of(MOMENTS), long_capture, settings, 4096) as session:
        assert sum(rows(session.batches()).values()) == 60_000
        (counted,) = session.statistics().operators[-1:]
    assert counted.groups_refused == 0


def test_many_threads_have_tables_for_the_budget_of_one(long_capture: Path) -> None:
    settings = Settings(jobs=64, slack_ns=0, memory_bytes=4 << 20)
    with _divided(plan_of(MOMENTS), long_capture, settings, 300) as session:
        assert sum(rows(session.batches()).values()) == 60_000


def test_one_thread_instead_of_many_has_all_slots(long_capture: Path) -> None:
    source = FileSource("default", str(long_capture), timestamps="internal")
    slots = set()
    for jobs in (1, 8):
        with open_replay(plan_of(PAIRS), [source], Settings(jobs=jobs)) as session:
            list(session.batches())
            slots.add(session.statistics().lftas[0].slots)
    assert len(slots) == 1


def test_parameters_stay(long_capture: Path) -> None:
    with (
        _divided(plan_of(PAIRS), long_capture, Settings(jobs=2), 0) as session,
        pytest.raises(ChangeError, match="several threads answer"),
    ):
        session.change(plan_of(PAIRS))


# ---- what one thread answers ----

WHOLE = {
    "SELECT time, len FROM IPV4": "has rows in their order",
    "SELECT tb, quantile_of(len, 0.5) AS q FROM IPV4 GROUP BY time AS tb": "in which order",
    "DEFINE { lfta_aggregation true; } " + PAIRS: "partial groups",
    "SELECT tb, min(len * 0.5) AS m FROM IPV4 GROUP BY time AS tb": "keeps floats",
    "SELECT tb, z, count(*) AS n FROM IPV4 GROUP BY time AS tb, len * 0.0 AS z": "keeps floats",
    "DEFINE { defragment 'yes'; } " + PAIRS: "other packets than the capture has",
    "DEFINE { decapsulate 'gre'; } " + PAIRS: "other packets than the capture has",
}


@pytest.mark.parametrize(("text", "why"), WHOLE.items())
def test_what_one_thread_has_to_answer(text: str, why: str, long_capture: Path) -> None:
    source = FileSource("default", str(long_capture))
    found = why_undivided(plan_of(text), [source], Settings(jobs=2))
    assert why in str(found)
    with open_replay(plan_of(text), [source], Settings(jobs=2)) as session:
        assert isinstance(session, Session)


def test_what_cannot_be_divided(long_capture: Path, tmp_path: Path) -> None:
    plan, whole, two = plan_of(PAIRS), FileSource("default", str(long_capture)), Settings(jobs=2)
    other = tmp_path / "other.pcap.gz"
    other.write_bytes(gzip.compress(pcap(cut_packets())))
    for settings, sources, why in (
        (two, [], "several interfaces"),
        (two, [whole, replace(whole, interface="west")], "several interfaces"),
        (two, [replace(whole, path=str(other))], "only capture files"),
        (two, [whole, replace(whole, path=str(other))], "only capture files"),
        (two, [replace(whole, path="-")], "only capture files"),
        (two, [replace(whole, timestamps="internal")], "the time at which they are read"),
        (replace(two, packets_max=9), [whole], "--count"),
        (replace(two, speed=2.0), [whole], "--speed"),
        (replace(two, max_groups=9), [whole], "--max-groups"),
    ):
        assert why in str(why_undivided(plan, sources, settings))
    assert why_undivided(plan, [whole, whole], two) is None


def test_rows_are_those_of_one_for_who_asks_so(long_capture: Path) -> None:
    source = FileSource("default", str(long_capture))
    with open_replay(plan_of(PAIRS), [source], Settings(jobs=2)) as session:
        assert isinstance(session, DividedSession)
        assert (
            sum(rows(session.batches()).values())
            == Counter(rows(Session(plan_of(PAIRS), [source]).batches())).total()
        )

# SPDX-License-Identifier: Apache-2.0
"""Engines side by side over the same files give the answer and the account of one."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gigastream.engine.batch import EngineError
from gigastream.engine.events import Event
from gigastream.engine.statistics import LftaStatistics, OperatorStatistics, SourceStatistics
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.plan.sharing import NotShared, addresses_of
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.sessions import shared_session as shared
from gigastream.sessions.session import Session
from gigastream.sessions.shared_session import SharedSession, check_shared
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from tests.answers.engine import plan_of
from tests.answers.golden import Golden, golden_queries
from tests.answers.inputs import INPUTS
from tests.engine.long_capture import write_long_capture
from tests.engine.test_threaded import shown
from tests.strategies.files import Packet, pcapng

JOBS = (2, 3, 8)
PAIRS = (
    "SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS b, first(len) AS f, last(len) AS l "
    "FROM IPV4 GROUP BY time/2 AS tb, srcIP, destIP"
)
ENDS = """DEFINE { query_name ends; } SELECT tb, destIP, count(*) AS n FROM IP GROUP BY time AS tb,
destIP HAVING count(*) > 1;
DEFINE { query_name sixes; } SELECT tb, srcIP, destIP, destPort, max(len) AS n FROM TCP
GROUP BY time/5 AS tb, srcIP, destIP, destPort"""
ALL = "SELECT srcIP, count(*) AS n FROM IPV4 GROUP BY srcIP"
TEXTS = {"pairs": PAIRS, "ends": ENDS}
CAPTURES = tuple(sorted(INPUTS))


def _is_shared(golden: Golden) -> bool:
    try:
        addresses_of(_plan_of(golden))
    except NotShared:
        return False
    return len({interface for interface, _ in golden.inputs}) == 1


@cache
def _plan_of(golden: Golden) -> Plan:
    interfaces = {interface: {} for interface, _ in golden.inputs}
    files = (SourceFile(golden.name, golden.text),)
    texts = QueryTexts(files, interfaces=interfaces, is_finite=True)
    return plan_queries(check_texts(texts).queries, is_finite=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("inputs")
    for name, data in INPUTS.items():
        (made / name).write_bytes(data())
        (made / f"{name}.gz").write_bytes(gzip.compress(data()))
    return made


def _source(source: SourceStatistics) -> SourceStatistics:
    """What is read is read by all; how far decompression is ahead of it depends on the clock."""
    ahead = {"bytes": 0} if source.label.endswith(".gz") else {}
    return replace(source, asked=0, answered=0, **ahead)


def _lfta(lfta: LftaStatistics) -> LftaStatistics:
    """Without what is of the tables, which are several, and how often their groups collide."""
    return replace(lfta, evicted=0, slots=0, held_bytes=0, peak_bytes=0, groups_most=0, rows_out=0)


def _operator(operator: OperatorStatistics) -> OperatorStatistics:
    """Without the partial rows that come in, of which collisions make more."""
    return replace(operator, rows_in=0, held_bytes=0, peak_bytes=0)


class _Run:
    """Rows by query and the account."""

    def __init__(self, plan: Plan, sources: Sequence[FileSource], settings: Settings) -> None:
        opening = SharedSession if settings.jobs > 1 else Session
        with opening(plan, sources, settings) as session:
            events = list(session.batches())
            found = session.statistics()
        self.rows = Counter(row for event in events for row in _rows(event))
        self.windows = {node.name: _windows(node.name, events) for node in plan.outputs}
        self.sources = tuple(map(_source, found.sources))
        self.lftas = tuple(map(_lfta, found.lftas))
        operators = [o for o in found.operators if o.kind != "union"]
        self.operators = tuple(map(_operator, operators))

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def _rows(event: Event) -> list[tuple[str, ...]]:
    lines = event.batch.csv().decode().splitlines()
    return [(event.query, *map(shown, line.split(","))) for line in lines]


def _windows(query: str, events: Sequence[Event]) -> list[str]:
    """The first column of the rows, in their order, each once."""
    firsts = [row[1] for event in events if event.query == query for row in _rows(event)]
    return [first for at, first in enumerate(firsts) if at == 0 or firsts[at - 1] != first]


def _same(plan: Plan, sources: Sequence[FileSource], settings: Settings) -> None:
    alone = _Run(plan, sources, settings)
    for jobs in JOBS:
        assert vars(_Run(plan, sources, replace(settings, jobs=jobs))) == vars(alone)


@pytest.mark.parametrize("capture", CAPTURES)
def test_captures_of_all_kinds(capture: str, folder: Path) -> None:
    for name, text in TEXTS.items():
        _same(plan_of(text, name), [FileSource("default", str(folder / capture))], Settings())


@pytest.mark.parametrize(
    "golden", [golden for golden in golden_queries() if _is_shared(golden)], ids=lambda g: g.name
)
def test_golden_queries(golden: Golden, folder: Path) -> None:
    sources = [FileSource(interface, str(folder / name)) for interface, name in golden.inputs]
    alone = _Run(_plan_of(golden), sources, Settings())
    for jobs in JOBS:
        found = _Run(_plan_of(golden), sources, Settings(jobs=jobs))
        assert (found.rows, found.sources, found.lftas) == (alone.rows, alone.sources, alone.lftas)


SETTINGS = (
    Settings(burst=1, batch_rows=1),
    Settings(burst=256, slots=1, flush="immediate", disorder_bytes=5_000),
    Settings(fast_path=False, flush="slow_inorder", batch_rows=3),
    Settings(slack_ns=0, heartbeat_ns=0, heartbeat_packets=0),
    Settings(filter="tcp or port 53"),
    *(Settings(packets_max=count) for count in (1, 2, 77, 300)),
)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.burst}-{s.flush}-{s.packets_max}")
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_settings_and_several_files(settings: Settings, ending: str, folder: Path) -> None:
    plan = plan_of(PAIRS)
    are_several = not (ending or settings.packets_max)
    for captures in CAPTURES[:3], CAPTURES[5:6], CAPTURES[-1:]:
        captures = captures if are_several else captures[:1]
        sources = [FileSource("default", str(folder / (name + ending))) for name in captures]
        _same(plan, sources, settings)


def test_a_ring_that_turns(folder: Path, tmp_path: Path, long_capture: Path) -> None:
    """More bytes than lie in memory at once; records cross its end, and the last is cut."""
    del folder
    plan = plan_of(PAIRS)
    _same(plan, [FileSource("default", str(long_capture))], Settings())
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(long_capture.read_bytes()[:-5])
    _same(plan, [FileSource("default", str(cut))], Settings())


@pytest.fixture(scope="module")
def long_capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_long_capture(tmp_path_factory.mktemp("long") / "long.pcap")


def test_a_stop_comes_behind_the_same_packet_for_all(long_capture: Path) -> None:
    plan, sources = plan_of(PAIRS), [FileSource("default", str(long_capture))]
    with SharedSession(plan, sources, Settings(jobs=3, batch_rows=16)) as session:
        events = []
        for event in session.batches():
            events.append(event)
            session.stop()
        read = session.statistics().sources[0].read
    alone = _Run(plan, sources, Settings(packets_max=read))
    assert Counter(row for event in events for row in _rows(event)) == alone.rows


def test_who_leaves_early_leaves_no_thread_behind(long_capture: Path) -> None:
    sources = [FileSource("default", str(long_capture))]
    with SharedSession(plan_of(PAIRS), sources, Settings(jobs=3, batch_rows=1)) as session:
        next(session.batches())
    assert not any(thread.is_alive() for thread in session._threads)


def test_an_engine_that_fails_ends_the_run(
    long_capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_all = SharedSession._read_all

    def failing(session: SharedSession, part: int) -> None:
        if part == 1:
            raise EngineError("no more")
        read_all(session, part)

    monkeypatch.setattr(SharedSession, "_read_all", failing)
    sources = [FileSource("default", str(long_capture))]
    with (
        SharedSession(plan_of(PAIRS), sources, Settings(jobs=3)) as session,
        pytest.raises(EngineError, match="no more"),
    ):
        list(session.batches())


def test_a_program_that_ends_amid_its_rows_ends(long_capture: Path) -> None:
    """Nobody takes the rows that the threads have, and nobody closes the answer."""
    program = f"""
import gigastream
from gigastream.settings import Settings
settings = Settings(jobs=2, batch_rows=1)
answer = iter(gigastream.run({PAIRS!r}, [{str(long_capture)!r}], settings=settings))
next(answer)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_thread_that_is_not_to_be_had(
    long_capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == "gigastream-1":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    sources = [FileSource("default", str(long_capture))]
    with (
        SharedSession(plan_of(PAIRS), sources, Settings(jobs=2)) as session,
        pytest.raises(EngineError, match="2 threads: can't start new thread") as told,
    ):
        list(session.batches())
    assert "--jobs" in str(told.value.hint)
    assert not [at for at in threading.enumerate() if at.name.startswith("gigastream-")]


def test_each_thread_has_tables_of_its_own(long_capture: Path) -> None:
    sources = [FileSource("default", str(long_capture))]
    with SharedSession(plan_of(PAIRS), sources, Settings(jobs=2, slots=64)) as session:
        list(session.batches())
        (lfta,) = session.statistics().lftas
    assert lfta.evicted > 0
    assert lfta.slots == 64
    assert lfta.groups_most <= 64


def test_a_block_that_no_ring_can_hold(tmp_path: Path) -> None:
    """It would be waited for for ever: no reader could let go of what lies before it."""
    packets = [Packet(1_700_000_000 * 10**9 + at, bytes(60)) for at in range(9)]
    packets.append(Packet(packets[-1].timestamp_ns, bytes(5_000_000)))
    large = tmp_path / "large.pcapng"
    large.write_bytes(pcapng(packets))
    sources = [FileSource("default", str(large))]
    with (
        SharedSession(plan_of(PAIRS), sources, Settings(jobs=2)) as run,
        pytest.raises(SourceError, match="greater than several threads can hold: --jobs 1"),
    ):
        list(run.batches())


def test_a_file_that_is_none(tmp_path: Path) -> None:
    none = tmp_path / "none.pcap"
    none.write_bytes(b"no capture at all")
    with (
        SharedSession(plan_of(PAIRS), [FileSource("default", str(none))], Settings(jobs=2)) as run,
        pytest.raises(SourceError, match="neither pcap nor pcapng"),
    ):
        list(run.batches())


ALONE = {
    "SELECT tb, count(*) AS n FROM IPV4 GROUP BY time AS tb": "no address in common",
    "SELECT time, len FROM IPV4": "looks at rows of all groups",
    f"{PAIRS} ORDER BY count(*) LIMIT 3": "looks at rows of all groups",
    "SELECT tb, prefix(srcIP, 16) AS net, count(*) AS n FROM IPV4 "
    "GROUP BY time AS tb, prefix(srcIP, 16) AS net": "no address in common",
    "DEFINE { defragment 'yes'; } " + PAIRS: "other packets than the capture has",
    "DEFINE { decapsulate 'gre'; } " + PAIRS: "other packets than the capture has",
}


@pytest.mark.parametrize(("text", "why"), ALONE.items())
def test_what_one_engine_has_to_answer(text: str, why: str) -> None:
    with pytest.raises(NotShared, match=why):
        addresses_of(plan_of(text))


def test_whom_more_threads_are_of_no_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, small = plan_of(PAIRS), FileSource("default", str(folder / CAPTURES[0]))
    for settings, sources, why in (
        (Settings(), [small], "one is asked for"),
        (Settings(jobs=2), [small], "so small a capture"),
        (Settings(jobs=2), [small, replace(small, interface="b")], "several interfaces"),
        (Settings(jobs=2), [replace(small, path="-")], "not a capture file"),
    ):
        with pytest.raises(NotShared, match=why):
            check_shared(plan, sources, settings)
    monkeypatch.setattr(shared, "are_small", lambda _: False)
    check_shared(plan, [small], Settings(jobs=2))
    windowless = plan_of(PAIRS.replace("SELECT tb,", "SELECT max(time) AS m,"))
    with pytest.raises(NotShared, match="which window"):
        check_shared(windowless, [small], Settings(jobs=2))
    for settings in Settings(jobs=2, speed=1.0), Settings(jobs=2, max_groups=9):
        with pytest.raises(NotShared, match="--"):
            check_shared(plan, [small], settings)

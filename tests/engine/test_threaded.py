# SPDX-License-Identifier: Apache-2.0
"""Parts of the input read at once, an engine thread each, give the answer of one thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.engine.batch import EngineError
from gigastream.engine.events import Event
from gigastream.engine.statistics import LftaStatistics
from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.plan.plan import Plan
from gigastream.sessions import threaded_session as threaded
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.sessions.threaded_session import ThreadedSession, parts_of
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, SourceError
from gigastream.sources.live import LiveSettings, LiveSource
from tests.answers.inputs import INPUTS
from tests.engine.stepping import plan_of
from tests.engine.whole_and_parts import (
    GOLDEN_INPUTS,
    INPUTS_OF_PARTS,
    Inputs,
    piece,
    pieces_above,
    plan_of_all,
    sources,
)


def _plan(inputs: Inputs) -> Plan:
    return plan_of_all(inputs, of_parts=True)


COUNT = "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb"


def rows(events: Iterable[Event]) -> Counter[tuple[str, ...]]:
    """Of each query, its rows in any order."""
    return counted((event.query, event.batch.csv()) for event in events)


def counted(texts: Iterable[tuple[str, bytes]]) -> Counter[tuple[str, ...]]:
    lines = ((query, line) for query, text in texts for line in text.decode().splitlines())
    return Counter((query, *map(shown, line.split(","))) for query, line in lines)


def shown(cell: str) -> str:
    """A number as far as it does not depend on the order in which its terms came."""
    try:
        return f"{float(cell):.9g}" if "." in cell else cell
    except ValueError:
        return cell


def text(name: str) -> bytes:
    return INPUTS[name]()


def _counted(lfta: LftaStatistics) -> LftaStatistics:
    """Without what two tables of 64 slots do otherwise than one."""
    return replace(lfta, evicted=0, slots=0, held_bytes=0, peak_bytes=0, groups_most=0, rows_out=0)


@pytest.mark.parametrize("policy", FLUSH_POLICIES)
@pytest.mark.parametrize("inputs", INPUTS_OF_PARTS, ids=str)
def test_two_threads_answer_like_one(inputs: Inputs, policy: str) -> None:
    """Each capture twice: as two sources of an interface, or as one of each of two parts."""
    plan, settings = (
        _plan(inputs),
        Settings(flush=policy, slots=64, batch_rows=7),
    )
    with Session(plan, sources(inputs) * 2, settings) as session:
        expected = rows(session.batches())
        statistics = session.statistics()
    with ThreadedSession(plan, [sources(inputs)] * 2, settings) as session:
        assert rows(session.batches()) == expected
        found = session.statistics()
    read = sum(source.read for source in statistics.sources)
    assert sum(source.read for source in found.sources) == read
    assert list(map(_counted, found.lftas)) == list(map(_counted, statistics.lftas))


@pytest.mark.long
@pytest.mark.parametrize("inputs", INPUTS_OF_PARTS, ids=str)
def test_below_the_border_an_interface_is_one_stream(inputs: Inputs) -> None:
    """What the parts' LFTAs put out is united, interface by interface, for a spool."""
    plan, settings = _plan(inputs), Settings(slots=64, batch_rows=7)
    with Session(plan, sources(inputs) * 2, settings) as session:
        expected = rows(session.batches())
    with ThreadedSession(
        plan, [sources(inputs)] * 2, settings, SessionOptions(low_taps=True)
    ) as session:
        low = [piece(event) for event in session.batches()]
        assert session.statistics().operators == ()
    interfaces = [interface for interface, _ in inputs]
    assert {each.interface for each in low} == set(interfaces)
    above = pieces_above(plan, interfaces, Settings(), low)
    assert counted((each.node, each.text) for each in above) == expected


def test_parts_that_do_not_have_the_same_interfaces(tmp_path: Path) -> None:
    """Streams that are bound to an interface come from the parts that have it."""
    a, b = (name for _, name in max(GOLDEN_INPUTS, key=len)[:2])
    for name in (a, b):
        (tmp_path / name).write_bytes(text(name))
    query = "SELECT tb, interface, count(*) AS n FROM PKT GROUP BY time AS tb, interface"
    named = "DEFINE {{ query_name {0}; }} SELECT time, len FROM {0}.PKT"
    plan = plan_of(";".join([query, named.format("x"), named.format("y")]), ("x", "y"))
    parts = [
        [FileSource("y", str(tmp_path / a)), FileSource("x", str(tmp_path / b))],
        [FileSource("x", str(tmp_path / a))],
    ]
    with Session(plan, [*parts[0], *parts[1]]) as session:
        expected = rows(session.batches())
    with ThreadedSession(plan, parts) as session:
        assert rows(session.batches()) == expected
    assert len({query for query, *_ in expected}) == 3


def test_a_slow_consumer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue is bounded, and nothing of it is lost."""
    monkeypatch.setattr(threaded, "TURNS_MAX", 1)
    inputs = GOLDEN_INPUTS[0]
    plan, settings = (
        _plan(inputs),
        Settings(batch_rows=1, deliver_every_burst=True, burst=1),
    )
    with Session(plan, sources(inputs) * 2, settings) as session:
        expected = rows(session.batches())
    with ThreadedSession(plan, [sources(inputs)] * 2, settings) as session:
        assert rows(session.batches()) == expected


def test_one_that_is_left_early_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its threads have more to say than the queue takes."""
    monkeypatch.setattr(threaded, "TURNS_MAX", 1)
    inputs = GOLDEN_INPUTS[0]
    settings = Settings(batch_rows=1, deliver_every_burst=True, burst=1)
    with ThreadedSession(_plan(inputs), [sources(inputs)] * 3, settings) as session:
        next(session.turns())
    assert not any(thread.is_alive() for thread in session._threads)


def test_a_thread_that_fails_is_heard(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(b"")
    sound = sources(GOLDEN_INPUTS[0])
    parts = [sound, [FileSource(sound[0].interface, str(tmp_path / "empty.pcap"))]]
    with (
        ThreadedSession(plan_of_all(GOLDEN_INPUTS[0]), parts) as session,
        pytest.raises(SourceError, match=r"empty\.pcap: is empty"),
    ):
        list(session.batches())


def test_what_cannot_be_opened_leaves_nothing_behind() -> None:
    link = LiveSource("no", "no-such-device", LiveSettings(fanout=2))
    with pytest.raises(SourceError, match="no-such-device"):
        ThreadedSession(plan_of(COUNT, ["no"]), parts_of([link]))


def test_a_batch_of_another_stream_is_refused() -> None:
    from gigastream.sessions.high_session import HighSession

    plan = plan_of(COUNT)
    other = plan_of("SELECT tb, sum(len) AS n FROM PKT GROUP BY time AS tb")
    with Session(
        other, sources((("default", GOLDEN_INPUTS[0][0][1]),)), None, SessionOptions(low_taps=True)
    ) as low:
        batch = next(event.batch for event in low.batches() if event.interface is not None)
        with HighSession(plan, ["default"]) as high:
            with pytest.raises(EngineError, match="another stream"):
                high.hand_over(0, batch)
            with pytest.raises(EngineError, match="no port"):
                high.hand_over(7, batch)


def test_rings_are_parts_and_files_are_in_the_first() -> None:
    a, b = LiveSource("a", "a0", LiveSettings(fanout=3)), LiveSource("b", "b0")
    file = FileSource("old", "old.pcap")
    parts = parts_of([b, a, file])
    labels = [[source.label for source in part] for part in parts]
    assert labels == [["b0", "a0/0", "old.pcap"], ["a0/1"], ["a0/2"]]
    groups = [source.group for part in parts for source in part if isinstance(source, LiveSource)]
    assert groups[0] is None
    assert groups[1] is groups[2] is groups[3]
    assert groups[1] is not None

# SPDX-License-Identifier: Apache-2.0
"""A source that says nothing for longer than its liveness has failed: told, counted, marked.

Pipes are FIFOs and links mock rings; the clock stands where the test puts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from gigastream.cli.failures import with_failures
from gigastream.cli.progress import Progress
from gigastream.liveness import POLICIES, Liveness
from gigastream.outputs import OutputQuery, arrow, parquet
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.cli.command import gigastream
from tests.engine.stepping import plan_of
from tests.engine.test_silent_pipes import Writer
from tests.engine.traffic import EPOCH_NS, packet
from tests.live.mock_link import MS_NS, SECOND_NS, START_NS, MockLink, MockSession, frame
from tests.strategies.files import NANOSECONDS, pcap

LIVENESS_NS = 5 * SECOND_NS
TENS = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/10 AS tb"
FIRST = EPOCH_NS // SECOND_NS // 10
Answers = dict[int, tuple[int, tuple[str, ...]]]
"""By window: (rows counted, who was missing)."""


@dataclass
class Pipe:
    """A FIFO whose packets are a second of capture time apart."""

    writer: Writer
    has_begun: bool = False

    def say(self, *seconds: float) -> None:
        packets = [packet(at) for at in seconds]
        whole = pcap(packets, magic=NANOSECONDS)
        header = len(pcap([], magic=NANOSECONDS))
        self.writer.write(whole[header:] if self.has_begun else whole)
        self.has_begun = True


@dataclass
class Run:
    """East and west, and who answers."""

    east: Pipe
    west: Pipe
    session: MockSession

    def answers(self, at_s: float) -> Answers:
        """What is answered when the clock says so."""
        self.session.set_clock(round(at_s * SECOND_NS))
        found: Answers = {}
        for event in self.session.events():
            for line in event.batch.csv().decode().splitlines():
                window, count = map(int, line.split(","))
                found[window - FIRST] = count, event.batch.missing
        return found

    def west_has(self) -> tuple[int, bool, int]:
        """How often it has failed, whether it has now, and its late packets."""
        (west,) = (s for s in self.session.statistics().sources if s.interface == "west")
        return west.failures, west.is_failed, west.late


def running(folder: Path, settings: Settings) -> Iterator[Run]:
    east, west = Writer(folder / "east"), Writer(folder / "west")
    sources = [FileSource("west", str(west.path)), FileSource("east", str(east.path))]
    plan = plan_of(TENS, ("east", "west"))
    with MockSession(plan, sources, settings) as session:
        session.set_clock(0)
        yield Run(Pipe(east), Pipe(west), session)


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Run]:
    settings = Settings(slack_ns=0, liveness_ns=LIVENESS_NS, on_failure=request.param)
    yield from running(tmp_path, settings)


def policy(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("run", [name], indirect=True)


def fall_silent(run: Run) -> None:
    """West says nothing after 13 s of capture time, east goes on until 35."""
    run.west.say(*range(14))
    run.east.say(*range(36))
    assert run.answers(0) == {0: (20, ())}
    assert run.answers(4.999) == {}
    assert run.west_has() == (0, False, 0)


@policy("go-on")
def test_the_others_go_on_and_their_rows_say_who_is_missing(run: Run) -> None:
    fall_silent(run)
    run.east.say(36)
    assert run.answers(5) == {1: (14, ("west",)), 2: (10, ("west",))}
    assert run.west_has() == (1, True, 0)
    run.east.say(*range(37, 52))
    assert run.answers(6) == {3: (10, ("west",)), 4: (10, ("west",))}
    assert run.west_has() == (1, True, 0)


@policy("go-on")
def test_who_is_back_is_taken_in_where_the_others_are(run: Run) -> None:
    """Its packets below W are late; the window in which it came is the last that is marked."""
    fall_silent(run)
    run.east.say(36)
    run.answers(5)
    run.west.say(30, 34, 35, 36, 37)
    run.east.say(*range(37, 42))
    assert run.answers(6) == {}
    failures, is_failed, late = run.west_has()
    assert (failures, is_failed) == (1, False)
    assert late == 2, "W was 35"
    run.west.say(*range(38, 61))
    run.east.say(*range(42, 61))
    assert run.answers(7) == {3: (15, ("west",)), 4: (20, ())}


@policy("go-on")
def test_it_may_fail_again(run: Run) -> None:
    fall_silent(run)
    run.east.say(36)
    run.answers(5)
    run.west.say(37, 38)
    run.answers(6)
    run.east.say(*range(37, 62))
    assert run.answers(10.9) == {}
    run.east.say(62)
    assert set(run.answers(11)) == {3, 4, 5}
    assert run.west_has()[:2] == (2, True)


@policy("wait")
def test_it_is_told_and_waited_for(run: Run) -> None:
    fall_silent(run)
    run.east.say(36)
    assert run.answers(5) == {}
    assert run.west_has() == (1, True, 0)
    assert run.answers(60) == {}
    run.west.say(*range(14, 37))
    assert run.answers(61) == {1: (20, ()), 2: (20, ())}
    assert run.west_has() == (1, False, 0)


@policy("end")
def test_the_run_ends_with_what_it_has(run: Run) -> None:
    fall_silent(run)
    assert run.answers(5) == {1: (14, ()), 2: (10, ()), 3: (6, ())}
    assert run.west_has() == (1, True, 0)


@policy("go-on")
def test_bytes_that_nobody_has_looked_at_are_a_sign_of_life(run: Run) -> None:
    """A reader that was held up for long has no right to say that others were silent."""
    fall_silent(run)
    run.east.say(36)
    run.west.say(14, 15)
    assert run.answers(60) == {}
    assert run.west_has() == (0, False, 0)


@policy("go-on")
def test_a_pipe_that_never_had_a_writer_fails_too(run: Run) -> None:
    run.east.say(*range(25))
    assert run.answers(0) == {}
    run.east.say(25)
    assert run.answers(5) == {0: (10, ("west",)), 1: (10, ("west",))}


@policy("go-on")
def test_a_pipe_that_ends_after_it_has_failed_is_missed_no_more(run: Run) -> None:
    fall_silent(run)
    run.east.say(36)
    run.answers(5)
    run.west.writer.end()
    run.east.say(*range(37, 53))
    assert run.answers(6) == {3: (10, ("west",)), 4: (10, ())}
    assert run.west_has()[:2] == (1, False)


@policy("go-on")
def test_where_all_have_failed_nobody_is_left_to_go_on(run: Run) -> None:
    fall_silent(run)
    assert run.answers(60) == {}
    assert run.west_has()[:2] == (1, True)
    run.east.say(36)
    everybody = ("east", "west")
    assert run.answers(61) == {1: (14, everybody), 2: (10, everybody)}


@policy("go-on")
def test_the_run_ends_when_only_the_failed_are_left(run: Run) -> None:
    fall_silent(run)
    run.east.writer.end()
    assert run.answers(6) == {1: (14, ("west",)), 2: (10, ("west",)), 3: (6, ("west",))}


def test_an_interface_may_have_its_own(tmp_path: Path) -> None:
    settings = Settings(slack_ns=0, livenesses=(("east", Liveness(LIVENESS_NS, "go-on")),))
    for run in running(tmp_path, settings):
        fall_silent(run)
        run.east.say(36)
        assert run.answers(60) == {}
        assert run.west_has() == (0, False, 0)


@pytest.mark.parametrize("on_failure", POLICIES)
def test_a_link_is_heard_while_it_is_up(on_failure: str) -> None:
    """Silent or not; down, it fails, and its rows do not wait in any case: it has a clock."""
    link, plan = MockLink(), plan_of(TENS, ["link"])
    settings = Settings(liveness_ns=LIVENESS_NS, on_failure=on_failure)
    with MockSession(plan, [link.source()], settings) as session:
        for at_s in range(60):
            session.set_clock(at_s * SECOND_NS)
            session.rows()
        assert (session.source().failures, session.source().is_failed) == (0, False)
        link.set_state(2)
        for at_s in range(60, 66):
            session.set_clock(at_s * SECOND_NS)
            session.rows()
        assert (session.source().failures, session.source().is_failed) == (1, True)
        if on_failure != "end":
            link.set_state(1)
            session.set_clock(67 * SECOND_NS)
            session.rows()
            assert (session.source().failures, session.source().is_failed) == (1, False)


def test_windows_of_a_link_that_was_down_are_marked() -> None:
    up, down = MockLink(), MockLink()
    plan = plan_of(TENS, ["up", "down"])
    settings = Settings(liveness_ns=LIVENESS_NS, on_failure="go-on")
    sources = [up.source("up"), down.source("down")]
    marks: dict[int, tuple[str, ...]] = {}
    with MockSession(plan, sources, settings) as session:
        for at_ms in range(0, 60_000, 500):
            session.set_clock(at_ms * MS_NS)
            up.receive(frame(START_NS + at_ms * MS_NS))
            up.retire()
            down.set_state(2 if 12_000 <= at_ms < 32_000 else 1)
            for event in session.events():
                for line in event.batch.csv().decode().splitlines():
                    window = int(line.split(",")[0]) - START_NS // SECOND_NS // 10
                    marks[window] = event.batch.missing
    assert marks == {0: (), 1: ("down",), 2: ("down",), 3: ("down",), 4: ()}


def test_settings_of_liveness_are_checked() -> None:
    with pytest.raises(ValueError, match="on_failure is 'panic'"):
        Settings(on_failure="panic")
    with pytest.raises(ValueError, match="liveness_ns is 0"):
        Settings(liveness_ns=0)
    own = replace(Settings(liveness_ns=7), livenesses=(("a", Liveness(9, "end")),))
    assert own.liveness_of("a") == Liveness(9, "end")
    assert own.liveness_of("b") == Liveness(7, "wait")


@policy("go-on")
def test_files_of_rows_say_who_is_missing(run: Run) -> None:
    fall_silent(run)
    run.east.say(36)
    run.session.set_clock(LIVENESS_NS)
    batches = [event.batch for event in run.session.events() if event.batch.row_count]
    schema = batches[0].to_arrow().schema
    query = OutputQuery("q", (), (), (), (), lambda: schema)
    for form in (arrow, parquet):
        stream = BytesIO()
        writer = form.open_writer(stream, (query,))
        for batch in batches:
            writer.write(query, batch)
        writer.close()
        stream.seek(0)
        if form is arrow:
            reader = pyarrow.ipc.open_stream(stream)
            _, marks = reader.read_next_batch_with_custom_metadata()
            assert dict(marks) == {b"gs.missing": b"west"}
        else:
            marks = pyarrow.parquet.read_metadata(stream).metadata
            assert marks[b"gs.missing"] == b"west"
            assert marks[b"gs.missing_rows"] == b"2"


@pytest.mark.parametrize(
    ("words", "then"),
    [(("--on-failure", "end"), "the run ends"), (("-c", "own.toml"), "the run ends")],
    ids=["option", "property"],
)
def test_the_command_tells_it_and_what_becomes_of_it(
    tmp_path: Path, words: tuple[str, ...], then: str
) -> None:
    (tmp_path / "own.toml").write_text('[interface.east]\non-failure = "end"\n')
    east = Pipe(Writer(tmp_path / "east"))
    east.say(*range(25))
    result = gigastream(
        "run", "-e", TENS, "-r", "east=east", "-o", "csv", "--liveness", "10ms", *words,
        cwd=tmp_path,
    )  # fmt: skip
    assert result.code == 1
    assert [line.split(",")[1] for line in result.lines] == ["n", "10", "10", "5"]
    assert f"gigastream: east has failed: nothing for 0.01 s; {then}\n" in result.err
    assert result.err.endswith("gigastream: east: failed; what came before that is answered\n")
    assert "east (east): failed 1 time; read 25" in result.err


class Fed:
    """A source as a status sees it."""

    def __init__(self, label: str) -> None:
        self.label = self.interface = label
        self.failures, self.is_failed = 0, False


def test_nobody_goes_on_where_all_have_failed(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(liveness_ns=SECOND_NS, on_failure="go-on")
    east, west = Fed("east"), Fed("west")
    status = with_failures(
        Progress(lambda: (0, 0), wanted=False), lambda: (east, west), settings, quiet=False
    )
    for source, then in (
        (east, "the others go on without it"),
        (west, "there is no other to go on: it is waited for"),
    ):
        source.failures, source.is_failed = 1, True
        status.finish()
        told = f"gigastream: {source.label} has failed: nothing for 1 s; {then}\n"
        assert capsys.readouterr().err == told


def test_a_property_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('[interface.east]\nliveness = "soon"\n')
    result = gigastream("run", "-e", TENS, "-r", "east", "-c", "own.toml", cwd=tmp_path)
    assert result.code == 2
    assert "interface.east: liveness: 'soon' is not a time such as 10ms or 1s" in result.err

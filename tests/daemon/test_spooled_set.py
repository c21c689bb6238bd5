# SPDX-License-Identifier: Apache-2.0
"""The low level of an attached set in a spool that outlasts it, and disks that are full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE

from gigastream.cli.main import run_command_line
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.source import SourceFile
from gigastream.outputs import OutputQuery
from gigastream.outputs.rotating import RotatingOutput
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.sessions.spooled_set import SpooledSet
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import NOTHING, Spool, SpoolError, SpoolSettings
from tests.room import files_no_larger_than
from tests.waiting import wait_until

HEAD_BYTES, RECORD_BYTES = 24, 16
SECOND = 10**9
PACKETS = 2010
"""Of the demo's capture."""
SETTINGS = Settings(slots=16, batch_rows=20, disorder_bytes=4096)
"""Rows come in small batches, and their time is promised soon."""
FRAMES = "DEFINE { query_name frames; } SELECT time, len, timestamp FROM PKT"
PAIRS = (
    "DEFINE { query_name pairs; } SELECT tb, srcIP, destIP, count(*) AS n FROM IP "
    "GROUP BY time/10 AS tb, srcIP, destIP"
)
BY_HAND = SpoolSettings(segment_age_ns=10**15)


def texts_of(text: str) -> QueryTexts:
    return QueryTexts((SourceFile("query.gsql", text),), interfaces={"default": {}})


def plan_of(texts: QueryTexts) -> Plan:
    return plan_queries(check_texts(texts).queries)


@dataclass
class Work:
    """A spool, and sets that are attached into it."""

    root: Path
    now_ns: int = 0
    told: list[str] = field(default_factory=list)

    @contextmanager
    def attached(
        self, text: str, path: Path, how: SpoolSettings = BY_HAND, **more: Any
    ) -> Iterator[Attached]:
        """A set at work over a capture, which is taken for a link."""
        texts = texts_of(text)
        plan = plan_of(texts)
        more = {"live": ["default"], **more}
        with ExitStack() as opened:
            queries = opened.enter_context(AttachedSet(plan, SETTINGS, low_taps=True))
            spooled = SpooledSet(
                plan, texts, self.root, how, tell=self.told.append, clock=self.clock, **more
            )
            opened.callback(spooled.close)
            engine = opened.enter_context(Engine(SETTINGS))
            engine.add_files([FileSource("default", str(path))], spooled.promises())
            engine.attach(queries)
            engine.start()
            yield Attached(engine, queries, spooled)

    def clock(self) -> int:
        return self.now_ns

    def write(self, text: str, path: Path, how: SpoolSettings = BY_HAND, **more: Any) -> SpooledSet:
        """All of a capture; the set is gone afterwards."""
        with self.attached(text, path, how, **more) as going:
            going.read()
        return going.spooled

    def answer(self) -> bytes:
        """What a run over the spool answers."""
        output = self.root.with_name("answer.csv")
        words = ["--spool", str(self.root), "-o", f"csv:{output}", "--quiet"]
        run_command_line(["run", *words])
        return b"".join(sorted(output.read_bytes().splitlines(keepends=True)[1:]))

    def told_lost(self) -> int:
        """What the spool says of rows that could not be written."""
        lost = 0
        for track in Spool(self.root).tracks():
            track.poll()
            lost += sum(each.unwritten_rows for each in track.lost)
        return lost

    def listed(self) -> int:
        return sum(
            entry.rows
            for track in Spool(self.root).tracks()
            for entry in track.poll()
            if entry.is_segment
        )


@dataclass
class Attached:
    """A set at work."""

    engine: Engine
    queries: AttachedSet
    spooled: SpooledSet
    rows: list[tuple[str, Any]] = field(default_factory=list)

    def read(self, packets: int = 1 << 20) -> None:
        """Read so many packets, or the rest."""
        until, goes_on = self.packets_read + packets, True
        while goes_on and self.packets_read < until:
            goes_on = self.engine.run(until - self.packets_read, 0)
            self.take(self.queries.taken())

    def detach(self) -> None:
        self.engine.detach(self.queries)
        self.take(self.queries.drained())
        self.spooled.close()

    def take(self, events: Any) -> None:
        for event in events:
            if not self.spooled.write(event):
                self.rows.append((event.query, event.batch))
        self.spooled.tick()

    @property
    def packets_read(self) -> int:
        return sum(source.read for source in self.engine.statistics())


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "spool")


@pytest.fixture
def parts(tmp_path: Path) -> Sequence[Path]:
    """The demo's capture in four parts."""
    data = DEMO_CAPTURE.read_bytes()
    ends, at = [], HEAD_BYTES
    while at < len(data):
        at += RECORD_BYTES + int.from_bytes(data[at + 8 : at + 12], "little")
        ends.append(at)
    cuts = [HEAD_BYTES, *(ends[len(ends) * n // 4 - 1] for n in (1, 2, 3, 4))]
    paths = [tmp_path / f"part-{n}.pcap" for n in range(4)]
    for path, start, end in zip(paths, cuts, cuts[1:], strict=False):
        path.write_bytes(data[:HEAD_BYTES] + data[start:end])
    return paths


def whole(text: str, tmp_path: Path) -> bytes:
    """What a run without a spool answers."""
    output = tmp_path / "whole.csv"
    words = ["-e", text, "-r", str(DEMO_CAPTURE), "-o", f"csv:{output}", "--quiet"]
    assert run_command_line(["run", *words]) == 0
    return b"".join(sorted(output.read_bytes().splitlines(keepends=True)[1:]))


# ---- over detach and attach, and over processes ----


@pytest.mark.parametrize("text", [FRAMES, PAIRS], ids=["frames", "pairs"])
def test_a_spool_outlasts_the_sets_that_write_it(
    text: str, work: Work, parts: Sequence[Path], tmp_path: Path
) -> None:
    promised = NOTHING
    for part in parts:
        spooled = work.write(text, part)
        assert spooled.promises()["default"] >= promised
        promised = spooled.promises()["default"]
        assert (spooled.lost, spooled.failure) == (0, None)
    assert [track.generation for track in Spool(work.root).tracks()] == [1]
    assert work.answer() == whole(text, tmp_path)
    assert work.told == []


def test_a_set_that_is_detached_in_a_window_goes_on_with_it(
    work: Work, parts: Sequence[Path], tmp_path: Path
) -> None:
    """Its packets are all there, whichever set has seen them."""
    with work.attached(PAIRS, DEMO_CAPTURE) as going:
        for _ in range(5):
            going.read(100)
            going.detach()
            texts = texts_of(PAIRS)
            going.queries = AttachedSet(plan_of(texts), SETTINGS, low_taps=True)
            going.spooled = SpooledSet(
                plan_of(texts), texts, work.root, BY_HAND, live=["default"], tell=work.told.append
            )
            going.engine.attach(going.queries)
        going.read()
        going.spooled.close()
        assert work.answer() == whole(PAIRS, tmp_path)
        assert work.told == []


def test_both_levels_at_once(work: Work, tmp_path: Path) -> None:
    query = OutputQuery("pairs", ("tb", "srcIP", "destIP", "n"), *[(False,) * 4] * 3, lambda: None)
    output = RotatingOutput("csv", f"{tmp_path}/rows/", [query], rotate_bytes=2000)
    with work.attached(PAIRS, DEMO_CAPTURE) as going:
        going.read()
        for name, batch in going.rows:
            output.write(name, batch)
    output.close()
    lines = [
        line
        for path in (tmp_path / "rows").iterdir()
        for line in path.read_bytes().splitlines(keepends=True)[1:]
    ]
    assert output.files > 1
    assert b"".join(sorted(lines)) == work.answer() == whole(PAIRS, tmp_path)


def test_a_file_is_spooled_anew_and_ends(work: Work, tmp_path: Path) -> None:
    for _ in range(2):
        work.write(FRAMES, DEMO_CAPTURE, live=[], files=["default"])
    (track,) = Spool(work.root).tracks()
    track.poll()
    assert (track.generation, track.is_ended) == (2, True)
    assert work.answer() == whole(FRAMES, tmp_path)


def test_a_spool_that_is_ahead_of_the_engine_begins_anew(work: Work, parts: Sequence[Path]) -> None:
    promised = work.write(FRAMES, parts[1]).promises()["default"]
    with work.attached(FRAMES, parts[0], reached={"default": promised - 1}) as going:
        assert going.spooled.promises() == {}
        going.read()
    assert going.spooled.rows > 0
    assert [track.generation for track in Spool(work.root).tracks()] == [2]
    assert len(work.told) == 1
    assert "ahead of the packets of default" in work.told[0]
    work.write(FRAMES, parts[3], reached={"default": promised * 2})
    assert len(work.told) == 1


def test_what_cannot_be_spooled_is_refused(work: Work) -> None:
    with pytest.raises(GsqlError), work.attached(f"{FRAMES} LIMIT 3", DEMO_CAPTURE):
        pass
    work.root.write_text("no folder")
    with pytest.raises(SpoolError), work.attached(FRAMES, DEMO_CAPTURE):
        pass


def test_two_do_not_write_one_spool(work: Work) -> None:
    with (
        work.attached(FRAMES, DEMO_CAPTURE),
        pytest.raises(SpoolError, match="another run writes"),
        work.attached(PAIRS, DEMO_CAPTURE),
    ):
        pass


# ---- disks that are full ----


def test_what_a_full_disk_takes_is_counted_told_and_said_in_the_spool(work: Work) -> None:
    how = SpoolSettings(segment_rows=100, segment_age_ns=10**15)
    with work.attached(FRAMES, DEMO_CAPTURE, how) as going:
        going.read(300)
        with files_no_larger_than(1000):
            going.read(600)
            wait_until(lambda: fails(going.spooled), "a failure")
        work.now_ns += 60 * SECOND
        going.read()
        assert going.spooled.failure is None
    spooled = going.spooled
    assert spooled.lost > 0
    assert spooled.rows == work.listed()
    assert spooled.rows + spooled.lost == PACKETS
    assert work.told_lost() == spooled.lost
    assert "rows are lost until" in work.told[0]
    assert f"written again; {spooled.lost} rows are lost" in work.told[-1]


def fill(going: Attached) -> None:
    """Read all while no file can be written."""
    with files_no_larger_than(1000):
        going.read()
        wait_until(lambda: fails(going.spooled), "a failure")


def fails(spooled: SpooledSet) -> bool:
    spooled.tick()
    return spooled.failure is not None


def test_what_is_lost_to_the_end_is_said_if_it_can_be(work: Work) -> None:
    with work.attached(FRAMES, DEMO_CAPTURE, SpoolSettings(segment_rows=100)) as going:
        fill(going)
    assert going.spooled.lost == work.told_lost() > 0
    assert going.spooled.rows == work.listed()


def test_a_file_that_ended_while_its_disk_was_full_ends(work: Work) -> None:
    settings = SpoolSettings(segment_rows=100)
    with work.attached(FRAMES, DEMO_CAPTURE, settings, live=[], files=["default"]) as going:
        fill(going)
    (track,) = Spool(work.root).tracks()
    track.poll()
    assert track.is_ended


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "gigastream-test", str(disk)]
    subprocess.run(command, check=True)
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.privileged
def test_a_disk_that_has_room_again_is_written_again(small_disk: Path) -> None:
    work = Work(small_disk / "spool")
    (small_disk / "ballast").write_bytes(bytes(170_000))
    with work.attached(FRAMES, DEMO_CAPTURE, SpoolSettings(segment_rows=50)) as going:
        packets = 0
        while going.spooled.failure is None and packets < 10_000:
            going.read(50)
            packets += 50
        assert "space left" in (going.spooled.failure or "")
        (small_disk / "ballast").unlink()
        work.now_ns += 60 * SECOND
        going.read()
    assert going.spooled.rows == work.listed()
    assert going.spooled.lost == work.told_lost() > 0
    assert going.spooled.rows + going.spooled.lost == PACKETS


def test_a_spool_that_was_taken_away_is_made_again_as_soon_as_it_can_be(work: Work) -> None:
    """Though it could not be at first: where it was something else was in the way."""
    with work.attached(FRAMES, DEMO_CAPTURE, SpoolSettings(segment_rows=50)) as going:
        going.read(300)
        wait_until(lambda: work.listed() > 0, "rows in the one that is taken")
        work.root.rename(work.root.with_name("taken"))
        work.root.touch()
        going.read(300)
        wait_until(lambda: fails(going.spooled), "a failure")
        for _ in range(3):
            going.spooled.rotate()
            assert going.spooled.failure is not None
        work.root.unlink()
        going.spooled.rotate()
        assert going.spooled.failure is None
        going.read()
    assert going.spooled.rows > work.listed() > 0
    assert going.spooled.rows + going.spooled.lost == PACKETS
    assert work.told_lost() == going.spooled.lost


# ---- retention ----


@pytest.mark.parametrize("kept", [{"keep_bytes": 5000}, {"keep_age_ns": 1}], ids=str)
def test_old_segments_go_while_the_set_is_at_work(kept: dict[str, int], work: Work) -> None:
    how = SpoolSettings(segment_rows=50, keep_margin_ns=0, **kept)
    with work.attached(FRAMES, DEMO_CAPTURE, how) as going:
        going.read(100)  # one segment, which may go at once
        (track,) = Spool(work.root).tracks()
        track.commit("slow", 0)  # the others wait for it
        going.read(300)
        track.commit("slow", 3)
        # What a reader has not committed stays; then it goes, without a row that would cause it.
        wait_until(lambda: segments(work)[:1] == [3], "retention to come to the reader")
        track.commit("slow", 1000)
        wait_until(lambda: size_bytes(work) <= kept.get("keep_bytes", 0), "the rest to be deleted")
        going.read()
        wait_until(lambda: size_bytes(work) <= kept.get("keep_bytes", 0), "the last to be deleted")
        assert (going.spooled.lost, going.spooled.failure) == (0, None)


def segments(work: Work) -> list[int]:
    (track,) = Spool(work.root).tracks()
    return sorted(int(path.stem.split("-")[-1]) for path in Path(track.folder).glob("*.arrow*"))


def size_bytes(work: Work) -> int:
    (track,) = Spool(work.root).tracks()
    found = 0
    for path in Path(track.folder).glob("*.arrow*"):
        with suppress(FileNotFoundError):
            found += path.stat().st_size
    return found

# SPDX-License-Identifier: Apache-2.0
"""The capture process over files: orders, outputs, tails and reports."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from errno import EIO
from pathlib import Path
from typing import BinaryIO

import pyarrow
import pytest

from gigastream.daemon import capture_process
from gigastream.daemon.capture_process import _Capture
from gigastream.daemon.messages import (
    AttachOrder,
    CaptureNote,
    CaptureReport,
    DetachOrder,
    OrderDone,
    RenewOrder,
    RotateOrder,
    TailOrder,
    TailRows,
    UntailOrder,
)
from gigastream.daemon.running_set import RunningSet
from gigastream.engine.batch import EngineError
from gigastream.engine.engine import Engine
from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream
from tests.daemon.capture import Captured, capturing, object_of, output_to, start_of
from tests.engine.test_pipes import HEADER, bytes_of
from tests.engine.traffic import packet
from tests.live.namespace import folder_for_all
from tests.waiting import wait_until

FRAMES = """DEFINE { query_name frames; }
    SELECT tb, count(*) AS n, sum(len) AS bytes FROM ETH GROUP BY time AS tb"""
TALKERS = """DEFINE { query_name talkers; }
    SELECT tb, srcIP, sum(len) AS bytes FROM IP GROUP BY time/10 AS tb, srcIP"""
FEW = "DEFINE { query_name few; } SELECT time, srcIP FROM IP LIMIT 3"
ALL = "DEFINE { query_name all; } SELECT time, srcIP, destIP, len, id FROM IPV4"
FILES = (("default", str(DEMO_CAPTURE)),)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where who captures may write, and reads the objects."""
    with folder_for_all() as made:
        made.chmod(0o777)
        yield made


def alone(text: str) -> list[str]:
    """The rows of a run of its own."""
    done = gigastream("run", "-e", text, "-r", DEMO_CAPTURE, "-o", "csv")
    assert done.code == 0, done.err
    return done.lines


def test_a_set_is_answered_as_by_a_run(folder: Path) -> None:
    """With all counters in the last frame."""
    frames = object_of(folder, "frames", FRAMES, ["default"])
    with capturing(start_of(folder, files=FILES)) as capture:
        assert capture.attach("first", frames, output_to(folder / "frames.csv")).error is None
        over = capture.over()
    assert over.error is None
    assert capture.code == 0
    assert (folder / "frames.csv").read_text().splitlines() == alone(FRAMES)
    (source,), (found,) = over.report.sources, over.report.sets
    assert source.read == source.decoded + source.late + source.undecodable == 2010
    assert found.rows == {"frames": len(alone(FRAMES)) - 1}
    assert [(o.rows, o.lost, o.failure) for o in found.outputs] == [(found.rows["frames"], 0, None)]
    assert over.report.cpu_ns > 0
    assert over.report.rss_anon_bytes > 0
    assert over.report.descriptors > 0


def test_sets_that_are_there_at_the_start_see_the_first_packet(folder: Path) -> None:
    """One whose answer is whole, too, ends nothing."""
    outputs = {"few": FEW, "frames": FRAMES, "talkers": TALKERS}
    sets = tuple(
        AttachOrder(
            number=number,
            name=name,
            object_path=str(object_of(folder, name, text, ["default"])),
            outputs=(output_to(folder / f"{name}.csv"),),
        )
        for number, (name, text) in enumerate(outputs.items())
    )
    with capturing(start_of(folder, files=FILES, sets=sets)) as capture:
        capture.over()
    assert [m.number for m in capture.said if isinstance(m, OrderDone)] == [0, 1, 2]
    for name, text in outputs.items():
        rows = (folder / f"{name}.csv").read_text().splitlines()
        assert sorted(rows) == sorted(alone(text))


@pytest.mark.long
def test_a_spool_has_the_low_level(folder: Path) -> None:
    """Beside the rows in a file; read again it gives the same answer."""
    frames = object_of(folder, "frames", FRAMES, ["default"])
    outputs = (output_to(folder / "frames.csv"), output_to(folder / "spool", "spool"))
    order = AttachOrder(number=1, name="first", object_path=str(frames), outputs=outputs)
    with capturing(start_of(folder, files=FILES, sets=(order,))) as capture:
        assert capture.last(OrderDone).error is None
        (found,) = capture.over().report.sets
    assert [(o.lost, o.failure) for o in found.outputs] == [(0, None)] * 2
    assert (folder / "frames.csv").read_text().splitlines() == alone(FRAMES)
    read = gigastream("run", "--spool", folder / "spool", "-o", "csv")
    assert read.lines == alone(FRAMES), read.err


@pytest.fixture
def waiting(folder: Path) -> Iterator[Captured]:
    """A capture that waits for its first set."""
    with capturing(start_of(folder, files=FILES, report_ns=10_000_000)) as capture:
        yield capture


def test_what_cannot_be_carried_out_is_refused_and_changes_nothing(
    waiting: Captured, folder: Path
) -> None:
    frames = object_of(folder, "frames", FRAMES, ["default"])
    broken = folder / "broken.so"
    broken.write_bytes(frames.read_bytes()[:-100])
    number = waiting.number
    refusals = {
        "no query set 'x'": waiting.done(DetachOrder(number=number(), name="x")),
        "no query set 'y'": waiting.done(RotateOrder(number=number(), name="y")),
        "puts out 'q'": waiting.done(TailOrder(number=number(), query="q", set_name=None)),
        "damaged": waiting.attach("a", broken),
        "No such file": waiting.attach("b", folder / "absent.so"),
        "File exists": waiting.attach("c", frames, output_to(frames / "rows.csv")),
    }
    for part, done in refusals.items():
        assert done.error is not None
        assert part in done.error
        assert "Traceback" not in done.error
    assert waiting.report().sets == ()
    assert waiting.end().error is None


def test_a_tail_has_the_rows_of_its_query(waiting: Captured, folder: Path) -> None:
    """And is told that nothing follows."""
    order = waiting.attach_order("few", object_of(folder, "few", FEW, ["default"]))
    tail = TailOrder(number=waiting.number(), query="few", set_name=None)
    waiting.order(order, tail)
    assert waiting.wait(OrderDone, lambda done: done.number == tail.number).error is None
    waiting.over()
    *rows, last = waiting.tail_rows(tail.number)
    tables = [pyarrow.ipc.open_stream(part.arrow).read_all() for part in rows]
    assert sum(table.num_rows for table in tables) == 3
    assert tables[0].column_names == ["time", "srcIP"]
    assert last.over
    assert not last.arrow


def test_a_set_that_fails_is_told_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the log, and to who watches it; the other goes on."""
    gives = RunningSet.give

    def give(running: RunningSet) -> None:
        if running.name == "broken" and running.collect():
            raise OSError(EIO, "Input/output error", "/dev/x")
        gives(running)

    monkeypatch.setattr(RunningSet, "give", give)
    frames = object_of(folder, "frames", FRAMES, ["default"])
    with capturing(start_of(folder, files=FILES)) as capture:
        orders = [
            capture.attach_order(name, frames, output_to(folder / f"{name}.csv"))
            for name in ("broken", "frames")
        ]
        tail = TailOrder(number=capture.number(), query="frames", set_name="broken")
        capture.order(*orders, tail)
        over = capture.over()
    note = "broken: it has failed, and gets no more packets: /dev/x: Input/output error"
    assert [message.text for message in capture.said if isinstance(message, CaptureNote)] == [note]
    assert [found.failure for found in over.report.sets] == ["/dev/x: Input/output error", None]
    (last,) = capture.tail_rows(tail.number)
    assert last.over
    assert capture.said.index(last) < capture.said.index(over)
    rows = (folder / "frames.csv").read_text().splitlines()
    assert 1 < len(rows) == len(set(rows) & set(alone(FRAMES)))


def test_a_set_that_there_is_no_memory_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused in words, with what would help."""

    def begin(_: RunningSet) -> None:
        raise MemoryError

    monkeypatch.setattr(RunningSet, "begin", begin)
    with capturing(start_of(folder)) as capture:
        error = capture.attach("a", object_of(folder, "frames", FRAMES, ["default"])).error
        assert error == "there is not enough memory for it (ulimit -v; MemoryMax= of a service)"
        assert capture.end().error is None


def test_a_kernel_that_takes_no_filter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives more packets, which is told: sets come and go all the same."""

    def set_prefilter(_: Engine, program: object) -> None:
        if program is not None:
            raise EngineError("Cannot allocate memory")

    monkeypatch.setattr(Engine, "set_prefilter", set_prefilter)
    monkeypatch.setattr(_Capture, "_has_prefilter", True)
    monkeypatch.setattr(_Capture, "_read", lambda capture: not capture._ends)
    with capturing(start_of(folder, files=FILES)) as capture:
        text = "DEFINE { query_name port; } SELECT time FROM TCP WHERE destPort = 8080"
        assert capture.attach("first", object_of(folder, "port", text, [])).error is None
        drop = DetachOrder(number=capture.number(), name="first")
        assert capture.done(drop).error is None
        assert capture.end().error is None
    told = capture.last(CaptureNote).text
    assert told == "the kernel rejects less than it could: Cannot allocate memory"


def test_rows_that_wait_for_a_slow_supervisor_go_out_while_the_input_is_silent(
    folder: Path,
) -> None:
    """Nothing else is due for a quarter of an hour; orders are answered at once, too."""
    count, fifo = 60_000, folder / "packets"
    os.mkfifo(fifo)
    writing = os.open(fifo, os.O_RDWR)
    fifo.chmod(0o666)
    os.write(writing, HEADER)
    start = start_of(folder, files=(("default", str(fifo)),), report_ns=1_000_000_000_000)
    with capturing(start) as capture:
        capture.attach("all", object_of(folder, "all", ALL, ["default"]))
        tail = TailOrder(number=capture.number(), query="all", set_name=None)
        capture.done(tail)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(bytes_of([packet(1)]) * count)
            pipe.flush()
            wait_until(lambda: not _unread(pipe), "that the packets are read")
            capture.wait(TailRows, lambda _: _rows_of(capture, tail.number) == count)


def _unread(pipe: BinaryIO) -> bool:
    return bool(select.select([pipe], [], [], 0)[0])


def _rows_of(capture: Captured, tail: int) -> int:
    return sum(part.rows for part in capture.tail_rows(tail))


def test_who_hangs_up_ends_it(waiting: Captured) -> None:
    waiting.hang_up()
    assert waiting.reap() == 0


def test_nothing_is_written_outside_its_folders(folder: Path) -> None:
    """The kernel refuses it; the rows are counted."""
    frames = object_of(folder, "frames", FRAMES, ["default"])
    with folder_for_all() as other:
        other.chmod(0o777)
        with capturing(start_of(folder, files=FILES)) as capture:
            capture.attach("first", frames, output_to(other / "frames.csv"))
            (found,) = capture.over().report.sets
    (output,) = found.outputs
    assert (output.rows, output.lost) == (0, found.rows["frames"])
    assert "Permission denied" in (output.failure or "")


@pytest.mark.privileged
def test_a_folder_that_the_user_cannot_write_is_refused(waiting: Captured, folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(0o700)
    frames = object_of(folder, "frames", FRAMES, ["default"])
    done = waiting.attach("first", frames, output_to(closed / "frames.csv"))
    assert "ermission denied" in (done.error or "") or "cannot be written" in (done.error or "")
    assert waiting.report().sets == ()


def test_a_link_that_was_renewed_is_reported_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports between two that are due repeat the last one: by it the link would still be gone."""
    monkeypatch.setattr(capture_process, "renew_rings", lambda *_: None)
    with capturing(start_of(folder, report_ns=10**15)) as capture:
        capture.wait(CaptureReport)
        capture.order(RenewOrder(number=capture.number(), link=0))
        assert capture.report().incarnation == 0


def test_reports_come_by_themselves(waiting: Captured) -> None:
    waiting.done(UntailOrder(number=waiting.number(), tail=5))
    wait_until(
        lambda: waiting.hear(1) and sum(isinstance(m, CaptureReport) for m in waiting.said) > 2,
        "reports",
    )
    assert waiting.end().report.incarnation == 0

# SPDX-License-Identifier: Apache-2.0
"""Spools that a whole daemon writes on a real link: read beside it, killed, full, changed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow
import pytest
from pyarrow import compute

from gigastream.daemon.client import RefusedError
from gigastream.daemon.messages import (
    AddSet,
    DropSet,
    OutputStatistics,
    QuerySetSpec,
    RotateOutputs,
    SetParameter,
    SpoolSpec,
    TailQuery,
)
from gigastream.spool import Spool
from tests.cli.command import COMMAND
from tests.daemon.resident import COUNTS, Daemon, end, started
from tests.live.namespace import Namespace
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long]

FRAMES = "DEFINE { query_name frames; } SELECT time, len, timestamp FROM PKT"
SOON = SpoolSpec(segment_age_ns=50_000_000)
ROOM_BYTES = 1 << 20


def add(daemon: Daemon, name: str, text: str, root: Path, **more: object) -> None:
    """Add a set whose low level goes into a spool."""
    options = {"outputs": (f"spool:{root}",), "low_level_only": True, "spool": SOON, **more}
    spec = QuerySetSpec(name=name, text=text, **options)  # type: ignore[arg-type]
    daemon.ask(AddSet(query_set=spec))


def listed(root: Path) -> int:
    """Rows that readers see."""
    return sum(
        entry.rows for track in Spool(root).tracks() for entry in track.poll() if entry.is_segment
    )


def generations(root: Path) -> set[int]:
    return {track.generation for track in Spool(root).tracks()}


def output(daemon: Daemon) -> OutputStatistics:
    """Of the one set, by the last report."""
    wait_until(lambda: bool(daemon.report().sets), "a report of the set")
    (running,) = daemon.report().sets
    return next(each for each in running.outputs if each.format == "spool")


def reader(root: Path, path: Path) -> subprocess.Popen[bytes]:
    """`gigastream run` over a spool, which goes on until nobody writes it."""
    words = ("run", "--spool", root, "-o", f"csv:{path}", "--quiet")
    return subprocess.Popen(list(map(str, (*COMMAND, *words))))


def read_rows(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:]


def verified(root: Path) -> bool:
    words = list(map(str, (*COMMAND, "spool", "verify", root)))
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def kill_capture(daemon: Daemon) -> None:
    """The next one has said something when this returns."""
    status = daemon.status()
    assert status.capture_pid is not None
    os.kill(status.capture_pid, signal.SIGKILL)
    wait_until(lambda: daemon.report().incarnation > status.incarnation, "the next one")


@pytest.mark.parametrize("only", [True, False], ids=["alone", "beside-rows"])
def test_a_spool_is_read_beside_the_daemon(daemon: Daemon, only: bool) -> None:
    root, answer = daemon.folder / "out" / "spool", daemon.folder / "answer.csv"
    files = () if only else (f"csv:{daemon.folder}/out/counts.csv",)
    outputs = (f"spool:{root}", *files)
    add(daemon, "counts", COUNTS, root, outputs=outputs, low_level_only=only, first_window="cut")
    reading = reader(root, answer)
    daemon.send(100)
    wait_until(lambda: daemon.read() >= 100, "the packets")
    if only:
        with pytest.raises(RefusedError, match="the low level alone runs here"):
            daemon.ask(TailQuery(query="counts"))
    assert daemon.stop() == 0
    assert reading.wait(PATIENCE_S) == 0
    assert sum(int(row.split(",")[1]) for row in read_rows(answer)) == 100
    assert verified(root)
    if not only:
        assert sorted(daemon.rows("counts")) == sorted(read_rows(answer))


def test_several_streams_and_sets(daemon: Daemon) -> None:
    """Two queries of a set in one spool, and another set's beside it."""
    out = daemon.folder / "out"
    add(daemon, "both", f"{FRAMES};\n{COUNTS};", out / "both", first_window="cut")
    add(daemon, "frames", FRAMES, out / "frames")
    daemon.send(100)
    wait_until(lambda: listed(out / "frames") == 100, "the rows")
    assert daemon.stop() == 0
    assert {track.stream for track in Spool(out / "both").tracks()} == {"frames", "counts_low"}
    answers = daemon.folder / "answers"
    answers.mkdir()
    assert reader(out / "both", answers).wait(PATIENCE_S) == 0
    assert len(read_rows(answers / "frames.csv")) == 100
    assert sum(int(row.split(",")[1]) for row in read_rows(answers / "counts.csv")) == 100


def test_the_next_incarnation_goes_on_with_a_spool(daemon: Daemon) -> None:
    """With its generation, and no row twice."""
    root = daemon.folder / "out" / "spool"
    add(daemon, "frames", FRAMES, root)
    daemon.send(100)
    wait_until(lambda: listed(root) == 100, "the rows")
    kill_capture(daemon)
    daemon.send(100)
    wait_until(lambda: listed(root) == 200, "the rows of the next one")
    assert generations(root) == {1}
    assert daemon.stop() == 0
    assert verified(root)
    answer = daemon.folder / "answer.csv"
    assert reader(root, answer).wait(PATIENCE_S) == 0
    assert len(read_rows(answer)) == 200


def test_a_parameter_is_changed_under_a_spool(daemon: Daemon) -> None:
    """A generation each, which is ended; each packet is in one of them, once."""
    root, answer = daemon.folder / "out" / "spool", daemon.folder / "answer.csv"
    add(daemon, "counts", COUNTS, root)
    for count, least in enumerate((1, 2, 1), 1):
        daemon.send(100)
        wait_until(lambda: daemon.read() >= 100 * count, "the packets")  # noqa: B023
        daemon.ask(SetParameter(name="counts", parameter="least", value=str(least)))
    daemon.send(100)
    wait_until(lambda: daemon.read() >= 400, "the packets")
    assert output(daemon).failure is None
    assert daemon.stop() == 0
    assert generations(root) == {4}
    files = sorted(root.rglob("segment-*"))
    assert {file.parent.name for file in files} == {"000001", "000002", "000003", "000004"}
    assert sum(partial_counts(file) for file in files) == 400
    assert reader(root, answer).wait(PATIENCE_S) == 0
    assert sum(int(row.split(",")[1]) for row in read_rows(answer)) == 100
    assert verified(root)
    assert "anew" not in daemon.told()


def partial_counts(segment: Path) -> int:
    """Packets that partial groups have counted."""
    with segment.open("rb") as file:
        rows = pyarrow.ipc.open_stream(file).read_all()
    return int(compute.sum(rows["count0"]).as_py())


def test_a_set_that_comes_again_goes_on_with_its_spool(daemon: Daemon) -> None:
    root = daemon.folder / "out" / "spool"
    for count in (1, 2):
        add(daemon, "frames", FRAMES, root)
        with pytest.raises(RefusedError, match="is an output of frames"):
            add(daemon, "other", FRAMES, root)
        daemon.send(100)
        wait_until(lambda: listed(root) == 100 * count, "the rows")  # noqa: B023
        daemon.ask(DropSet(name="frames"))
    assert generations(root) == {1}
    assert "anew" not in daemon.told()


# ---- disks ----


@pytest.fixture
def small_disk(common_folder: Path) -> Iterator[Path]:
    """Of 1 MiB, which everybody may write."""
    disk = common_folder / "disk"
    disk.mkdir()
    options = f"size={ROOM_BYTES},mode=777"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "gigastream-test", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def fill(ballast: Path) -> bool:
    """Leave no room: once more, where what was being replaced has left some."""
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return True


def test_a_full_disk_costs_rows_and_no_more(
    space: Namespace, common_folder: Path, small_disk: Path
) -> None:
    """Not even where the capture process is killed meanwhile, and begins while it is full."""
    daemon = started(space, common_folder, "--folder", small_disk)
    root = small_disk / "spool"
    try:
        add(daemon, "frames", FRAMES, root)
        daemon.send(100)
        wait_until(lambda: listed(root) == 100, "the rows")
        ballast = small_disk / "ballast"
        wait_until(lambda: fill(ballast) and output(daemon).failure is not None, "no room")
        daemon.send(100)
        wait_until(lambda: output(daemon).lost == 100, "what is lost")
        assert "no space left" in (output(daemon).failure or "")
        kill_capture(daemon)
        daemon.send(100)
        wait_until(lambda: output(daemon).lost == 100, "what the next one loses")
        ballast.unlink()
        daemon.ask(RotateOutputs())
        wait_until(lambda: output(daemon).failure is None, "that it is written")
        daemon.send(100)
        wait_until(lambda: listed(root) == 200, "the rows")
        assert generations(root) == {1}
        notices = "\n".join(daemon.status().notices)
        assert "frames: " in notices
        assert "written again; 100 rows are lost" in notices
        assert daemon.stop() == 0
        assert verified(root)
    finally:
        end(daemon)


def test_a_spool_that_was_taken_away_is_made_again(daemon: Daemon) -> None:
    """As soon as it can be: what comes before is lost."""
    out, root = daemon.folder / "out", daemon.folder / "out" / "spool"
    add(daemon, "frames", FRAMES, root)
    daemon.send(100)
    wait_until(lambda: listed(root) == 100, "the rows")
    with unwritable(out):  # it would be made again within a second: before the packets, or after
        root.rename(out / "taken")  # at once: files that are deleted one by one may come again
        daemon.send(100)
        wait_until(lambda: output(daemon).lost == 100, "what is lost")
    daemon.ask(RotateOutputs())
    wait_until(lambda: output(daemon).failure is None, "that it is written")
    daemon.send(100)
    wait_until(lambda: root.exists() and listed(root) == 100, "the rows")


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """A folder in which the daemon makes nothing."""
    owner = folder.stat()
    os.chown(folder, 0, 0)
    try:
        yield
    finally:
        os.chown(folder, owner.st_uid, owner.st_gid)


def test_what_cannot_be_spooled_is_refused(daemon: Daemon) -> None:
    """Before anything is changed."""
    out = daemon.folder / "out"
    with pytest.raises(RefusedError, match="LIMIT"):
        add(daemon, "few", f"{FRAMES} LIMIT 3", out / "spool")
    tables = (f"spool:{out}/spool", f"duckdb:{out}/t.db")
    with pytest.raises(RefusedError, match="this daemon fills no tables") as refused:
        add(daemon, "table", FRAMES, out, outputs=tables)
    assert refused.value.hint == "tables = true in its configuration, and a restart"
    (out / "other").mkdir()
    (out / "other" / "file").write_text("of somebody")
    with pytest.raises(RefusedError, match="neither empty nor a spool"):
        add(daemon, "frames", FRAMES, out / "other")
    (out / "shut").mkdir(mode=0o700)
    with pytest.raises(RefusedError, match="permission denied"):
        add(daemon, "frames", FRAMES, out / "shut")
    assert daemon.status().sets == {}
    assert {path.name for path in out.iterdir()} == {"other", "shut"}


# ---- retention ----


def test_a_configured_spool_forgets_what_is_old(space: Namespace, common_folder: Path) -> None:
    """By bytes, as its table says; and its age is in the reports."""
    root = common_folder / "spools" / "frames"
    config = common_folder / "gigastream.toml"
    config.write_text(
        f'[[link]]\ndevice = "{space.near}"\n[[query]]\nname = "frames"\ntext = "{FRAMES}"\n'
        f'output = ["spool:{root}"]\nlow-level-only = true\n'
        'segment-rows = 10\nsegment-age = "10ms"\nkeep-bytes = "3kB"\nkeep-margin = "0s"\n'
    )
    daemon = started(space, common_folder, "-c", config)
    try:
        daemon.send(100)
        wait_until(lambda: daemon.read() >= 100 and output(daemon).rows == 100, "the rows")
        wait_until(lambda: kept_bytes(root) <= 3000, "retention")
        report = daemon.report()
        assert 0 < (report.sets[0].outputs[0].oldest_ns or 0) <= report.at_ns
        assert report.sets[0].queries == ()
        assert daemon.stop() == 0
        assert verified(root)
    finally:
        end(daemon)


def kept_bytes(root: Path) -> int:
    found = 0
    for path in list(root.rglob("segment-*")):
        with suppress(FileNotFoundError):  # it went meanwhile
            found += path.stat().st_size
    return found

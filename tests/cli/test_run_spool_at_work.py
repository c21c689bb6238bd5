# SPDX-License-Identifier: Apache-2.0
"""Spools that are written while they are read, and runs that go on where others ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, gigastream, started, wait_until_read
from cli.spooled import QUERY, Rows, csv_rows, entries, read, segments, write

from gigastream.spool import END, Spool
from tests.waiting import PATIENCE_S, wait_until

# A writer at work


def writer(root: Path, *words: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A run that reads what is written to its stdin, into a spool."""
    asked = ("-e", QUERY, "-r", "-", "--slack", "0.1s", "--segment-age", "50ms", "--stats", "json")
    return started(*asked, "-o", f"spool:{root}", *words, stdin=subprocess.PIPE)


def reader(root: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A run that follows a spool."""
    return started("--spool", str(root), "-o", "csv", bufsize=0)


def first_rows(command: subprocess.Popen[bytes], count: int) -> bytes:
    """The heading and so many rows."""
    assert command.stdout is not None
    return b"".join(command.stdout.readline() for _ in range(1 + count))


def give(command: subprocess.Popen[bytes], data: bytes) -> None:
    assert command.stdin is not None
    command.stdin.write(data)
    command.stdin.flush()


def wait_for_rows(root: Path, rows: int) -> None:
    wait_until(
        lambda: (root / "spool.json").exists() and sum(e.rows for e in entries(root)) >= rows,
        "rows in the spool",
    )


def closed_rows(direct: Rows) -> Rows:
    """Those that are complete while the pipe is still open."""
    last = max(int(row["tb"]) for row in direct)
    return [row for row in direct if int(row["tb"]) < last]


def test_rows_come_while_the_writer_pauses(tmp_path: Path, direct: Rows) -> None:
    root, closed = tmp_path / "spool", closed_rows(direct)
    with writer(root) as command:
        give(command, DEMO_CAPTURE.read_bytes())
        wait_for_rows(root, len(closed))
        with reader(root) as reading:
            # The pipe is still open: nothing has ended the input.
            first = first_rows(reading, len(closed))
            assert csv_rows(first) == closed
            wait_until_read(command, 2010)
            os.kill(command.pid, signal.SIGINT)
            rest, account = reading.communicate(timeout=PATIENCE_S)
        assert reading.returncode == 0, account
        assert b"has no end, and nobody writes it now" in account
        assert csv_rows(first + rest) == direct
        assert command.wait(PATIENCE_S) == 0
        assert command.stderr is not None
        assert json.loads(command.stderr.read())["sources"][0]["read"] == 2010


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_writer_that_is_stopped_only_closes(
    number: signal.Signals, tmp_path: Path, direct: Rows
) -> None:
    """The next run goes on with what it has left, and all is one answer."""
    root, data = tmp_path / "spool", DEMO_CAPTURE.read_bytes()
    with writer(root) as command:
        give(command, data)
        wait_until_read(command, 2010)
        command.send_signal(number)
        assert command.wait(PATIENCE_S) == 0
    (track,) = Spool(root).tracks()
    assert "end" not in [entry.kind for entry in track.poll()]
    done = write(root, "-e", QUERY, "-r", "-", "--stats", "json", stdin=data[:24])
    (stream,) = json.loads(done.err)["streams"]
    assert stream["generation"] == 1
    last = entries(root)[-1]
    assert (last.kind, last.base_ns) == ("end", END)
    assert csv_rows(read(root, "-o", "csv").out) == direct


def test_ctrl_c_answers_what_is_there(tmp_path: Path, direct: Rows) -> None:
    """The reader need not wait for a writer that does not come back."""
    root, closed = tmp_path / "spool", closed_rows(direct)
    with writer(root) as command:
        give(command, DEMO_CAPTURE.read_bytes())
        wait_for_rows(root, len(closed))
        command.kill()
    with reader(root) as reading:
        first = first_rows(reading, len(closed))
        os.kill(reading.pid, signal.SIGINT)
        rest, account = reading.communicate(timeout=PATIENCE_S)
    assert reading.returncode == 0, account
    assert csv_rows(first + rest) == closed


def test_a_run_goes_on_where_one_was_killed(tmp_path: Path, direct: Rows) -> None:
    """Its punctuation never goes back; windows that were complete stay as they are."""
    root, closed = tmp_path / "spool", closed_rows(direct)
    with writer(root) as command:
        give(command, DEMO_CAPTURE.read_bytes())
        wait_for_rows(root, len(closed))
        command.kill()
    reached = entries(root)[-1].base_ns
    again = ("-e", QUERY, "-r", "-", "--stats", "json")
    done = write(root, *again, stdin=DEMO_CAPTURE.read_bytes())
    account = json.loads(done.err)
    assert done.code == 0
    assert account["sources"][0]["late"] > 1000
    assert account["streams"][0]["generation"] == 1
    assert 0 < account["sources"][0]["decoded"] < 1000
    found = entries(root)
    bases = [entry.base_ns for entry in found]
    assert bases == sorted(bases)
    assert reached in bases
    assert sum(entry.kind == "run" for entry in found) == 2
    assert closed_rows(csv_rows(read(root, "-o", "csv").out)) == closed


def test_a_file_is_read_anew_where_a_run_was_killed(tmp_path: Path, direct: Rows) -> None:
    """No row stands twice in what is read; who follows the killed run's rows sees their end."""
    root, closed = tmp_path / "spool", closed_rows(direct)
    with writer(root) as command:
        give(command, DEMO_CAPTURE.read_bytes())
        wait_for_rows(root, len(closed))
        (before,) = Spool(root).tracks()
        command.kill()
    for generation in (2, 3):
        with DEMO_CAPTURE.open("rb") as file:
            words = ("-e", QUERY, "-r", DEMO_CAPTURE if generation == 2 else "-", "--stats", "json")
            command = [*COMMAND, "run", *map(str, words), "-o", f"spool:{root}"]
            done = subprocess.run(command, stdin=file, capture_output=True, check=True)
        account = json.loads(done.stderr)
        assert account["sources"][0]["late"] == 0
        assert account["streams"][0]["generation"] == generation
        assert csv_rows(read(root, "-o", "csv").out) == direct
    assert before.poll()[-1].kind == "end"


def test_a_file_beside_a_pipe_is_read_anew_too(tmp_path: Path, direct: Rows) -> None:
    """Else its rows above what the killed run had promised would be there twice."""
    root, closed = tmp_path / "spool", closed_rows(direct)
    both = ("-r", DEMO_CAPTURE, "--slack", "0.1s")
    with writer(root, *map(str, both)) as command:
        give(command, DEMO_CAPTURE.read_bytes())
        wait_for_rows(root, len(closed))
        command.kill()
    header = DEMO_CAPTURE.read_bytes()[:24]
    done = write(root, "-e", QUERY, "-r", "-", *both, "--stats", "json", stdin=header)
    assert json.loads(done.err)["streams"][0]["generation"] == 2
    assert csv_rows(read(root, "-o", "csv").out) == direct


def test_a_run_on_other_interfaces(tmp_path: Path) -> None:
    """What is read are those of the last run; who follows one that is gone sees its end."""
    query = """SELECT tb, interface, count(*) AS packets
        FROM IPV4 GROUP BY time/60 AS tb, interface"""
    root = tmp_path / "spool"
    with writer(root) as command:
        give(command, DEMO_CAPTURE.read_bytes())
        wait_for_rows(root, 1)
        (before,) = Spool(root).tracks()
        command.kill()
    for names in (["east"], ["east", "west"], ["west", "north"], ["west"]):
        sources = [word for name in names for word in ("-r", f"{name}={DEMO_CAPTURE}")]
        alone = gigastream("run", "-e", query, *sources, "-o", "csv")
        assert write(root, "-e", query, *sources).code == 0
        assert csv_rows(read(root, "-o", "csv").out) == csv_rows(alone.out)
    assert before.poll()[-1].kind == "end"


def test_an_interface_that_is_given_no_more_holds_no_reader_up(tmp_path: Path) -> None:
    """The run that wrote it was killed: nothing else would ever end it."""
    root, pipe = tmp_path / "spool", tmp_path / "pipe"
    os.mkfifo(pipe)
    with writer(root, "-r", f"other={pipe}") as command:
        give(command, DEMO_CAPTURE.read_bytes())
        wait_until((root / "spool.json").exists, "the spool")
        tracks = Spool(root).tracks()
        assert {track.interface for track in tracks} == {"default", "other"}
        command.kill()
    assert write(root, "-e", QUERY, "-r", DEMO_CAPTURE).code == 0
    assert [track.interface for track in Spool(root).tracks()] == ["default"]
    assert [track.poll()[-1].kind for track in tracks] == ["end", "end"]
    rows = csv_rows(read(root, "-o", "csv").out)
    assert rows == csv_rows(gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv").out)


def test_what_a_killed_run_lost_is_said(copy: Path) -> None:
    """A torn line, a segment that was not listed: as if the first run had been killed there."""
    (manifest,) = copy.rglob("manifest-*")
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(b"".join(lines[:3]) + lines[3][:50])
    (progress,) = copy.rglob("progress/*")
    progress.unlink()
    left = [path for path in segments(copy)[2:] if path.stat().st_size]
    done = write(copy, "-e", QUERY, "-r", "-", stdin=DEMO_CAPTURE.read_bytes())
    told = f"a run that did not end lost {len(left)} segments of"
    assert told in done.err
    assert "not yet listed and 50 B of the manifest" in done.err
    assert told in read(copy).err


def test_another_query_set_begins_a_generation(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    write(root, "-e", QUERY, "-r", DEMO_CAPTURE)
    other = QUERY.replace("time/60", "time/30")
    done = write(root, "-e", other, "-r", DEMO_CAPTURE)
    assert "generation 2" in done.err
    alone = gigastream("run", "-e", other, "-r", DEMO_CAPTURE, "-o", "csv").out
    assert csv_rows(read(root, "-o", "csv").out) == csv_rows(alone)


@pytest.mark.parametrize(
    "words",
    [
        ("-o", "csv:spool/new.csv"),
        ("-o", "parquet:link/new/rows.parquet"),
        ("-o", "duckdb:spool/x.db"),
        ("-o", "dataset:spool"),
        ("-o", "delta:spool/streams"),
        ("-o", "iceberg:spool"),
        ("-o", "csv", "--trace", "spool/trace"),
    ],
    ids=" ".join,
)
def test_nothing_is_made_in_the_spool_that_is_read(
    whole: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "spool").symlink_to(whole)
    (tmp_path / "link").symlink_to("spool")
    before = sorted(whole.rglob("*"))
    result = gigastream("run", "--spool", "spool", *words, cwd=tmp_path)
    assert (result.code, result.out) == (2, b"")
    assert "the spool spool are one in the other\nhint: another place" in result.err
    assert sorted(whole.rglob("*")) == before

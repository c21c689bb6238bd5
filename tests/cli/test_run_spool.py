# SPDX-License-Identifier: Apache-2.0
"""run -o spool:PATH and run --spool PATH: the answer of both together is that of run alone."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, Result, gigastream, wait_until_read

from gigastream.spool import END, Entry, Spool
from tests.answers.golden import golden_queries
from tests.answers.inputs import INPUTS
from tests.engine.whole_and_parts import GOLDEN_INPUTS, Inputs
from tests.oracle.rows import difference
from tests.waiting import PATIENCE_S, wait_until

QUERY = """SELECT tb, srcIP, count(*) AS packets, sum(len) AS bytes
    FROM IPV4 GROUP BY time/60 AS tb, srcIP"""
PACKETS = "SELECT time, len FROM PKT"
Rows = list[dict[str, str]]


def write(root: Path, *words: str | os.PathLike[str], stdin: bytes = b"") -> Result:
    done = gigastream("run", *words, "-o", f"spool:{root}", stdin=stdin)
    assert done.out == b""
    return done


def read(root: Path, *words: str | os.PathLike[str]) -> Result:
    return gigastream("run", "--spool", root, *words)


def csv_rows(text: bytes) -> Rows:
    """The rows in order, whatever order they came in."""
    return sorted(csv.DictReader(io.StringIO(text.decode())), key=lambda row: list(row.values()))


@pytest.fixture(scope="module")
def direct() -> Rows:
    """QUERY's rows without a spool."""
    return csv_rows(gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv").out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished spool of QUERY in many segments; not to be changed."""
    root = tmp_path_factory.mktemp("whole") / "spool"
    small = ("--segment-rows", "5", "--batch-rows", "3")
    done = write(root, "-e", QUERY, "-r", DEMO_CAPTURE, *small)
    assert done.code == 0, done.err
    return root


# The same rows


@pytest.mark.long
@pytest.mark.parametrize("inputs", GOLDEN_INPUTS, ids=str)
def test_golden_queries(inputs: Inputs, tmp_path: Path) -> None:
    """All of the same inputs as one query set."""
    sources: list[str] = []
    for interface, name in inputs:
        (tmp_path / name).write_bytes(INPUTS[name]())
        sources += ["-r", f"{interface}={tmp_path / name}"]
    asked = [golden for golden in golden_queries(of_spools=True) if golden.inputs == inputs]
    root, rows = tmp_path / "spool", tmp_path / "rows"
    rows.mkdir()
    paths = [golden.path for golden in asked]
    assert write(root, *paths, *sources, "--segment-rows", "100").code == 0
    done = read(root, "-o", f"csv:{rows}")
    assert done.code == 0, done.err
    for name, answer in ((n, a) for golden in asked for n, a in golden.answers().items()):
        problem = difference(answer.shown(), (rows / f"{name}.csv").read_bytes().decode())
        assert problem is None, f"{name}:\n{problem}"


READERS: dict[str, Callable[[bytes], object]] = {
    "csv": csv_rows,
    "json": lambda text: sorted(text.splitlines()),
    "table": lambda text: sorted(text.decode().splitlines()[2:]),
    "arrow": lambda text: _sorted(pyarrow.ipc.open_stream(text).read_all()),
    "parquet": lambda text: _sorted(pyarrow.parquet.read_table(pyarrow.BufferReader(text))),
}


def _sorted(table: pyarrow.Table) -> pyarrow.Table:
    return table.sort_by([(name, "ascending") for name in ("tb", "srcIP")])


@pytest.mark.parametrize("form", READERS)
def test_every_output(form: str, whole: Path) -> None:
    alone = gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", form)
    assert READERS[form](read(whole, "-o", form).out) == READERS[form](alone.out)


@pytest.mark.long
@pytest.mark.parametrize("policy", ["immediate", "slow_inorder", "lazy"])
def test_two_interfaces_and_two_queries(policy: str, tmp_path: Path) -> None:
    """Two streams each; one interface ends earlier than the other."""
    short = tmp_path / "short.pcap"
    short.write_bytes(DEMO_CAPTURE.read_bytes()[:60_000])
    sources = ("-r", f"east={DEMO_CAPTURE}", "-r", f"west={short}", "--disorder", "all")
    asked = ("-e", QUERY, "-e", PACKETS, "--flush", policy)
    alone = gigastream("run", *asked, *sources, "-o", f"csv:{tmp_path / 'alone'}")
    assert write(tmp_path / "spool", *asked, *sources, "--segment-rows", "100").code == alone.code
    assert read(tmp_path / "spool", "-o", f"csv:{tmp_path / 'rows'}").code == 0
    for name in ("query.csv", "query2.csv"):
        rows = csv_rows((tmp_path / "rows" / name).read_bytes())
        assert rows == csv_rows((tmp_path / "alone" / name).read_bytes())


def test_another_query_over_the_same_low_level(whole: Path, direct: Rows) -> None:
    other = QUERY + " HAVING count(*) > 20"
    rows = csv_rows(read(whole, "-e", other, "-o", "csv").out)
    assert rows == [row for row in direct if int(row["packets"]) > 20]
    assert 0 < len(rows) < len(direct)


def test_several_queries_over_one_stream(tmp_path: Path) -> None:
    """Tables of other options and parts of unions, which run would make anew for each."""
    union = "SELECT tb, count(*) AS packets FROM TCP UNION UDP UNION TCP GROUP BY time/60 AS tb"
    written = _named(a=QUERY, b=union)
    asked = _named(
        a=QUERY,
        lazy=f"{QUERY} HAVING count(*) > 20",
        b=union,
        other=f"{union} ORDER BY packets LIMIT 1",
        part="SELECT tb, count(*) AS packets FROM TCP GROUP BY time/60 AS tb",
    )
    asked = [word.replace("name lazy;", "name lazy; flush lazy;") for word in asked]
    root = tmp_path / "spool"
    write(root, *written, "-r", DEMO_CAPTURE)
    done = read(root, *asked, "-o", "json")
    assert done.code == 0, done.err
    alone = gigastream("run", *asked, "-r", DEMO_CAPTURE, "-o", "json")
    assert sorted(done.out.splitlines()) == sorted(alone.out.splitlines())


def test_a_stream_is_not_taken_for_another_of_its_name(tmp_path: Path) -> None:
    """The spool's a_low is what c wants here, and not what a does."""
    write(tmp_path / "spool", *_named(a=QUERY), "-r", DEMO_CAPTURE)
    asked = _named(a=QUERY.replace("srcIP", "destIP"), c=QUERY)
    done = read(tmp_path / "spool", *asked)
    assert (done.code, done.out) == (2, b"")
    assert "cannot answer the query: its stream a_low is another one" in done.err


def _named(**queries: str) -> list[str]:
    """Texts on the command line, each with its name."""
    texts = (f"DEFINE {{ query_name {name}; }} {text}" for name, text in queries.items())
    return [word for text in texts for word in ("-e", text)]


@pytest.mark.parametrize(
    "other",
    [
        QUERY.replace("60", "30"),
        QUERY.replace("IPV4", "TCP"),
        QUERY.replace("IPV4", "IPV4 WHERE len > 100"),
        PACKETS,
    ],
    ids=str,
)
def test_another_low_level_is_not_there(other: str, whole: Path) -> None:
    done = read(whole, "-e", other)
    assert (done.code, done.out) == (2, b"")
    assert "cannot answer the query" in done.err


@pytest.mark.parametrize("asks", [False, True], ids=["its own query", "another"])
def test_columns_of_one_name_are_not_told_apart(asks: bool, tmp_path: Path) -> None:
    """As an earlier version named them."""
    query = "SELECT tb, count0, count(*) AS n FROM TCP GROUP BY time/60 AS tb, len%3 AS count0"
    write(tmp_path / "spool", "-e", query, "-r", DEMO_CAPTURE)
    for path in tmp_path.glob("spool/sets/*/streams.json"):
        path.write_text(path.read_text().replace('"count0_2"', '"count0"'))
    done = read(tmp_path / "spool", *(("-e", f"{query} HAVING count(*) > 9") if asks else ()))
    assert (done.code, done.out) == (2, b"")
    assert "two columns of its stream query_low are called count0" in done.err
    assert "hint: write it again with this version" in done.err


# The account


def test_the_account_says_what_was_written_and_what_was_read(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    words = ("-e", PACKETS, "-r", DEMO_CAPTURE, "--segment-rows", "500", "--batch-rows", "100")
    wrote = json.loads(write(root, *words, "--stats", "json").err)
    assert (wrote["rows"], wrote["operators"]) == (2010, [])
    assert wrote["lftas"][0]["accepted"] == 2010
    (stream,) = wrote["streams"]
    files = list(root.rglob("*.arrows"))
    assert (stream["rows"], stream["segments"], stream["generation"]) == (2010, len(files), 1)
    assert stream["bytes"] == sum(file.stat().st_size for file in files)
    assert 4 <= len(files) <= 5  # cut at the first batch that reaches the limit
    told = json.loads(read(root, "--stats", "json").err)
    assert told["streams"] == wrote["streams"]
    assert told["rows"] == 2010
    line = f"query on default, generation 1: 2,010 rows in {len(files)} segments of"
    assert line in read(root).err
    assert read(root, "-q").err == ""


def test_settings_are_options_and_keys_of_a_configuration(tmp_path: Path) -> None:
    config = tmp_path / "gigastream.toml"
    config.write_text("segment-rows = 500\nbatch-rows = 100\nsync = '10ms'\n")
    words = ("-e", PACKETS, "-r", DEMO_CAPTURE, "-c", config)
    write(tmp_path / "a", *words)
    write(tmp_path / "b", *words, "--segment-rows", "1000")
    write(tmp_path / "c", *words, "--segment-rows", "1000", "--segment-bytes", "1kB")
    counts = [len(list((tmp_path / name).rglob("*.arrows"))) for name in "abc"]
    assert 1 < counts[1] < counts[0] < counts[2]


# What is asked wrongly


WRONG = {
    "no path": (("-o", "spool"), "-o spool:PATH"),
    "an age of nothing": (("-o", "spool:x", "--segment-age", "0"), "segment_age"),
    "a sync of nothing": (("-o", "spool:x", "--sync", "0"), "segment"),
    "a file": (("-o", f"spool:{DEMO_CAPTURE}"), str(DEMO_CAPTURE)),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_written(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = gigastream("run", "-e", PACKETS, "-r", DEMO_CAPTURE, *words, cwd=tmp_path)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-r", str(DEMO_CAPTURE)), "-r, or --spool"),
        (("tcp", "port", "80"), "a filter is for packets"),
        (("-o", "spool:x"), "not written out of a spool"),
        (("-e", "SELECT nothing FROM IPV4"), "nothing"),
    ],
)
def test_what_cannot_be_asked_of_a_spool(words: tuple[str, ...], message: str, whole: Path) -> None:
    done = read(whole, *words)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err


def test_what_is_no_spool(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", DEMO_CAPTURE):
        done = read(path)
        assert done.code == 2
        assert "is no spool" in done.err


# Damage


def segments(root: Path) -> list[Path]:
    return sorted(root.rglob("*.arrows"))


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """The finished spool, to be damaged."""
    root = tmp_path / "spool"
    subprocess.run(["cp", "-r", str(whole), str(root)], check=True)
    return root


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _change(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [Path.unlink, _cut, _change], ids=["missing", "cut", "changed"])
def test_a_damaged_segment(damage: Callable[[Path], None], copy: Path, direct: Rows) -> None:
    """It is named, its rows are counted, all else is answered."""
    chosen = segments(copy)[2]
    damage(chosen)
    done = read(copy, "-o", "csv", "--stats", "json")
    account, _, told = done.err.partition("\n")
    assert done.code == 1
    assert chosen.name in told
    (stream,) = json.loads(account)["streams"]
    assert stream["lost_rows"] > 0
    assert stream["rows"] + stream["lost_rows"] == sum(entry.rows for entry in entries(copy))
    rows = csv_rows(done.out)
    packets = {(row["tb"], row["srcIP"]): int(row["packets"]) for row in direct}
    assert 0 < len(rows) <= len(direct)
    assert all(int(row["packets"]) <= packets[row["tb"], row["srcIP"]] for row in rows)


def test_a_damaged_line_of_the_manifest(copy: Path) -> None:
    (manifest,) = copy.rglob("manifest-*")
    lines = manifest.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"segment", b"segmemt")
    manifest.write_bytes(b"".join(lines))
    done = read(copy, "-o", "csv")
    assert done.code == 1
    assert "manifest" in done.err


def test_a_stream_that_is_gone(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    sources = ("-r", f"east={DEMO_CAPTURE}", "-r", f"west={DEMO_CAPTURE}")
    write(root, "-e", PACKETS, *sources)
    (gone,) = root.rglob("west")
    gone.rename(tmp_path / "west")
    done = read(root)
    assert (done.code, len(done.lines)) == (1, 2010)
    assert "west" in done.err
    assert "the manifest lacks segments" in done.err


def test_a_full_disk(tmp_path: Path) -> None:
    """As a limit of a file's size, which the system reports alike."""
    root = tmp_path / "spool"
    done = gigastream(
        "run", "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", f"spool:{root}",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )  # fmt: skip
    assert done.code == 1
    *account, sentence, hint = done.err.splitlines()
    assert "read 2,010" in account[0]
    assert "0 rows and 2,010 lost" in account[-1]
    assert sentence.startswith("gigastream: cannot")
    assert hint.endswith("the same command goes on with a link, and reads a file anew")


# A writer at work


@contextmanager
def started(*words: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A run, killed where the test fails or waits for what never comes."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "run", *words], **pipes, **options) as command:
        timer = threading.Timer(PATIENCE_S, command.kill)
        timer.start()
        try:
            yield command
        finally:
            timer.cancel()
            command.kill()


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


def entries(root: Path) -> list[Entry]:
    (track,) = Spool(root).tracks()
    return track.poll()


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

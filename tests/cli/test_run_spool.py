# SPDX-License-Identifier: Apache-2.0
"""run -o spool:PATH and run --spool PATH: the answer of both together is that of run alone."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream
from cli.spooled import PACKETS, QUERY, Rows, csv_rows, entries, read, segments, write

from gigastream.cli.main import run_command_line
from tests.answers.golden import golden_queries
from tests.answers.inputs import INPUTS
from tests.engine.whole_and_parts import GOLDEN_INPUTS, Inputs
from tests.oracle.rows import difference

BY_ROWS = ("--segment-age", "1h")
"""Nor do segments end because the machine has paused."""

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


def test_a_folder_that_its_writer_moves_meanwhile_is_passed_over(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A query set is made beside its place; one that retention has emptied goes."""
    making, scandir, moved = copy / "sets" / ".making-1", os.scandir, list[Path]()
    making.mkdir()

    def moves_before(path: Any = ".") -> Any:
        if not moved and not isinstance(path, int) and Path(path) == making:
            moved.append(making.rename(copy / "sets" / "000002"))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", moves_before)
    assert run_command_line(["run", "-q", "--spool", str(copy), "-o", "csv"]) == 0
    assert moved
    assert capfd.readouterr().err == ""


# The account


def test_the_account_says_what_was_written_and_what_was_read(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    words = ("-e", PACKETS, "-r", DEMO_CAPTURE, "--segment-rows", "500", "--batch-rows", "100")
    words += BY_ROWS
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
    words = ("-e", PACKETS, "-r", DEMO_CAPTURE, "-c", config, *BY_ROWS)
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
        "run", "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", f"spool:{root}", *BY_ROWS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )  # fmt: skip
    assert done.code == 1
    *account, sentence, hint = done.err.splitlines()
    assert "read 2,010" in account[0]
    assert "0 rows and 2,010 lost" in account[-1]
    assert sentence.startswith("gigastream: cannot")
    assert hint.endswith("the same command goes on with a link, and reads a file anew")

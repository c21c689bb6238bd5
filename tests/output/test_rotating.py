# SPDX-License-Identifier: Apache-2.0
"""Files that are ended now and then: whole, of ours alone, and gone on with after a failure."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from gigastream.arrow_schema import arrow_schema
from gigastream.engine.batch import NativeBatch
from gigastream.gsql.types import Column, Schema, Type
from gigastream.outputs import OutputError, OutputQuery
from gigastream.outputs.rotating import RotatingOutput
from tests.room import files_no_larger_than

SCHEMA = Schema((Column("n", Type.UINT), Column("text", Type.STRING)))
ARROW: pyarrow.Schema = arrow_schema(SCHEMA)
SECOND = 10**9
MINUTE = 60 * SECOND
START = 1_700_000_000 * SECOND
"""2023-11-14T22:13:20Z."""
STAMP = "20231114T221320Z"


def query(name: str = "q") -> OutputQuery:
    no = (False, False)
    return OutputQuery(name, ("n", "text"), no, no, no, lambda: ARROW)


def batch(*numbers: int, text: bytes = b"x") -> NativeBatch:
    columns = [list(numbers), [text] * len(numbers)]
    arrays = [pyarrow.array(c, kind.type) for c, kind in zip(columns, ARROW, strict=True)]
    return NativeBatch.from_arrow(pyarrow.RecordBatch.from_arrays(arrays, schema=ARROW), SCHEMA)


@dataclass
class Kept:
    """An output with a clock that is set by hand, and what it has told."""

    path: Path
    now_ns: int = START
    told: list[str] = field(default_factory=list)

    def open(self, name: str = "json", *queries: str, path: str = "", **how: Any) -> RotatingOutput:
        asked = [query(each) for each in queries or ("q",)]
        place = path or f"{self.path}/"
        return RotatingOutput(
            name, place, asked, **how, tell=self.told.append, clock=lambda: self.now_ns
        )

    def names(self) -> list[str]:
        return sorted(os.listdir(self.path))

    def shown(self) -> list[str]:
        return [name for name in self.names() if not name.startswith(".")]

    def numbers(self) -> list[int]:
        """Of all rows in JSON that are shown, file by file."""
        texts = [(self.path / name).read_text() for name in self.shown()]
        return [json.loads(line)["n"] for text in texts for line in text.splitlines()]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


# ---- when files end ----


def test_a_file_is_hidden_until_it_has_ended(kept: Kept) -> None:
    output = kept.open(rotate_ns=MINUTE)
    output.write("q", batch(1, 2))
    assert (kept.shown(), len(kept.names())) == ([], 1)
    kept.now_ns += 40 * SECOND  # 22:14:00, an edge
    output.tick(kept.now_ns)
    assert kept.names() == [f"q-{STAMP}.json"]
    output.write("q", batch(3))
    output.close()
    assert kept.names() == [f"q-{STAMP}.json", "q-20231114T221400Z.json"]
    assert kept.numbers() == [1, 2, 3]
    assert (output.rows, output.lost, output.files, output.failure) == (3, 0, 2, None)
    assert output.bytes == sum((kept.path / name).stat().st_size for name in kept.names())


def test_rows_behind_an_edge_are_in_the_next_file_without_a_tick(kept: Kept) -> None:
    output = kept.open(rotate_ns=MINUTE)
    output.write("q", batch(1))
    kept.now_ns -= MINUTE  # the clock was set back
    output.write("q", batch(2))
    output.close()
    assert len(kept.shown()) == 2


def test_files_end_at_so_many_bytes_and_the_newest_stay(kept: Kept) -> None:
    output = kept.open(rotate_bytes=1, keep=2)
    for number in range(12):
        output.write("q", batch(number))
    assert kept.names() == [f"q-{STAMP}-11.json", f"q-{STAMP}-12.json"]
    assert sorted(kept.numbers()) == [10, 11]
    assert (output.rows, output.files) == (12, 12)
    output.close()


def test_the_newest_stay_where_the_clock_was_set_back(kept: Kept) -> None:
    output = kept.open(rotate_bytes=1, keep=2)
    for number in range(4):
        output.write("q", batch(number))
        kept.now_ns -= MINUTE
    assert sorted(kept.numbers()) == [2, 3]


def test_no_file_is_made_without_rows(kept: Kept) -> None:
    output = kept.open(rotate_ns=MINUTE)
    output.rotate()
    output.tick(START + MINUTE)
    output.close()
    assert kept.names() == []


@pytest.mark.parametrize("name", ["csv", "json", "table", "arrow", "parquet"])
def test_every_format_is_whole_in_each_file(name: str, kept: Kept) -> None:
    output = kept.open(name, rotate_ns=MINUTE)
    for numbers in ((1, 2), (3,)):
        output.write("q", batch(*numbers, text=b"y"))
        output.rotate()
    output.close()
    found = [rows_in(kept.path / shown, name) for shown in kept.shown()]
    assert sorted(found) == [1, 2]


def rows_in(path: Path, name: str) -> int:
    if name == "parquet":
        return int(pyarrow.parquet.read_table(path).num_rows)
    if name == "arrow":
        return int(pyarrow.ipc.open_stream(path.read_bytes()).read_all().num_rows)
    return path.read_text().count("y")


def test_queries_have_files_of_their_own_in_a_folder_and_share_one_that_is_named(
    kept: Kept,
) -> None:
    output = kept.open("json", "a", "b/c", rotate_ns=MINUTE)
    shared = kept.open("json", "a", "b", path=str(kept.path / "all.json"), keep=9)
    for name in ("a", "b/c"):
        output.write(name, batch(1))
    for name in ("a", "b"):
        shared.write(name, batch(1))
    output.close()
    shared.close()
    assert kept.names() == [f"{name}-{STAMP}.json" for name in ("a", "all", "b_c")]
    assert '"query":"b"' in (kept.path / f"all-{STAMP}.json").read_text()


@pytest.mark.parametrize(
    ("name", "how", "text"),
    [
        ("jsonl", {}, "no output format"),
        ("json", {"keep": 0}, "keep is 0"),
        ("json", {"path": "/dev/null/x.json"}, "/dev/null"),
    ],
)
def test_what_cannot_be_is_refused(name: str, how: Any, text: str, kept: Kept) -> None:
    with pytest.raises(OutputError, match=text):
        kept.open(name, **how)


# ---- folders of others ----


def test_only_own_regular_files_are_deleted(kept: Kept) -> None:
    target = kept.path / "target"
    target.write_text("stays")
    (kept.path / "q-20200101T000000Z.json").symlink_to(target)
    (kept.path / "q-20200101T000001Z.json").mkdir()
    others = ["q-notes.json", "qq-20200101T000000Z.json", "q-20200101T000000Z.csv"]
    for name in others:
        (kept.path / name).write_text("stays")
    (kept.path / "q-20200101T000002Z.json").write_text("ours, old\n")
    output = kept.open(rotate_bytes=1, keep=1)
    output.write("q", batch(1))
    output.close()
    assert set(kept.names()) == {
        *("target", "q-20200101T000000Z.json", "q-20200101T000001Z.json"),
        *others,
        f"q-{STAMP}.json",
    }
    assert target.read_text() == "stays"


def test_a_name_that_is_there_is_nobodys_to_take(kept: Kept) -> None:
    (kept.path / "target").write_text("stays")
    (kept.path / f"q-{STAMP}.json").symlink_to(kept.path / "target")
    output = kept.open(rotate_bytes=1)
    output.write("q", batch(1))
    assert (kept.path / "target").read_text() == "stays"
    assert (kept.path / f"q-{STAMP}-2.json").is_file()


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "second name"])
def test_a_path_in_place_is_a_file_of_ours(kind: str, kept: Kept) -> None:
    path = kept.path / "q.json"
    (kept.path / "target").write_text("stays")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(kept.path / "target")
    elif kind == "second name":
        path.hardlink_to(kept.path / "target")
    else:
        path.mkdir()
        (path / "q.json").mkdir()
    with pytest.raises(OutputError, match=r"q\.json"):
        kept.open(path=str(path))
    assert (kept.path / "target").read_text() == "stays"


def test_a_folder_that_becomes_a_link_is_not_followed(kept: Kept) -> None:
    folder, elsewhere = kept.path / "out", kept.path / "elsewhere"
    elsewhere.mkdir()
    output = kept.open(path=f"{folder}/", rotate_ns=MINUTE)
    folder.rmdir()
    folder.symlink_to(elsewhere)
    output.write("q", batch(1))
    assert (output.lost, os.listdir(elsewhere)) == (1, [])
    folder.unlink()
    folder.mkdir()
    kept.now_ns += SECOND
    output.write("q", batch(2))
    assert (output.rows, output.failure) == (1, None)


# ---- in place ----


@pytest.mark.parametrize("name", ["csv", "json"])
def test_a_file_in_place_is_gone_on_with_behind_its_last_whole_line(name: str, kept: Kept) -> None:
    path = kept.path / f"rows.{name}"
    for text in (b"x", b"torn"):
        output = kept.open(name, path=str(path))
        output.write("q", batch(1, text=text))
        output.close()
    whole = path.read_bytes()
    assert whole.count(b"\n") == 2 + (name == "csv")
    path.write_bytes(whole[:-3])
    output = kept.open(name, path=str(path))
    output.write("q", batch(1, text=b"torn"))
    assert path.read_bytes() == whole
    with files_no_larger_than(len(whole) + 10):
        output.write("q", batch(5, text=b"y" * 1000))
    assert (path.read_bytes(), output.lost) == (whole, 1)


@pytest.mark.parametrize("name", ["csv", "arrow", "parquet"])
def test_what_rows_cannot_be_added_to_is_put_aside(name: str, kept: Kept) -> None:
    path = kept.path / f"rows.{name}"
    path.write_bytes(b"another,header\n1,2\n")
    output = kept.open(name, path=str(path))
    output.write("q", batch(1))
    output.close()
    assert kept.names() == [f"rows-{STAMP}.{name}", path.name]
    assert (kept.path / f"rows-{STAMP}.{name}").read_bytes() == b"another,header\n1,2\n"
    assert len(kept.told) == 1
    assert f"rows-{STAMP}.{name}" in kept.told[0]


def test_a_path_is_opened_anew_when_the_file_was_moved_away(kept: Kept) -> None:
    path = kept.path / "rows.json"
    output = kept.open(path=str(path))
    output.write("q", batch(1))
    path.rename(kept.path / "rows.json.1")
    output.rotate()
    output.write("q", batch(2))
    output.close()
    assert json.loads(path.read_text())["n"] == 2


# ---- runs that were killed ----


def killed(kept: Kept, name: str, batches: Sequence[NativeBatch], torn: int) -> None:
    """Leave what a process leaves that is killed in the midst of a write."""
    output = kept.open(name, rotate_ns=MINUTE)
    for each in batches:
        output.write("q", each)
    (hidden,) = kept.names()
    data = (kept.path / hidden).read_bytes()
    output.close()
    for shown in kept.names():
        (kept.path / shown).unlink()
    (kept.path / hidden).write_bytes(data[: len(data) - torn])


@pytest.mark.parametrize("name", ["csv", "json"])
def test_lines_of_a_killed_run_end_at_the_last_whole_one(name: str, kept: Kept) -> None:
    killed(kept, name, [batch(1, text=b'a"\n'), batch(2, text=b'b"\nb,')], torn=2)
    kept.open(name, rotate_ns=MINUTE).close()
    assert kept.names() == [f"q-{STAMP}.{name}"]
    text = (kept.path / f"q-{STAMP}.{name}").read_text()
    assert text.endswith('"a""\n"\n' if name == "csv" else "}\n")
    assert "b" not in text.split("\n")[-1]
    assert len(kept.told) == 1
    assert "whole line" in kept.told[0]


def test_a_killed_run_without_a_whole_row_leaves_nothing(kept: Kept) -> None:
    killed(kept, "csv", [batch(1)], torn=1)
    kept.open("csv", rotate_ns=MINUTE)
    assert kept.names() == []


@pytest.mark.parametrize("name", ["arrow", "parquet"])
def test_what_has_no_end_is_put_aside(name: str, kept: Kept) -> None:
    killed(kept, name, [batch(1)], torn=0)
    kept.open(name, rotate_ns=MINUTE)
    assert kept.names() == [f"q-{STAMP}.{name}.incomplete"]
    assert "without its end" in kept.told[0]


def test_a_file_that_another_output_writes_is_left_alone(kept: Kept) -> None:
    first = kept.open(rotate_ns=MINUTE)
    first.write("q", batch(1))
    second = kept.open(rotate_ns=MINUTE)
    second.write("q", batch(2))
    first.close()
    second.close()
    assert sorted(kept.numbers()) == [1, 2]


def test_a_run_killed_between_two_names_leaves_one(kept: Kept) -> None:
    killed(kept, "json", [batch(1)], torn=0)
    (hidden,) = kept.names()
    (kept.path / f"q-{STAMP}.json").hardlink_to(kept.path / hidden)
    kept.open(rotate_ns=MINUTE)
    assert kept.names() == [f"q-{STAMP}.json"]


# ---- disks that are full ----


@pytest.mark.parametrize("name", ["csv", "json", "arrow"])
def test_what_a_full_disk_takes_is_counted_and_told_once(name: str, kept: Kept) -> None:
    output = kept.open(name, rotate_ns=3600 * SECOND)
    with files_no_larger_than(3000):
        for number in range(10):
            output.write("q", batch(number, text=b"x" * 500))
            kept.now_ns += SECOND // 100
    lost = output.lost
    assert 0 < lost < 10
    assert output.rows == 10 - lost
    assert output.lost_by_cause == {"File too large": lost}
    assert output.failure is not None
    assert "File too large" in output.failure
    kept.now_ns += SECOND
    output.write("q", batch(10))
    assert not output.failure
    assert (output.rows, output.lost) == (11 - lost, lost)
    output.close()
    assert [text.split(": ")[1][:7] for text in kept.told] == ["File to", "it is w"]
    assert f"{lost} rows are lost" in kept.told[-1]
    assert len(kept.shown()) == 2
    if name == "json":
        assert kept.numbers() == [*range(10 - lost), 10]


def test_a_parquet_file_that_cannot_end_has_lost_all_its_rows(kept: Kept) -> None:
    output = kept.open("parquet", rotate_ns=MINUTE)
    output.write("q", batch(1, 2))
    with files_no_larger_than(100):
        output.rotate()
    assert (output.rows, output.lost, kept.names()) == (0, 2, [])
    output.write("q", batch(3))
    output.close()
    assert (output.rows, output.lost, len(kept.shown())) == (1, 2, 1)


def test_pauses_grow_and_a_rotation_tries_at_once(kept: Kept) -> None:
    output = kept.open(rotate_ns=24 * 3600 * SECOND)
    tried = 0
    with files_no_larger_than(10):
        for _ in range(200):
            before = output._lanes["q"]._failed_ns
            output.write("q", batch(1))
            tried += output._lanes["q"]._failed_ns != before
            kept.now_ns += SECOND
    assert tried == 9  # after 0, 1, 3, 7, 15, 31, 63, 123, 183 seconds
    assert len(kept.told) == 1
    output.rotate()
    output.write("q", batch(2))
    assert (output.failure, output.lost) == (None, 200)


@pytest.mark.parametrize("path", ["", "rows.csv"])
@pytest.mark.parametrize("name", ["csv", "arrow", "parquet"])
def test_a_header_that_is_torn_is_taken_back(name: str, path: str, kept: Kept) -> None:
    place = {"path": str(kept.path / path)} if path else {"rotate_ns": MINUTE}
    output = kept.open(name, **place)
    before = _open_in(kept.path)
    with files_no_larger_than(3):
        for _ in range(3):
            output.write("q", batch(1))
            kept.now_ns += MINUTE
            output.rotate()
    assert _open_in(kept.path) == before
    output.write("q", batch(2))
    output.close()
    assert (output.rows, output.lost, len(kept.names())) == (1, 3, 1)


def _open_in(folder: Path) -> list[str]:
    """Files of a folder that the process has open: others are closed by whoever has them."""
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{entry}"))
    return sorted(path for path in found if path.startswith(f"{folder}/"))


@pytest.fixture
def small_disk(kept: Kept) -> Iterator[Kept]:
    """Of 64 KiB."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "gigastream-test", str(kept.path)]
    subprocess.run(command, check=True)
    yield kept
    subprocess.run(["umount", "--lazy", str(kept.path)], check=True)


@pytest.mark.privileged
def test_a_disk_that_has_room_again_is_written_again(small_disk: Kept) -> None:
    kept = small_disk
    (kept.path / "ballast").write_bytes(bytes(40_000))
    output = kept.open(rotate_bytes=8000)
    for number in range(100):
        output.write("q", batch(number, text=b"x" * 900))
        kept.now_ns += SECOND // 10
    assert output.lost > 0
    assert list(output.lost_by_cause) == ["No space left on device"]
    (kept.path / "ballast").unlink()
    kept.now_ns += MINUTE
    output.write("q", batch(100))
    assert output.failure is None
    output.close()
    assert len(kept.numbers()) == output.rows == 101 - output.lost


@pytest.mark.parametrize(("name", "there"), [("table", "old\n"), ("json", "ssh-rsa AAAA\n")])
def test_nothing_is_added_to_what_does_not_begin_as_ours(kept: Kept, name: str, there: str) -> None:
    place = kept.path / f"rows.{name}"
    place.write_text(there)
    output = kept.open(name, path=str(place))
    output.write("q", batch(1))
    output.close()
    assert (kept.path / f"rows-{STAMP}.{name}").read_text() == there
    assert there not in place.read_text()
    assert "rows cannot be added to what is there" in kept.told[0]

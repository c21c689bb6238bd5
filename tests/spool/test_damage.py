# SPDX-License-Identifier: Apache-2.0
"""Damaged files: named, counted, and the rest is read."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gigastream.spool import SegmentDamage, Spool, SpoolReadError, Track
from gigastream.spool.entry import encode
from gigastream.spool.layout import MANIFEST, PLAN, QUERIES, RETAINED, STREAM, segment_name
from tests.spool.made import all_numbers, folder_of, numbers, only_track, rows, write_run

SEGMENT_DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "it is missing"),
    "empty": (lambda path: os.truncate(path, 0), "it has 0 bytes of"),
    "torn": (lambda path: os.truncate(path, 100), "it has 100 bytes of"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "bytes of"),
    "changed": (
        lambda path: path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:]),
        "its checksum does not fit",
    ),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "it cannot be read"),
}


@pytest.mark.parametrize("name", SEGMENT_DAMAGES)
def test_a_damaged_segment_is_named_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    write_run(tmp_path, 3, 4, 5)
    path = folder_of(tmp_path) / segment_name(1)
    damage, reason = SEGMENT_DAMAGES[name]
    damage(path)
    track = only_track(tmp_path)
    segments = [entry for entry in track.poll() if entry.kind == "segment"]
    with pytest.raises(SegmentDamage, match=reason) as caught:
        numbers(track, segments[1])
    error = caught.value
    assert (error.segment, error.rows, error.is_retired, error.exit_code) == (1, 4, False, 1)
    assert str(error).startswith(f"{path} is lost with 4 rows: ")
    assert track.damage == [f"{folder_of(tmp_path)}: {error}"]
    assert numbers(track, segments[0]) == [0, 1, 2]
    assert numbers(track, segments[2]) == [7, 8, 9, 10, 11]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None
)
@given(st.data())
def test_any_changed_byte_of_a_segment_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    path = folder_of(tmp_path) / segment_name(0)
    if not path.exists():
        write_run(tmp_path, 20)
    sound = path.read_bytes()
    changed = bytearray(sound)
    changed[data.draw(st.integers(0, len(sound) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(changed)
    track = only_track(tmp_path)
    with pytest.raises(SegmentDamage):
        all_numbers(track)
    path.write_bytes(sound)


def listed_as_it_is(root: Path, content: bytes) -> Track:
    """Return a track whose one segment has this content, its line agreeing with it."""
    write_run(root, 20)
    folder = folder_of(root)
    track = only_track(root)
    *_, segment = track.poll()
    line = replace(segment, size_bytes=len(content), checksum=zlib.crc32(content))
    (folder / MANIFEST).write_bytes(encode(track.entries[0]) + encode(line))
    (folder / segment_name(0)).write_bytes(content)
    return only_track(root)


def stream_of(batch: pyarrow.RecordBatch) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue().to_pybytes()


HOSTILE_SEGMENTS = {
    "nothing": b"",
    "zeros": bytes(1000),
    "text": b"n,ip\n1,2\n" * 10,
    "half": stream_of(rows(0, 20))[:400],
    "another column": stream_of(rows(0, 20).rename_columns(["n", "port"])),
    "one column": stream_of(rows(0, 20).select(["n"])),
    "another type": stream_of(pyarrow.record_batch({"n": [1], "ip": ["x"]})),
}


@pytest.mark.parametrize("name", HOSTILE_SEGMENTS)
@pytest.mark.parametrize("columns", [None, ["ip"], ["ip", "n"]])
def test_a_segment_that_is_listed_and_is_none(
    tmp_path: Path, name: str, columns: list[str] | None
) -> None:
    track = listed_as_it_is(tmp_path, HOSTILE_SEGMENTS[name])
    *_, segment = track.poll()
    with pytest.raises(SegmentDamage, match="no Arrow stream"):
        list(track.read(segment, columns))


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_damaged_line_costs_its_segment_alone(tmp_path: Path, line: int) -> None:
    write_run(tmp_path, 3, 4, 5)
    path = folder_of(tmp_path) / MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b"segment", b"sogment", 1)
    path.write_bytes(b"".join(lines))
    track = only_track(tmp_path)
    spans = {1: range(3), 2: range(3, 7), 3: range(7, 12)}
    assert all_numbers(track) == sorted(set(range(12)) - set(spans[line]))
    assert len(track.damage) == 1
    assert f"manifest line {line + 1}" in track.damage[0]


def test_a_segment_is_listed_once(tmp_path: Path) -> None:
    write_run(tmp_path, 3, 4)
    path = folder_of(tmp_path) / MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[1]]))
    track = only_track(tmp_path)
    assert all_numbers(track) == list(range(7))
    assert track.damage == [f"{folder_of(tmp_path)}: segment 0 is listed behind 1"]


def test_lines_of_another_stream_are_not_this_streams(tmp_path: Path) -> None:
    write_run(tmp_path, 3)
    path = folder_of(tmp_path) / MANIFEST
    track = only_track(tmp_path)
    *_, segment = track.poll()
    with path.open("ab") as stream:
        stream.write(encode(replace(segment, segment=1, bounds=(1, 2, 3))))
    assert track.poll() == []
    assert track.damage == [f"{folder_of(tmp_path)}: a line with 3 bounds for 2 columns"]


def test_a_manifest_that_shrinks_is_noticed(tmp_path: Path) -> None:
    write_run(tmp_path, 3)
    track = only_track(tmp_path)
    track.poll()
    os.truncate(folder_of(tmp_path) / MANIFEST, 10)
    assert track.poll() == []
    assert "has become shorter" in track.damage[0]


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_manifest_that_is_not_there(tmp_path: Path, is_folder: bool) -> None:
    write_run(tmp_path, 3)
    path = folder_of(tmp_path) / MANIFEST
    path.unlink()
    if is_folder:
        path.mkdir()
    track = only_track(tmp_path)
    assert (track.poll(), track.poll()) == ([], [])
    assert track.damage == [f"{folder_of(tmp_path)}: the manifest is missing"]


NO_OBJECTS = [None, b"", b"{", b"[]", b"[" * 100_000, b"\xff\xfe", b"3", b"{}"]


@pytest.mark.parametrize("content", NO_OBJECTS)
def test_a_generation_that_cannot_be_read_is_named_and_the_one_before_is_read(
    tmp_path: Path, content: bytes | None
) -> None:
    write_run(tmp_path, 3, end=True)
    write_run(tmp_path, 4)
    path = folder_of(tmp_path, 2) / STREAM
    path.unlink() if content is None else path.write_bytes(content)
    spool = Spool(tmp_path)
    (track,) = spool.tracks()
    assert all_numbers(track) == [0, 1, 2]
    (damage,) = spool.damage
    assert damage.startswith(f"{path.parent} cannot be read: {STREAM}")


@pytest.mark.parametrize("content", NO_OBJECTS[:-1])
@pytest.mark.parametrize("name", [PLAN, QUERIES])
def test_a_plan_that_cannot_be_read_is_an_error_and_rows_are_not(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    write_run(tmp_path, 3)
    path = folder_of(tmp_path) / name
    path.unlink() if content is None else path.write_bytes(content)
    spool = Spool(tmp_path)
    with pytest.raises(SpoolReadError, match=f"{name}: "):
        spool.plan() if name == PLAN else spool.queries()
    assert all_numbers(*spool.tracks()) == [0, 1, 2]


@pytest.mark.parametrize("content", [*NO_OBJECTS[1:-1], b'{"first":-1}', b'{"first":true}'])
def test_a_bad_account_of_retention_hides_no_row(tmp_path: Path, content: bytes) -> None:
    write_run(tmp_path, 3)
    (folder_of(tmp_path) / RETAINED).write_bytes(content)
    track = only_track(tmp_path)
    assert track.retained().first == 0
    assert len(track.damage) == 1
    assert all_numbers(track) == [0, 1, 2]
    write_run(tmp_path, 1)
    assert all_numbers(track) == [0, 1, 2, 3]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None
)
@given(st.lists(st.binary(max_size=60), max_size=5), st.sampled_from([STREAM, MANIFEST]))
def test_no_bytes_crash_a_reader_or_a_writer(tmp_path: Path, parts: list[bytes], name: str) -> None:
    root, sound = tmp_path / "root", tmp_path / "sound"
    if not sound.exists():
        write_run(sound, 3)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound, root)
    with (folder_of(root) / name).open("ab") as stream:
        stream.write(b"\n".join(parts))
    # JSON's blanks behind an object change nothing; anything else is no JSON any more.
    if name == MANIFEST or not b"".join(parts).strip(b" \t\r\n"):
        assert all_numbers(only_track(root)) == [0, 1, 2]
    else:
        with pytest.raises(SpoolReadError, match=folder_of(root).name):
            Spool(root)
    write_run(root, 2)
    assert all_numbers(only_track(root)) in ([0, 1, 2, 3, 4], [0, 1])


def test_no_schema_crashes_a_reader(tmp_path: Path) -> None:
    chance = random.Random(1)
    write_run(tmp_path, 3)
    path = folder_of(tmp_path) / STREAM
    description = json.loads(path.read_bytes())
    sound = base64.b64decode(description["arrow_schema"])
    for _ in range(300):
        changed = bytearray(sound)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice([0, 1, 127, 128, 255])
        description["arrow_schema"] = base64.b64encode(changed).decode()
        path.write_text(json.dumps(description))
        try:
            (track,) = Spool(tmp_path).tracks()
        except SpoolReadError:
            continue
        with suppress(SegmentDamage):
            all_numbers_of(track)


def all_numbers_of(track: Track) -> int:
    """Return how many rows come of a track whose columns may be any."""
    return sum(batch.num_rows for entry in track.poll() for batch in track.read(entry))

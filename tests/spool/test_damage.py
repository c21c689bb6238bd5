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
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.spool import SegmentDamage, Spool, SpoolError, SpoolReadError, Track
from gigastream.spool.entry import encode
from gigastream.spool.layout import (
    DESCRIPTIONS,
    FIRST_FORMAT_STREAM,
    FORMAT,
    GENERATION,
    MANIFEST,
    PLAN,
    QUERIES,
    READERS,
    RETAINED,
    SETS,
    SPOOL,
    segment_name,
)
from tests.spool.made import Kept, all_numbers, folder_of, numbers, only_track, rows, write_run

SEGMENT_DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "it is missing"),
    "empty": (lambda path: os.truncate(path, 0), "it has 0 bytes of"),
    "torn": (lambda path: os.truncate(path, 100), "it has 100 bytes of"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "it has more than"),
    "changed": (
        lambda path: path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:]),
        "its checksum does not fit",
    ),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "it is a folder and no file"),
    "a pipe": (lambda path: (path.unlink(), os.mkfifo(path)), "it is a pipe and no file"),
    "a link": (
        lambda path: (path.rename(path.parent / "x"), path.symlink_to(path.parent / "x")),
        "it is a link and no file",
    ),
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
    assert track.damage == [str(error)]
    assert numbers(track, segments[0]) == [0, 1, 2]
    assert numbers(track, segments[2]) == [7, 8, 9, 10, 11]


def test_a_segment_that_is_cut_while_it_is_read_kills_nobody(tmp_path: Path) -> None:
    write_run(tmp_path, 200_000)
    track = only_track(tmp_path)
    *_, segment = track.poll()
    batches = track.read(segment)
    first = next(batches)
    os.truncate(folder_of(tmp_path) / segment_name(0), 0)
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 200_000


def test_a_segment_that_is_listed_as_larger_than_any_is_not_held(tmp_path: Path) -> None:
    write_run(tmp_path, 3)
    track = only_track(tmp_path)
    *_, segment = track.poll()
    os.truncate(folder_of(tmp_path) / segment_name(0), 1 << 40)
    with pytest.raises(SegmentDamage, match="at most 4294967296 are read"):
        list(track.read(replace(segment, size_bytes=1 << 40)))
    with pytest.raises(SegmentDamage, match="more than"):
        list(track.read(segment))


@settings(max_examples=100)
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


def listed_as_it_is(root: Path, content: bytes) -> Kept:
    """Return a track whose one segment has this content, its line agreeing with it."""
    write_run(root, 20)
    folder = folder_of(root)
    track = only_track(root)
    *_, segment = track.poll()
    line = replace(segment, size_bytes=len(content), checksum=zlib.crc32(content))
    (folder / MANIFEST).write_bytes(encode(track.entries[0]) + encode(line))
    (folder / segment_name(0)).write_bytes(content)
    return only_track(root)


def stream_of(batch: pyarrow.RecordBatch, **options: Any) -> bytes:
    sink = pyarrow.BufferOutputStream()
    said = pyarrow.ipc.IpcWriteOptions(**options)
    with pyarrow.ipc.new_stream(sink, batch.schema, options=said) as stream:
        stream.write_batch(batch)
    return sink.getvalue().to_pybytes()


HOSTILE_SEGMENTS = {
    "nothing": b"",
    "zeros": bytes(1000),
    "text": b"n,ip\n1,2\n" * 10,
    "half": stream_of(rows(0, 20))[:400],
    "fewer rows": stream_of(rows(0, 19)),
    "more rows": stream_of(rows(0, 21)),
    "another column": stream_of(rows(0, 20).rename_columns(["n", "port"])),
    "one column": stream_of(rows(0, 20).select(["n"])),
    "an old version": stream_of(rows(0, 20), metadata_version=pyarrow.ipc.MetadataVersion.V4),
    "zstd": stream_of(rows(0, 20), compression="zstd"),
    "lz4": stream_of(rows(0, 20), compression="lz4"),
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


def test_a_segment_that_would_unpack_to_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    ones = pyarrow.array([1]).take(pyarrow.array([0] * (1 << 23)))
    bomb = stream_of(pyarrow.record_batch({"n": ones, "ip": ones}), compression="zstd")
    assert len(bomb) < ones.nbytes // 10
    track = listed_as_it_is(tmp_path, bomb)
    *_, segment = track.poll()
    usual = pyarrow.default_memory_pool()
    counted = pyarrow.proxy_memory_pool(usual)
    pyarrow.set_memory_pool(counted)
    try:
        with pytest.raises(SegmentDamage, match="it is compressed: "):
            list(track.read(segment))
    finally:
        pyarrow.set_memory_pool(usual)
    assert counted.max_memory() < 2 * len(bomb)


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
    assert f"{MANIFEST} line {line + 1}" in track.damage[0]


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
    reason = "it is a folder and no file" if is_folder else "lacks segments 0 to 0"
    (damage,) = track.damage
    assert str(folder_of(tmp_path)) in damage
    assert reason in damage
    assert track.is_cut_off


NO_OBJECTS = [None, b"", b"{", b"[]", b"[" * 100_000, b"\xff\xfe", b"3", b"{}"]


@pytest.mark.parametrize("content", NO_OBJECTS)
@pytest.mark.parametrize("name", [SPOOL, f"{SETS}/000002/{DESCRIPTIONS}"])
def test_a_query_set_that_cannot_be_read_is_named_and_what_can_be_is_read(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    write_run(tmp_path, 3, plan={"low": ["older"]})
    write_run(tmp_path, 4)
    path = tmp_path / name
    path.unlink() if content is None else path.write_bytes(content)
    spool = Spool(tmp_path)
    (track,) = spool.tracks()
    assert all_numbers(track) == (list(range(4)) if name == SPOOL else list(range(3)))
    if name != SPOOL or content is not None:
        assert any(f"{path} cannot be read: " in damage for damage in spool.damage), spool.damage
    write_run(tmp_path, 1)
    assert len(all_numbers(only_track(tmp_path))) in (1, 5)


@pytest.mark.parametrize("content", NO_OBJECTS)
def test_the_spool_is_read_without_what_stands_beside_the_segments(
    tmp_path: Path, content: bytes | None
) -> None:
    write_run(tmp_path, 3)
    path = folder_of(tmp_path) / GENERATION
    path.unlink() if content is None else path.write_bytes(content)
    assert all_numbers(only_track(tmp_path)) == [0, 1, 2]


@pytest.mark.parametrize("content", NO_OBJECTS[:-1])
@pytest.mark.parametrize("name", [PLAN, QUERIES])
def test_a_plan_that_cannot_be_read_is_an_error_and_rows_are_not(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    write_run(tmp_path, 3)
    path = tmp_path / SETS / "000001" / name
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


@settings(max_examples=30)
@given(
    st.lists(st.binary(max_size=60), max_size=5),
    st.sampled_from([SPOOL, f"{SETS}/000001/{DESCRIPTIONS}", MANIFEST, "progress/eth0.json"]),
)
def test_no_bytes_crash_a_reader_or_a_writer(tmp_path: Path, parts: list[bytes], name: str) -> None:
    root, sound = tmp_path / "root", tmp_path / "sound"
    if not sound.exists():
        write_run(sound, 3)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound, root)
    path = folder_of(root) / name if name == MANIFEST else root / name
    with path.open("ab") as stream:
        stream.write(b"\n".join(parts))
    # Without its descriptions it is no spool, unless they are only followed by JSON's blanks.
    if "sets" in name and b"".join(parts).strip(b" \t\r\n"):
        with pytest.raises(SpoolReadError, match=DESCRIPTIONS):
            Spool(root)
    else:
        assert all_numbers(only_track(root)) == [0, 1, 2]
    write_run(root, 2)
    assert all_numbers(only_track(root)) in ([0, 1, 2, 3, 4], [0, 1], [3, 4])


def test_no_schema_crashes_a_reader(tmp_path: Path) -> None:
    chance = random.Random(1)
    write_run(tmp_path, 3)
    path = tmp_path / SETS / "000001" / DESCRIPTIONS
    described = json.loads(path.read_bytes())
    description = described["streams"]["flows"]
    sound = base64.b64decode(description["arrow_schema"])
    for _ in range(300):
        changed = bytearray(sound)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice([0, 1, 127, 128, 255])
        description["arrow_schema"] = base64.b64encode(changed).decode()
        path.write_text(json.dumps(described))
        try:
            tracks = Spool(tmp_path).tracks()
        except SpoolReadError:
            continue
        for track in tracks:
            with suppress(SegmentDamage):
                all_numbers_of(track)


def all_numbers_of(track: Track) -> int:
    """Return how many rows come of a track whose columns may be any."""
    return sum(batch.num_rows for entry in track.poll() for batch in track.read(entry))


@pytest.mark.parametrize("where", ["folder", "file", "beside"])
def test_a_commit_goes_through_no_link(tmp_path: Path, where: str) -> None:
    write_run(tmp_path / "spool", 3)
    track = only_track(tmp_path / "spool")
    track.poll()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / "mine.json"
    target.write_text("kept")
    readers = folder_of(tmp_path / "spool") / READERS
    if where == "folder":
        readers.symlink_to(elsewhere)
        with pytest.raises(SpoolReadError, match="a link is on the way"):
            track.commit("mine", 1)
    else:
        readers.mkdir()
        for name in (
            ["mine.json"] if where == "file" else [".mine.json.new", f".mine.json.{os.getpid()}"]
        ):
            (readers / name).symlink_to(target)
        track.commit("mine", 1)
        assert not (readers / "mine.json").is_symlink()
        assert json.loads((readers / "mine.json").read_text())["segment"] == 1
    assert [path.name for path in elsewhere.iterdir()] == ["mine.json"]
    assert target.read_text() == "kept"


PLACES = [
    SPOOL,
    f"{SETS}/000001/{DESCRIPTIONS}",
    "progress/eth0.json",
    f"streams/flows/eth0/000001/{MANIFEST}",
    f"streams/flows/eth0/000001/{GENERATION}",
    f"streams/flows/eth0/000001/{READERS}/mine.json",
]
KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_is_neither_waited_for_nor_followed(
    tmp_path: Path, place: str, kind: str
) -> None:
    write_run(tmp_path, 3)
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    try:
        spool = Spool(tmp_path)
        for track in spool.tracks():
            all_numbers(track)
            with suppress(SpoolReadError):
                track.commit("mine", 1)
            spool.damage += track.damage
        told = " ".join(spool.damage)
    except SpoolReadError as error:
        told = str(error)
    assert READERS in place or GENERATION in place or path.name in told
    with suppress(SpoolError):
        write_run(tmp_path, 3)


def test_a_spool_of_the_first_format_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "flows" / "eth0" / "000001"
    folder.mkdir(parents=True)
    (folder / FIRST_FORMAT_STREAM).write_text("{}")
    (folder / MANIFEST).write_bytes(b"")
    with pytest.raises(SpoolReadError, match="is a spool of format 1") as caught:
        Spool(tmp_path)
    assert "with that version" in str(caught.value.hint)
    with pytest.raises(SpoolError):
        write_run(tmp_path, 3)
    assert (folder / FIRST_FORMAT_STREAM).read_text() == "{}"


def test_a_spool_of_a_later_format_is_not_written_over(tmp_path: Path) -> None:
    write_run(tmp_path, 3)
    index = tmp_path / "spool.json"
    later = index.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}')
    assert later != index.read_text()
    index.write_text(later)
    with pytest.raises(SpoolError, match=f"of format {FORMAT + 1}, which a later version wrote"):
        write_run(tmp_path, 3)
    assert index.read_text() == later


@pytest.mark.parametrize(
    ("tracks", "reason"),
    [
        ({}, "no tracks"),
        ({"flows": {}}, "a stream has no track"),
        ({"flows": {"eth0": 2}}, "no manifest"),
        ({"flows": {"eth1": 1}}, "progress/eth1.json is missing"),
    ],
)
def test_an_index_that_leads_to_nothing_is_told(
    tmp_path: Path, tracks: dict[str, Any], reason: str
) -> None:
    write_run(tmp_path, 3)
    index = json.loads((tmp_path / SPOOL).read_text())
    (tmp_path / SPOOL).write_text(json.dumps(index | {"tracks": tracks}))
    spool = Spool(tmp_path)
    (track,) = spool.tracks()
    all_numbers(track)
    assert reason in " ".join([*spool.damage, *track.damage])

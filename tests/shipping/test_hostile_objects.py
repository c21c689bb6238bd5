# SPDX-License-Identifier: Apache-2.0
"""What stands at a destination is data: what no shipper writes is refused with a sentence."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.command import gigastream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from shipping.shippers import ShippedReader, objects, track_at, write_shipped
from shipping.test_ship import ship
from spool.made import all_numbers, write_run

from gigastream.spool import Spool, SpoolReadError, shipped_files
from gigastream.spool.layout import SPOOL
from gigastream.spool.shipped_object import (
    FileNews,
    FilePiece,
    ShippedObject,
    decode_object,
    encode_object,
)

MANIFEST = "streams/flows/eth0/000001/manifest-000001"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A destination with three objects."""
    root, found = tmp_path / "spool", tmp_path / "there"
    for size in (3, 4, 5):
        write_run(root, size)
        ship(root, found)
    assert [number for number, _ in objects(found)] == [1, 2, 3]
    return found


def why_not(destination: Path) -> str:
    """Why it is not read."""
    with pytest.raises(SpoolReadError) as caught:
        all_numbers(track_at(destination))
    assert caught.value.hint is not None
    return str(caught.value)


def path_of(destination: Path, number: int) -> Path:
    return dict(objects(destination))[number]


def say(path: Path, value: Any) -> None:
    """Write JSON with a checksum that fits."""
    text = json.dumps(value).encode()
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))


def saying(**changed: Any) -> Callable[[Path], None]:
    """Change what an object says."""

    def change(path: Path) -> None:
        say(path, {**json.loads(path.read_bytes()[9:]), **changed})

    return change


def telling(**changed: Any) -> Callable[[Path], None]:
    """Change what an object says of a file."""
    return saying(files=[{"path": SPOOL, "at": 0, "data": "{}", **changed}])


def piece(**changed: Any) -> Callable[[Path], None]:
    known = {"path": "pieces/000000000003-000000", "size_bytes": 9, "checksum": 1}
    return telling(path=MANIFEST, pieces=[known | changed])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.write_bytes(b""), "its checksum does not fit"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "its checksum does not fit"),
        (lambda path: say(path, []), "of no known format"),
        (saying(format=2), "of no known format"),
        (saying(number=2), "it says that it has another number"),
        (saying(number=-3), "it says that it has another number"),
        (saying(whole=True), "does not say whether it says the whole"),
        (saying(whole=1), "does not say which files"),
        (saying(files={}), "does not say which files"),
        (saying(files=["x"]), "says nothing of a file"),
        (telling(path="../../etc/passwd"), "which no spool has"),
        (telling(path="/etc/passwd"), "which no spool has"),
        (telling(path="sets/../spool.json"), "which no spool has"),
        (telling(path="sets/1/plan.json"), "which no spool has"),
        (telling(path="sets/x/plan.json"), "which no spool has"),
        (telling(path="streams"), "which no spool has"),
        (telling(path="streams/flows/eth0/000001/../x"), "which no spool has"),
        (telling(path="streams/flows/eth0/000001/segment-0000000000.arrows"), "no spool has"),
        (telling(path="streams/flows/eth0/000001/readers/x.json"), "which no spool has"),
        (telling(path="progress/..%2Fx.json\n"), "which no spool has"),
        (telling(path=7), "which no spool has"),
        (telling(data=7), "does not say what spool.json holds"),
        (telling(data="\ud800"), "codec can't encode"),
        (telling(at=-1), "a number is no count"),
        (telling(at=True), "a number is no count"),
        (telling(at=10**30), "a number is no count"),
        (telling(at=10), "it adds to spool.json at byte 10, which has"),
        (telling(path="progress/new.json", at=10), "at byte 10, which has 0"),
        (piece(path="../segment"), "leads elsewhere"),
        (piece(path="pieces/../manifests/x"), "leads elsewhere"),
        (piece(size_bytes=10**15), "a piece of 1000000000000000 bytes"),
        (piece(size_bytes="9"), "a number is no count"),
    ],
)
def test_an_object_that_no_shipper_writes(
    there: Path, change: Callable[[Path], None], reason: str
) -> None:
    reader = ShippedReader(there)
    change(path_of(there, 3))
    assert reason in why_not(there)
    # Who has read it already goes on, until it is asked again.
    reader.check()
    done = gigastream("run", "--spool", there)
    assert (done.code, reason in done.err) == (2, True)


def test_a_gap_is_told(there: Path) -> None:
    path_of(there, 2).unlink()
    assert "object 2 is missing, and 3 is there" in why_not(there)


def test_without_a_whole_there_is_nothing_to_begin_with(there: Path) -> None:
    path_of(there, 1).unlink()
    assert "object 1 is missing, and 2 is there" in why_not(there)


def test_objects_that_go_back_are_refused(there: Path) -> None:
    reader = ShippedReader(there)
    reader.check()
    path_of(there, 3).unlink()
    reader.spool._place.shipped._due_s = 0.0  # type: ignore[attr-defined]
    with pytest.raises(SpoolReadError, match="object 3, which was read, is not there any more"):
        reader.check()


def test_two_objects_of_one_number_are_refused(there: Path) -> None:
    write_shipped(there, 3, is_whole=True)
    assert "is one object too many" in why_not(there)


def test_a_giant_object_is_not_read(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is looked at first: nothing of it is taken into memory."""
    os.truncate(path_of(there, 3), 1 << 40)
    assert "has 1099511627776 bytes, at most 268435456 are read" in why_not(there)


def test_a_giant_whole_of_many_objects_is_not_held(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_files, "MAX_OBJECT_BYTES", 20_000)
    for number in range(4, 9):
        write_shipped(there, number, FileNews(f"progress/{number}.json", b"x" * 9_000))
    assert "all files together have more than 20000 bytes" in why_not(there)


def test_names_without_end_are_not_read(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_files, "MAX_OBJECTS", 10)
    for number in range(4, 20):
        write_shipped(there, number)
    assert "is one object too many" in why_not(there)


def test_a_piece_that_is_another_is_damage(there: Path) -> None:
    """And one that is missing: of its manifest alone."""
    data = b"".join((news.data or b"") for news in manifests_of(there))
    (there / "pieces").mkdir()
    path = there / "pieces" / "000000000004-000000"
    known = FilePiece("pieces/000000000004-000000", len(data), zlib.crc32(data))
    write_shipped(there, 4, FileNews(MANIFEST, b"", pieces=(known,)))
    path.write_bytes(data)
    assert all_numbers(track_at(there)) == list(range(12))
    for content in (data[:-1], data[:-1] + b"x", data + b"x"):
        path.write_bytes(content)
        track = track_at(there)
        assert all_numbers(track) == []
        assert "is not what is listed" in track.damage[0]
    path.unlink()
    track = track_at(there)
    assert all_numbers(track) == []
    assert track.is_cut_off


def manifests_of(there: Path) -> list[FileNews]:
    found = (decode_object(path.read_bytes(), number) for number, path in objects(there))
    return [news for shipped in found for news in shipped.files if news.path == MANIFEST]


def test_a_marker_of_another_version(there: Path) -> None:
    (there / "shipped.json").write_text('{"format": 9, "spool": null}')
    done = gigastream("run", "--spool", there)
    assert (done.code, "is of format 9, which another version wrote" in done.err) == (2, True)


def test_links_lead_nowhere(there: Path, tmp_path: Path) -> None:
    """Neither an object nor a segment is read through one."""
    segment = there / "streams" / "flows" / "eth0" / "000001" / "segment-0000000001.arrows"
    segment.rename(tmp_path / "elsewhere")
    segment.symlink_to(tmp_path / "elsewhere")
    track = track_at(there)
    track.poll()
    with pytest.raises(Exception, match="it is a link and no file"):
        all_numbers(track_at(there))
    path = path_of(there, 3)
    path.rename(tmp_path / "object")
    path.symlink_to(tmp_path / "object")
    assert all_numbers_before(there, 2) == [0, 1, 2]


def all_numbers_before(there: Path, segments: int) -> list[int]:
    track = track_at(there)
    first = [entry for entry in track.poll() if entry.is_segment][: segments - 1]
    return [n for e in first for b in track.read(e, ["n"]) for n in b.column(0).to_pylist()]


@given(some.binary(max_size=200), some.integers(0, 5_000))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_crash_a_reader(there: Path, garbage: bytes, at: int) -> None:
    """Any bytes in an object are refused, or are those that were there."""
    path = path_of(there, 2)
    whole = path.read_bytes()
    changed = whole[: at % len(whole)] + garbage + whole[at % len(whole) + len(garbage) :]
    path.write_bytes(changed)
    try:
        assert all_numbers(track_at(there)) == list(range(12))
        assert changed == whole
    except SpoolReadError as error:
        assert changed != whole
        assert "is not what a shipper writes" in str(error)  # noqa: PT017
    finally:
        path.write_bytes(whole)


_NEWS = some.builds(
    FileNews,
    some.sampled_from([SPOOL, MANIFEST, "sets/000001/plan.json", "progress/%2Eeth0.json"]),
    some.none() | some.binary(max_size=50),
    some.integers(0, 1 << 40),
    some.lists(
        some.builds(
            FilePiece,
            some.just("pieces/000000000001-000002"),
            some.integers(0, 1 << 28),
            some.integers(0, 1 << 32),
        ),
        max_size=3,
    ).map(tuple),
)


@given(
    some.builds(ShippedObject, some.integers(1, 10**12 - 1), some.booleans(), some.tuples(_NEWS))
)
def test_an_object_comes_back_as_it_was(shipped: ShippedObject) -> None:
    """Bytes that are no UTF-8 too; of what is gone nothing else is said."""
    found = decode_object(encode_object(shipped), shipped.number)
    (told,), (read,) = shipped.files, found.files
    wanted = told if told.data is not None else FileNews(told.path, None)
    assert (found.number, found.is_whole, read) == (shipped.number, shipped.is_whole, wanted)


def test_a_plain_spool_is_none_of_these(tmp_path: Path) -> None:
    write_run(tmp_path / "spool", 3)
    assert Spool(tmp_path / "spool")._place.is_here

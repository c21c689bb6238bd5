# SPDX-License-Identifier: Apache-2.0
"""Objects that no shipper writes are refused with a sentence, and lead nowhere."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spool.made import write_run

from gigastream.spool.shipped_object import MAX_OBJECT_BYTES, OBJECTS, object_name
from tests.cli.command import gigastream

REFUSED = "is not what a shipper writes"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """What was shipped in three steps."""
    root, destination = tmp_path / "spool", tmp_path / "there"
    for rows in (3, 4, 5):
        write_run(root, rows)
        assert gigastream("ship", root, destination, "--once").code == 0
    return destination


def last(there: Path) -> tuple[int, Path]:
    """The newest object, which adds to what the others say."""
    path = max((there / OBJECTS).iterdir())
    assert "whole" not in path.name
    return int(path.name.split(".")[0]), path


def written(path: Path, value: Any) -> None:
    text = json.dumps(value).encode()
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))


def value_of(path: Path) -> Any:
    return json.loads(path.read_bytes()[9:])


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """The last object says something else, with a checksum that fits."""

    def apply(there: Path) -> None:
        _, path = last(there)
        value = value_of(path)
        change(value)
        written(path, value)

    return apply


def says_of(path: str, **more: object) -> Callable[[Path], None]:
    """The last object has one more file."""
    return changed(lambda value: value["files"].append({**value["files"][0], "path": path, **more}))


def leaves_a_gap(there: Path) -> None:
    number, path = last(there)
    written(path, value_of(path) | {"number": number + 1})
    path.rename(path.with_name(object_name(number + 1, is_whole=False)))


def is_cut(there: Path) -> None:
    _, path = last(there)
    path.write_bytes(path.read_bytes()[:-9])


def is_too_large(there: Path) -> None:
    _, path = last(there)
    with path.open("r+b") as file:
        file.truncate(MAX_OBJECT_BYTES + 1)


def is_there_twice(there: Path) -> None:
    number, path = last(there)
    (path.parent / object_name(number, is_whole=True)).write_bytes(path.read_bytes())


def nests(there: Path) -> None:
    _, path = last(there)
    text = b"[" * 100_000 + b"]" * 100_000
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))


def is_text(there: Path) -> None:
    _, path = last(there)
    path.write_bytes(bytes(range(256)))


HOSTILE: dict[str, Callable[[Path], None]] = {
    "gap": leaves_a_gap,
    "cut": is_cut,
    "too large": is_too_large,
    "twice": is_there_twice,
    "nested": nests,
    "no text": is_text,
    "another number": changed(lambda value: value.update(number=1)),
    "another format": changed(lambda value: value.update(format=99)),
    "not an object": changed(lambda value: value.update(files=[3])),
    "no files": changed(lambda value: value.pop("files")),
    "above": says_of("../../etc/passwd"),
    "absolute": says_of("/etc/passwd"),
    "a segment": says_of("streams/low/eth0/000001/segment-000000000001.arrow"),
    "nothing of a spool": says_of("hello.txt"),
    "behind its end": changed(lambda value: value["files"][0].update(at=1 << 40)),
    "before its start": changed(lambda value: value["files"][0].update(at=-1)),
    "a piece elsewhere": changed(
        lambda value: value["files"][0].update(at=0, pieces=[["../spool/spool.json", 9, 9]])
    ),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_an_object_that_no_shipper_writes(there: Path, change: Callable[[Path], None]) -> None:
    change(there)
    done = gigastream("run", "--spool", there, "-o", "json")
    assert done.code in (1, 2)
    assert REFUSED in done.err
    assert done.out == b""

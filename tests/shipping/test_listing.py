# SPDX-License-Identifier: Apache-2.0
"""A place is listed while its shipper writes, or while somebody moves it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from shipping.shippers import ShippedReader, track_at
from shipping.test_ship import ship
from spool.made import all_numbers, write_run

from gigastream.spool.place import Place
from gigastream.spool.shipped_object import OBJECTS


def once_listed(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen once, between the names of a folder and what they are names of."""
    real, left = os.scandir, [happens]

    @contextmanager
    def scandir(folder: Any) -> Iterator[Iterator[os.DirEntry[str]]]:
        with real(folder) as entries:
            listed = list(entries)
        if left:
            left.pop()()
        yield iter(listed)

    monkeypatch.setattr(os, "scandir", scandir)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Where a spool has been shipped to, in two objects."""
    for size in (3, 4):
        write_run(tmp_path / "spool", size)
        ship(tmp_path / "spool", tmp_path / "there")
    return tmp_path / "there"


def test_an_object_that_gets_its_name_meanwhile_is_no_silence(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = there / OBJECTS / ".000000000003.json.0123456789abcdef"
    beside.touch()
    once_listed(monkeypatch, lambda: beside.rename(there / OBJECTS / "of nobody"))
    track = track_at(there)
    assert all_numbers(track) == list(range(7))
    assert (track.away, track.damage) == (None, [])


def test_a_place_that_is_moved_meanwhile_is_read_as_it_was_listed(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is away from then on: it has lost nothing."""
    reader = ShippedReader(there)
    reader.wait_for(7)
    shipped = reader.spool._place.shipped  # type: ignore[attr-defined]
    once_listed(monkeypatch, lambda: there.rename(there.with_name("away")))
    for away in (False, True):
        shipped._due_s = 0.0
        reader.check()
        assert (reader.track.away is not None) == away
    assert not shipped.is_refused
    there.with_name("away").rename(there)
    write_run(there.with_name("spool"), 5)
    ship(there.with_name("spool"), there)
    reader.wait_for(12)


def test_links_and_folders_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    assert Place(None, str(tmp_path)).sizes(str(tmp_path)) == {"file": 5}

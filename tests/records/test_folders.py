# SPDX-License-Identifier: Apache-2.0
"""A folder that goes away while it is watched, or for whose files no descriptor is left."""

from __future__ import annotations

import errno
import gzip
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from records.asked import row, source_of

from gigastream.records import places
from gigastream.records.feed import Pipe, RecordFeed
from gigastream.records.places import END_MARKER, RecordFolder, RecordPlaceError
from gigastream.sources import pipes
from tests.waiting import PATIENCE_S, wait_until

STREAM = source_of("-").stream


def fill(folder: Path, *names: str) -> None:
    """Rename a file of one record into it for each name."""
    for name in names:
        record = row(name=name)
        text = f"{','.join(record)}\n" + ",".join(f'"{value}"' for value in record.values()) + "\n"
        (folder / f"{name}.part").write_text(text)
        (folder / f"{name}.part").rename(folder / f"{name}.csv")


class Followed:
    """What a folder has given so far, and how it ended."""

    def __init__(self) -> None:
        self.data = b""
        self.problem: Exception | None = None

    def count(self, name: str) -> int:
        return self.data.count(name.encode())


@contextmanager
def followed(folder: RecordFolder) -> Iterator[Followed]:
    """Read a folder, to its end."""
    reader, writer = os.pipe()
    found = Followed()

    def deliver() -> None:
        try:
            folder.deliver(RecordFeed(STREAM, Pipe(writer), is_patient=False))
        except (RecordPlaceError, BrokenPipeError) as problem:
            found.problem = problem
        finally:
            os.close(writer)

    def empty() -> None:
        while data := os.read(reader, 4096):
            found.data += data

    threads = [threading.Thread(target=work) for work in (deliver, empty)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        os.close(reader)


def test_one_that_is_awaited_is_taken_up_again(tmp_path: Path) -> None:
    """What was taken before is not taken once more where the folder is the same."""
    path, away = tmp_path / "events", tmp_path / "away"
    path.mkdir()
    fill(path, "first")
    folder = RecordFolder(str(path), None, is_awaited=True)
    with followed(folder) as found:
        wait_until(lambda: found.count("first") == 1, "the first file")
        path.rename(away)
        wait_until(lambda: folder.absence is not None, "the folder to be missed")
        assert folder.notes == ["No such file or directory; it is waited for"]
        away.rename(path)
        fill(path, "second")
        wait_until(lambda: found.count("second") == 1, "a file of the folder that is back")
        assert folder.notes == []
        (path / END_MARKER).touch()
    assert (found.count("first"), found.problem) == (1, None)


def test_one_that_is_moved_in_the_middle_of_a_look_is_read_as_it_was_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is lost, nor taken twice when it is back."""
    path, away = tmp_path / "events", tmp_path / "away"
    path.mkdir()
    fill(path, "first")
    is_moved = threading.Event()
    really = os.scandir

    def moved(folder: int) -> object:
        found = really(folder)
        if is_moved.is_set() and path.exists():
            path.rename(away)
        return found

    monkeypatch.setattr(places.os, "scandir", moved)
    folder = RecordFolder(str(path), None, is_awaited=True)
    with followed(folder) as found:
        wait_until(lambda: found.count("first") == 1, "the first file")
        fill(path, "second")
        is_moved.set()
        wait_until(lambda: folder.absence is not None, "the folder to be missed")
        is_moved.clear()
        away.rename(path)
        fill(path, "third")
        wait_until(lambda: found.count("third") == 1, "a file of the folder that is back")
        (path / END_MARKER).touch()
    assert [found.count(name) for name in ("first", "second", "third")] == [1, 1, 1]
    assert (found.problem, b"No such file" in found.data) == (None, False)


def test_what_comes_while_its_list_is_made_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a great folder a part is listed first; then come a file of that part, and the end."""
    fill(tmp_path, "first")
    really, looks = os.scandir, list[int]()

    @contextmanager
    def listed(folder: int) -> Iterator[list[os.DirEntry[str]]]:
        looks.append(folder)
        with really(folder) as entries:
            found = list(entries)
        if len(looks) == 2:  # the first file is taken
            fill(tmp_path, "second")
            (tmp_path / END_MARKER).touch()
            with really(folder) as entries:
                found += [entry for entry in entries if entry.name == END_MARKER]
        yield found

    monkeypatch.setattr(places.os, "scandir", listed)
    with followed(RecordFolder(str(tmp_path), None)) as found:
        pass
    assert [found.count(name) for name in ("first", "second")] == [1, 1]
    assert found.problem is None


def test_one_that_is_not_ends(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.mkdir()
    with followed(RecordFolder(str(path), None)) as found:
        path.rmdir()
    assert str(found.problem) == "No such file or directory"


@pytest.mark.parametrize("of", ["the folder", "its list", "a file"])
def test_where_descriptors_are_short_it_looks_again(
    of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is lost, and they keep their order."""
    fill(tmp_path, "first", "second")
    (tmp_path / END_MARKER).touch()
    waits: list[float] = []
    opened, listed = os.open, os.scandir

    def fail(what: str) -> None:
        if len(waits) < 2 and what == of:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def short_open(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        fail("the folder" if dir_fd is None else "a file")
        return opened(path, flags, dir_fd=dir_fd)

    def short_list(folder: int) -> object:
        fail("its list")
        return listed(folder)

    monkeypatch.setattr(places.os, "open", short_open)
    monkeypatch.setattr(places.os, "scandir", short_list)
    monkeypatch.setattr(places, "wait_for_reader", lambda _writer, seconds: waits.append(seconds))
    with followed(RecordFolder(str(tmp_path), None)) as found:
        pass
    assert (len(waits), found.problem) == (2, None)
    assert found.data.index(b"first") < found.data.index(b"second")
    assert (found.count("first"), found.count("second")) == (1, 1)


def test_where_threads_are_short_it_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is compressed needs one, and no descriptor is left open for it."""
    fill(tmp_path, "first")
    plain = (tmp_path / "first.csv").read_bytes()
    (tmp_path / "first.csv").unlink()
    (tmp_path / "first.csv.gz").write_bytes(gzip.compress(plain))
    (tmp_path / END_MARKER).touch()
    waits, opened = list[float](), list[set[str]]()

    class Thread(threading.Thread):
        def start(self) -> None:
            opened.append(set(os.listdir("/proc/self/fd")))
            if len(waits) < 2:
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr(pipes, "threading", SimpleNamespace(Thread=Thread))
    monkeypatch.setattr(places, "wait_for_reader", lambda _writer, seconds: waits.append(seconds))
    with followed(RecordFolder(str(tmp_path), None)) as found:
        pass
    assert (len(waits), found.problem, found.count("first")) == (2, None, 1)
    assert opened[2] <= opened[1] <= opened[0]  # less where others' are gone

# SPDX-License-Identifier: Apache-2.0
"""Where a spool is read: a folder here, or one of any filesystem that a URI opens.

What is in the folder is its owner's, and not believed: no link leads out of it, and a pipe or a
device in a file's place is not waited for.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow
from pyarrow import fs

from gigastream.late_dataclass import asdict, dataclass
from gigastream.spool import layout
from gigastream.spool.commits import Passed, parse_passed
from gigastream.spool.files import NEW, write_all
from gigastream.spool.filesystem import is_object_store
from gigastream.spool.lock import is_locked, lock_folder

_MAX_JSON_BYTES = 256 << 20
_WAY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class NoFileError(OSError):
    """Something else where a file should be."""


@dataclass(frozen=True, slots=True)
class Place:
    """A filesystem (None: this host's) and the path of a spool on it. Methods raise OSError."""

    files: fs.FileSystem | None
    root: str

    @property
    def is_here(self) -> bool:
        """Whether it is a folder of this host."""
        return self.files is None

    @property
    def is_served(self) -> bool:
        """Whether another host says what it holds, as it is asked: that may go on for ever."""
        return False

    def is_held(self) -> bool | None:
        """Return whether a process of this host holds the root; None where that cannot be told."""
        return is_locked(self.root) if self.files is None else None

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, in order, without those that begin with a dot."""
        if self.files is None:
            found = os.listdir(folder)
        else:
            infos = self.files.get_file_info(fs.FileSelector(folder))
            found = [info.base_name for info in infos]
        return sorted(name for name in found if not name.startswith("."))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files in a folder, by name: one request of a store."""
        if self.files is not None:
            infos = self.files.get_file_info(fs.FileSelector(folder))
            kept = (info for info in infos if info.type == fs.FileType.File)
            return {info.base_name: int(info.size) for info in kept}
        return _sizes_here(folder)

    def size_bytes(self, path: str) -> int:
        """Return a file's size. Raises FileNotFoundError, NoFileError."""
        if self.files is None:
            info = os.lstat(path)
            _check_is_file(info)
            return info.st_size
        found = self.files.get_file_info(path)
        if found.type != fs.FileType.File:
            raise FileNotFoundError(path)
        return int(found.size)

    def signature(self, path: str) -> tuple[int, ...] | None:
        """Return what changes when a file is replaced; None where that cannot be told."""
        if self.files is not None:
            return None
        info = os.lstat(path)
        return info.st_dev, info.st_ino, info.st_mtime_ns, info.st_size

    def read_at(self, path: str, offset: int, size_bytes: int) -> bytes:
        """Return bytes of a file, fewer at its end."""
        if self.files is None:
            with self._opened(path) as descriptor:
                return os.pread(descriptor, size_bytes, offset)
        with self.files.open_input_file(path) as stream:
            return bytes(stream.read_at(size_bytes, offset))

    def read_all(self, path: str, most_bytes: int) -> pyarrow.Buffer:
        """Return a file's bytes, at most so many.

        A copy: who reads a mapped file that its owner cuts meanwhile is killed (SIGBUS).
        """
        if self.files is not None:
            with self.files.open_input_file(path) as stream:
                return stream.read_buffer(most_bytes)
        with self._opened(path) as descriptor:
            data = memoryview(bytearray(min(os.fstat(descriptor).st_size, most_bytes)))
            end = 0
            while read := os.preadv(descriptor, [data[end:]], end):
                end += read
        return pyarrow.py_buffer(data[:end])

    def read_object(self, path: str) -> dict[str, Any]:
        """Return the object in a JSON file. Raises ValueError for other contents."""
        return parse_object(self.read_at(path, 0, _MAX_JSON_BYTES))

    def commit(self, folder: str, reader: str, segment: int, passed: Passed | None) -> None:
        """Write that a reader is done with the segments of a generation below a number."""
        value = {"reader": reader, "segment": segment, "made_ns": time.time_ns()}
        said = {} if passed is None else asdict(passed)
        path = _reader_path(folder, reader)
        # Who has never been heard of is not waited for; a later commit that a power cut takes
        # keeps more than need be, and with every track of a micro-batch no disk is waited for.
        is_first = self.files is None and not os.path.lexists(path)
        if is_first:  # with such a commit would go what no later one can find out
            self._keep(_passed_path(path), said)
        self.put(path, [json.dumps(value | said).encode()], durable=is_first)

    def passed(self, folder: str, reader: str) -> Passed | None:
        """Return what a reader has said with its commits; None where it has said nothing."""
        path = _reader_path(folder, reader)
        try:
            return parse_passed(self.read_object(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return self._passed_at_first(path)

    def _keep(self, path: str, said: dict[str, int]) -> None:
        """Make durable what was said; where that is nothing, what an earlier reader said goes."""
        if said:
            self.put(path, [json.dumps(said).encode()])
        else:
            self.delete(path)

    def _passed_at_first(self, path: str) -> Passed | None:
        """Return what was said with the first commit, where the last is damaged."""
        try:
            return parse_passed(self.read_object(_passed_path(path)))
        except (OSError, ValueError):
            return None

    def replace(self, path: str, text: bytes) -> None:
        """Write a file in one step: who opens it sees the old bytes or the new."""
        self.put(path, [text])

    def put(self, path: str, pieces: Iterable[bytes], *, durable: bool = True) -> None:
        """The same, of bytes that come piece by piece."""
        folder, name = path.rsplit("/", 1)
        # A name that nobody can have taken, or planted a link at.
        beside = f".{name}.{secrets.token_hex(8)}"
        if self.files is None:
            self._put_here(folder, name, beside, pieces, durable=durable)
            return
        if is_object_store(self.files):
            self._write(self.files, path, pieces)
            return
        self.files.create_dir(folder, recursive=True)
        self._write(self.files, f"{folder}/{beside}", pieces)
        self.files.move(f"{folder}/{beside}", path)

    def lock(self, folder: str) -> int:
        """Return a descriptor that holds a folder of this host, made if there is none.

        Raises BlockingIOError while another process holds it.
        """
        with self._folder(folder, make=True) as way:
            return lock_folder(".", way)

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is none."""
        with suppress(FileNotFoundError):
            if self.files is not None:
                self.files.delete_file(path)
                return
            folder, name = path.rsplit("/", 1)
            with self._folder(folder) as way:
                os.unlink(name, dir_fd=way)

    @staticmethod
    def _write(files: fs.FileSystem, path: str, pieces: Iterable[bytes]) -> None:
        with files.open_output_stream(path) as stream:
            for piece in pieces:
                stream.write(piece)

    def _put_here(
        self, folder: str, name: str, beside: str, pieces: Iterable[bytes], *, durable: bool
    ) -> None:
        with self._folder(folder, make=True) as way:
            descriptor = os.open(beside, NEW | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=way)
            try:
                for piece in pieces:
                    write_all(descriptor, piece)
                if durable:
                    os.fsync(descriptor)
                os.replace(beside, name, src_dir_fd=way, dst_dir_fd=way)
            except BaseException:
                os.unlink(beside, dir_fd=way)
                raise
            finally:
                os.close(descriptor)
            if durable:
                _sync_names(way)

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """Open a file within the root."""
        folder, name = path.rsplit("/", 1)
        with self._folder(folder) as way:
            _check_is_file(os.lstat(name, dir_fd=way))
            descriptor = os.open(name, _FILE, dir_fd=way)
        try:
            _check_is_file(os.fstat(descriptor))
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _folder(self, folder: str, *, make: bool = False) -> Iterator[int]:
        """Open a folder of the root, by descriptors: no link that is planted now is followed."""
        way = os.open(self.root, _WAY)
        try:
            for name in folder[len(self.root) :].split("/")[1:]:
                if make and _make_folder(way, name):
                    _sync_names(way)
                inner = _folder_in(way, name, folder)
                os.close(way)
                way = inner
            yield way
        finally:
            os.close(way)


def _sizes_here(folder: str) -> dict[str, int]:
    """The sizes of the files in a folder, all of the one that was there when it was opened.

    What is renamed or deleted since it was listed is not there: a shipper writes each object under
    another name first. A folder that is moved meanwhile still has what was listed.
    """
    sizes = {}
    way = os.open(folder, _LIST)
    try:
        with os.scandir(way) as found:
            for each in found:
                with suppress(FileNotFoundError):
                    if each.is_file(follow_symlinks=False):
                        sizes[each.name] = each.stat(follow_symlinks=False).st_size
    finally:
        os.close(way)
    return sizes


def _sync_names(way: int) -> None:
    """Wait until the names in a folder are on the disk."""
    folder = os.open(".", _LIST | os.O_NOFOLLOW, dir_fd=way)  # by the way alone nothing is synced
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make_folder(way: int, name: str) -> bool:
    """Make a folder as the owner of the one around it would have; False: it is there.

    A reader may come to a generation before its first row does, and as another user than the
    writer, which must be able to put its segments there from when it sees the folder.
    """
    with suppress(FileNotFoundError):
        os.lstat(name, dir_fd=way)
        return False
    beside = f".{secrets.token_hex(8)}"
    os.mkdir(beside, 0o700, dir_fd=way)
    try:
        _give(way, beside)
        os.rename(beside, name, src_dir_fd=way, dst_dir_fd=way)
    except OSError as error:
        os.rmdir(beside, dir_fd=way)
        # Somebody was sooner, and what he has put there is looked at next.
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
    return True


def _give(way: int, name: str) -> None:
    """Give a folder that we have made the mode and the owner of the one around it."""
    around = os.fstat(way)
    made = os.open(name, _LIST | os.O_NOFOLLOW, dir_fd=way)
    try:
        if os.fstat(made).st_uid != os.geteuid():
            return  # somebody has put another in its place
        os.fchmod(made, stat.S_IMODE(around.st_mode))
        with suppress(OSError):  # only root may give it away, and to whom it knows
            os.fchown(made, around.st_uid, around.st_gid)
    finally:
        os.close(made)


def _folder_in(way: int, name: str, folder: str) -> int:
    try:
        return os.open(name, _WAY | os.O_NOFOLLOW, dir_fd=way)
    except OSError as error:
        is_link = stat.S_ISLNK(os.lstat(name, dir_fd=way).st_mode)
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and is_link:
            raise NoFileError(f"a link is on the way to it, in {folder}") from None
        raise


def _check_is_file(info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
        kind = kinds.get(stat.S_IFMT(info.st_mode), "a device or a socket")
        raise NoFileError(f"it is {kind} and no file")


def _reader_path(folder: str, reader: str) -> str:
    return f"{folder}/{layout.READERS}/{layout.quoted(reader)}.json"


def _passed_path(reader_path: str) -> str:
    """Hidden, so that it is no reader of its own."""
    folder, name = reader_path.rsplit("/", 1)
    return f"{folder}/.{name}.passed"


def parse_object(data: bytes) -> dict[str, Any]:
    """Return the object that JSON is. Raises ValueError for everything else."""
    try:
        value = json.loads(data, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that says a thing twice: which of the two would be believed is chance."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has a key twice")
    return value

# SPDX-License-Identifier: Apache-2.0
"""Files that are written where the user says, and nowhere else that somebody has made it lead to.

Root could be led by another user's link to any file. So root follows links of root alone, from
folder to folder by descriptors, and writes no file that has a second name, or that belongs to
neither root nor whoever has the folder.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gigastream.ownership import UntrustedError, name_of

_LINKS_MAX = 40
_HINT = "another path, below folders that only root can write"
_FOLDER = os.O_PATH | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def open_destination(path: Path) -> int:
    """Open a file for writing, not cut yet; make it, and its folders, where they are not there.

    Raises OSError; UntrustedError, with a hint, for root alone.
    """
    if os.geteuid() == 0:
        with _Walk() as walk:
            return walk.open_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)


@contextmanager
def replacement(path: Path) -> Iterator[BinaryIO]:
    """Give what takes a file's place once it is whole; where that fails, nothing is left of it.

    Who has the old file open, or runs it, keeps it. Raises as open_destination, and so that the
    error names the path.
    """
    try:
        with _Walk() as walk:
            folder = walk.folder_for(path)
            _refuse_special(path.name, folder)
            beside = f".new-{os.urandom(8).hex()}"
            new = os.open(beside, _NEW, 0o666, dir_fd=folder)
            try:
                with os.fdopen(new, "wb") as stream:
                    yield stream
                os.replace(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=folder)
                raise
    except OSError as error:
        if not isinstance(error, UntrustedError):
            error.filename, error.filename2 = str(path), None
        raise


def _refuse_special(name: str, folder: int) -> None:
    """A file in the place of /dev/null would be the end of it."""
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EEXIST, "it is there already, and no regular file")


def make_folder(path: Path, user: int, group: int) -> bool:
    """Make a folder for a user as root; False if there is one, which is left as it is. OSError."""
    with _Walk() as walk:
        return walk.make_folder(path, user, group)


class _Walk:
    """A way through folders, as root; the descriptors of it are closed at its end."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._links = 0

    def __enter__(self) -> _Walk:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def open_file(self, path: Path) -> int:
        folder = self._enter(path.parent)
        try:
            return os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
        except FileExistsError:
            pass
        there = self._at(path.name, folder, os.O_NOFOLLOW)
        found = os.fstat(there)
        if stat.S_ISLNK(found.st_mode):
            return self._through(path, there, folder)
        _check_file(found, os.fstat(folder).st_uid)
        return os.open(f"/proc/self/fd/{there}", os.O_WRONLY | os.O_CLOEXEC)

    def folder_for(self, path: Path) -> int:
        """A descriptor of the folder of a file, which is made if need be."""
        if os.geteuid() == 0:
            return self._enter(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        return self._at(str(path.parent), None, os.O_DIRECTORY)

    def make_folder(self, path: Path, user: int, group: int) -> bool:
        name = path.name or "."
        folder = self._enter(path.parent)
        try:
            os.mkdir(name, 0o755, dir_fd=folder)
        except FileExistsError:
            return False
        made = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            if os.fstat(made).st_uid != 0 or os.listdir(made):
                raise UntrustedError("it was replaced while it was made", _HINT)
            os.fchown(made, user, group)
        finally:
            os.close(made)
        return True

    # ---- one step ----

    def _enter(self, path: Path) -> int:
        """A descriptor of a folder, which is made if need be."""
        names = list(path.parts)
        here = self._at("/" if path.is_absolute() else ".", None, os.O_DIRECTORY)
        while names:
            name = names.pop(0)
            if name == "/":
                here = self._at("/", None, os.O_DIRECTORY)
                continue
            there = self._at_or_made(name, here)
            if not stat.S_ISLNK(os.fstat(there).st_mode):
                here = there
            elif _is_of_processes(there):
                here = self._at(name, here, os.O_DIRECTORY)
            else:
                names[:0] = Path(self._target(Path(name), there)).parts
        if not stat.S_ISDIR(os.fstat(here).st_mode):
            raise NotADirectoryError(20, "a part of the way is not a folder", str(path))
        return here

    def _through(self, path: Path, link: int, folder: int) -> int:
        if _is_of_processes(link):  # /dev/stdout, /dev/fd/63: what this process has open
            return os.open(path.name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)
        return self.open_file(path.parent / self._target(path, link))

    def _target(self, path: Path, link: int) -> str:
        found = os.fstat(link)
        self._links += 1
        if found.st_uid != 0 or found.st_nlink != 1:
            who = name_of(found.st_uid)
            raise UntrustedError(
                f"{path.name} is a link of {who}, which root does not follow", _HINT
            )
        if self._links > _LINKS_MAX:
            raise UntrustedError("too many links", _HINT)
        return os.readlink("", dir_fd=link)

    def _at_or_made(self, name: str, folder: int) -> int:
        try:
            return self._at(name, folder, os.O_NOFOLLOW)
        except FileNotFoundError:
            os.mkdir(name, dir_fd=folder)
            return self._at(name, folder, os.O_NOFOLLOW)

    def _at(self, name: str, folder: int | None, flags: int) -> int:
        descriptor = os.open(name, _FOLDER | flags, dir_fd=folder)
        self._open.callback(os.close, descriptor)
        return descriptor


def _check_file(found: os.stat_result, folder_owner: int) -> None:
    if stat.S_ISCHR(found.st_mode):  # only root makes these
        return
    if found.st_uid not in (0, folder_owner):
        who = name_of(found.st_uid)
        raise UntrustedError(f"it belongs to {who}: root does not write it", _HINT)
    if stat.S_ISREG(found.st_mode) and found.st_nlink != 1:
        raise UntrustedError("it has a second name: root does not write it", _HINT)


def _is_of_processes(link: int) -> bool:
    """Whether a link is one of /proc, which the kernel follows by itself."""
    return os.fstat(link).st_dev == os.stat("/proc/self/stat").st_dev

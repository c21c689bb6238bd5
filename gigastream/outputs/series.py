# SPDX-License-Identifier: Apache-2.0
"""The files of an output that goes on for months: what they are called, and which of them are ours.

Others may be able to write the folder, too: a file is made under a name that nobody has, never
through a link, and takes its last name from nobody. Only regular files of this user that are called
as this output calls its own are ever changed or deleted. Methods raise OSError.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gigastream.late_dataclass import dataclass
from gigastream.outputs.whole_lines import whole_lines_end

LINE_FORMATS = ("csv", "json", "table")
"""What a killed run has left of them is good up to its last whole line."""
_BEGINS = {"csv": b"", "json": b'{"'}
"""How a file begins that rows may be added to, besides its header: a table has nothing of its own
by which it is known."""
INCOMPLETE = ".incomplete"
_PART = ".part"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_THERE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
_MOST_OF_A_SECOND = 100_000
_TIME = r"(\d{8}T\d{6}Z)"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BegunFile:
    """A file that rows go to from here on; it is locked until its descriptor is closed."""

    descriptor: int
    label: str
    hidden: str | None = None
    """Its name until it is ended; None: it has its last name already."""
    stamp: str = ""
    at: int = 0
    """Bytes that are in it, which stay."""


class Series:
    """Files NAME-TIME[-N].FORMAT of a folder, each hidden until it has ended."""

    def __init__(self, folder: Path, name: str, format_name: str, keep: int | None) -> None:
        """`keep`: how many ended files there are at the most; None: all."""
        self.folder, self.label = folder, f"{folder}/{name}-*.{format_name}"
        self._name, self._format, self._keep = name, format_name, keep
        stem, ending = re.escape(name), re.escape(f".{format_name}")
        self._hidden = re.compile(rf"\.{stem}-{_TIME}-[0-9a-f]{{8}}{ending}{_PART}")
        self._ended = re.compile(rf"{stem}-{_TIME}(?:-(\d+))?{ending}(|{INCOMPLETE})")
        self._unnamed: list[BegunFile] = []
        """Ended, but the last name could not be given."""
        self._shown: dict[str, int] = {}
        """In their order, which is not that of their names where the clock was set back."""
        self._count = 0
        self._last = ("", 0)

    def begin(self, now_ns: int, _header: bytes) -> BegunFile:
        """Make a file."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_ns // 10**9))
        hidden = f".{self._name}-{stamp}-{os.urandom(4).hex()}.{self._format}{_PART}"
        with opened_folder(self.folder) as folder:
            descriptor = os.open(hidden, _NEW, 0o666, dir_fd=folder)
        _lock(descriptor)
        return BegunFile(descriptor, f"{self.folder}/{hidden}", hidden, stamp)

    def end(self, file: BegunFile) -> None:
        """Show a file that is whole, and delete those beyond what is kept."""
        self._unnamed.append(file)
        self.settle()

    def settle(self) -> None:
        """Give what has ended its last name."""
        while self._unnamed:
            file = self._unnamed[0]
            with opened_folder(self.folder) as folder, suppress(FileNotFoundError):
                self.show(folder, file.hidden or "", file.stamp, "")
            del self._unnamed[0]
            self._prune()

    def discard(self, file: BegunFile) -> None:
        """Delete a file in which no row is."""
        with opened_folder(self.folder) as folder, suppress(FileNotFoundError):
            os.unlink(file.hidden or "", dir_fd=folder)

    def recover(self, tell: Tell) -> None:
        """End what a run that was killed has left."""
        with opened_folder(self.folder) as folder:
            check_writable(folder)
            for name in sorted(os.listdir(folder)):
                found = self._hidden.fullmatch(name)
                if found is not None:
                    self._recover(folder, name, found[1], tell)
        self._prune()

    # ---- names ----

    def show(self, folder: int, hidden: str, stamp: str, ending: str) -> str:
        """Give a hidden file the first name that nobody has; return it."""
        first = self._last[1] + 1 if self._last[0] == stamp else 1
        for number in range(first, first + _MOST_OF_A_SECOND):
            more = f"-{number}" if number > 1 else ""
            shown = f"{self._name}-{stamp}{more}.{self._format}{ending}"
            with suppress(FileExistsError):
                take_name_in(folder, hidden, shown)
                self._last, self._count = (stamp, number), self._count + 1
                self._shown[shown] = self._count
                return shown
        raise FileExistsError(errno.EEXIST, f"{_MOST_OF_A_SECOND:,} files of one second")

    def _prune(self) -> None:
        """Delete the oldest: of whole files, and of those that were put aside, each so many."""
        if self._keep is None:
            self._shown.clear()
            return
        with opened_folder(self.folder) as folder:
            for ending in ("", INCOMPLETE):
                ended = self._own(folder, ending)
                for name in ended[: max(0, len(ended) - self._keep)]:
                    self._shown.pop(name, None)
                    with suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=folder)

    def _own(self, folder: int, ending: str) -> list[str]:
        """The files that have ended, the oldest first."""
        found = (self._ended.fullmatch(name) for name in os.listdir(folder))
        names = [
            (self._shown.get(name[0], 0), name[1], int(name[2] or 1), name[0])
            for name in found
            if name is not None and name[3] == ending and _is_own(name[0], folder)
        ]
        return [name for *_, name in sorted(names)]

    # ---- what is left of others ----

    def _recover(self, folder: int, name: str, stamp: str, tell: Tell) -> None:
        with suppress(FileNotFoundError), _there(name, folder) as (descriptor, status):
            if not is_ours(status) or not _is_free(descriptor):
                return
            if status.st_nlink > 1:
                self._forget_name(folder, name, status)
            elif self._format in LINE_FORMATS:
                self._end_lines(folder, name, stamp, descriptor, tell)
            elif status.st_size == 0:
                os.unlink(name, dir_fd=folder)
            else:
                shown = self.show(folder, name, stamp, INCOMPLETE)
                tell(f"{self.folder}/{shown}: a run that was killed has left it without its end")

    def _forget_name(self, folder: int, name: str, status: os.stat_result) -> None:
        """It was shown, and the run was killed before its first name was gone."""
        for shown in filter(self._ended.fullmatch, os.listdir(folder)):
            there = os.stat(shown, dir_fd=folder, follow_symlinks=False)
            if (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino):
                os.unlink(name, dir_fd=folder)
                return

    def _end_lines(self, folder: int, name: str, stamp: str, descriptor: int, tell: Tell) -> None:
        size_bytes, end, has_rows = cut_torn_line(descriptor, self._format)
        if not has_rows:
            os.unlink(name, dir_fd=folder)
            return
        shown = self.show(folder, name, stamp, "")
        tell(
            f"{self.folder}/{shown}: a run that was killed has left it; "
            f"{size_bytes - end:,} bytes behind its last whole line are cut"
        )


class FileInPlace:
    """A file that is written where it is, and gone on with where lines can be added.

    rotate() opens its path anew, for who has moved the file away.
    """

    def __init__(self, path: Path, format_name: str, tell: Tell) -> None:
        self.folder, self.label = path.parent, str(path)
        self._path, self._format, self._tell = path, format_name, tell
        self._aside = Series(path.parent, path.stem, path.suffix[1:] or format_name, None)

    def begin(self, now_ns: int, header: bytes) -> BegunFile:
        """Make it, or go on behind what it has; what cannot be gone on with is put aside."""
        with opened_folder(self.folder) as folder:
            descriptor = os.open(self._path.name, _THERE | os.O_CREAT, 0o666, dir_fd=folder)
            try:
                status = os.fstat(descriptor)
                self.check(status)
                _lock(descriptor)
                at = self._whole_end(descriptor, header) if status.st_size else 0
                if at is not None:
                    os.lseek(descriptor, at, os.SEEK_SET)
                    return BegunFile(descriptor, self.label, at=at)
                self._put_aside(folder, now_ns)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
            descriptor = os.open(self._path.name, _NEW, 0o666, dir_fd=folder)
        _lock(descriptor)
        return BegunFile(descriptor, self.label)

    def check(self, status: os.stat_result) -> None:
        """Raise OSError for what is no file of ours."""
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file, and nobody is waited for here")
        if not is_ours(status) or status.st_nlink != 1:
            raise OSError(errno.EPERM, "it is another user's, or has a second name")

    def end(self, file: BegunFile) -> None:
        """It has its name."""

    def settle(self) -> None:
        """It has its name."""

    def discard(self, file: BegunFile) -> None:
        """It stays, with what was in it before."""

    def recover(self, _tell: Tell) -> None:
        """Its torn line is cut when it is gone on with."""
        with opened_folder(self.folder) as folder:
            try:
                self.check(os.stat(self._path.name, dir_fd=folder, follow_symlinks=False))
            except FileNotFoundError:
                check_writable(folder)

    def _whole_end(self, descriptor: int, header: bytes) -> int | None:
        """Where rows can be added; None: nowhere."""
        if self._format not in _BEGINS:
            return None
        known = header or _BEGINS[self._format]
        if os.pread(descriptor, len(known), 0) != known:
            return None
        return cut_torn_line(descriptor, self._format)[1]

    def _put_aside(self, folder: int, now_ns: int) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_ns // 10**9))
        shown = self._aside.show(folder, self._path.name, stamp, "")
        self._tell(f"{self.label}: rows cannot be added to what is there, which is now {shown}")


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """A descriptor of a folder, which is no link."""
    descriptor = os.open(path, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def check_writable(folder: int) -> None:
    """Raise OSError where no file can be made in a folder."""
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def take_name_in(folder: int, name: str, shown: str) -> None:
    """Call a file of a folder otherwise. FileExistsError where the name is somebody's."""
    try:
        os.link(name, shown, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _is_there(shown, folder):  # on disks without second names two may look in one moment
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), shown) from None
        os.rename(name, shown, src_dir_fd=folder, dst_dir_fd=folder)
        return
    os.unlink(name, dir_fd=folder)


def cut_torn_line(descriptor: int, format_name: str) -> tuple[int, int, bool]:
    """End a file behind its last whole line; its bytes before and now, and whether it has rows."""
    size_bytes = os.fstat(descriptor).st_size
    end, lines = whole_lines_end(descriptor, has_quotes=format_name == "csv")
    if end < size_bytes:
        os.ftruncate(descriptor, end)
    return size_bytes, end, lines > (format_name == "csv")


def is_ours(status: os.stat_result) -> bool:
    """Whether it is a regular file of this user."""
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _is_own(name: str, folder: int) -> bool:
    try:
        return is_ours(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _there(name: str, folder: int) -> Iterator[tuple[int, os.stat_result]]:
    """A file that is there, opened; FileNotFoundError for links and what is not ours to open."""
    try:
        descriptor = os.open(name, _THERE, dir_fd=folder)
    except OSError as error:
        raise FileNotFoundError(error.errno, error.strerror) from None
    try:
        yield descriptor, os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Keep others from taking the file for what a killed run has left."""
    if not _is_free(descriptor):
        raise OSError(errno.EBUSY, "another output writes it")


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

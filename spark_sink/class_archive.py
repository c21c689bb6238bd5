# SPDX-License-Identifier: Apache-2.0
"""Spark's Java classes as Java has them in memory, in a file that it maps: half of its start.

Two runs are needed for one: the first writes the names of the classes that it loads, from which a
process of its own (class_archive_maker) makes the archive, once, when that run is over. An archive
is code, so it lies in the user's cache, and is used only where nobody else can have written it, for
the Java and the jars that it was made of, with the checksum that it was made with.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gigastream.ownership import check_file, check_folder
from gigastream.paths import cache_directory
from spark_sink.java import Java

SWITCH = "GIGASTREAM_SPARK_ARCHIVE"
"""Environment: `off` neither uses an archive nor makes one."""
ARCHIVE, SUM, LIST, LOCK, FAILED = "classes.jsa", "sum", "classes", "lock", "failed"
_FOLDER = "java-classes"
_FREE_BYTES = 1 << 30
"""Less room than that in the cache, and none is made: one has 180 MB."""
_CHUNK = 1 << 22
_AGAIN_S = 24 * 3600
"""One that could not be made, or that Java did not start with, is tried again after that."""
_HINT = "remove it, and it is made again"


def is_off() -> bool:
    """Whether the user wants none."""
    return os.environ.get(SWITCH) == "off"


@dataclass(frozen=True)
class ClassArchive:
    """The archive of a Java and a class path, whether it is there or not."""

    java: Java
    class_path: Sequence[Path]
    names_to: Path | None = None
    """Where this run of Java writes the names of its classes, if there is no archive."""

    @cached_property
    def folder(self) -> Path | None:
        """Where it lies; None where there is no place that only we can write."""
        try:
            return cache_directory() / _FOLDER / _key(self.java, self.class_path)
        except OSError:
            return None

    def options(self) -> list[str]:
        """Return what Java is told; what does not fit it ignores by itself, too."""
        if is_off() or self.folder is None:
            return []
        if self.is_used:
            return [f"-XX:SharedArchiveFile={self.folder / ARCHIVE}"]
        if self.names_to is None or not self.is_wanted:
            return []
        return [f"-XX:DumpLoadedClassList={self.names_to}"]

    @property
    def is_used(self) -> bool:
        """Whether Java is told of it."""
        return not is_off() and self.folder is not None and is_whole(self.folder)

    def discard(self) -> None:
        """Remove it: Java does not start with it, but does without."""
        assert self.folder is not None
        with suppress(OSError):  # a cache that can be read alone keeps it
            (self.folder / FAILED).touch()
            for name in (SUM, ARCHIVE):
                (self.folder / name).unlink(missing_ok=True)

    @property
    def is_wanted(self) -> bool:
        """Whether one is to be made: none is there, none has failed of late, and there is room."""
        if is_off() or self.folder is None or is_whole(self.folder):
            return False
        return not _has_failed(self.folder) and _has_room(self.folder)

    def make_later(self) -> Path | None:
        """Let another process make it, of the names that Java has written.

        None: it need not be made, or cannot, which is no matter of the run that is over.
        """
        if self.names_to is None or not self.names_to.is_file() or not self.is_wanted:
            return None
        assert self.folder is not None
        try:
            make_folder(self.folder)
            names = self.folder / f"{LIST}.{os.getpid()}"
            shutil.copyfile(self.names_to, names)
            self._start_maker(names)
        except OSError:
            return None
        return self.folder

    def _start_maker(self, names: Path) -> None:
        subprocess.Popen(
            [sys.executable, "-m", "spark_sink.class_archive_maker", *self._words(names)],
            cwd=Path(__file__).resolve().parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _words(self, names: Path) -> list[str]:
        class_path = os.pathsep.join(map(str, self.class_path))
        return [str(self.folder), str(names), str(self.java.program), class_path]


def make_folder(folder: Path) -> None:
    """Make a place for an archive that only we write, whatever the umask is. Raises OSError."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
        each.chmod(0o700)


def is_whole(folder: Path) -> bool:
    """Whether there is an archive that is as it was made, and that only we can have made."""
    path = folder / ARCHIVE
    try:
        check_folder(folder)
        for each in (path, folder / SUM):
            check_file(each, _HINT)
        return (folder / SUM).read_text() == sum_of(path)
    except (OSError, ValueError):
        return False


def _has_room(folder: Path) -> bool:
    """Whether an archive can be written there, as far as can be told before."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        return os.access(there, os.W_OK) and shutil.disk_usage(there).free > _FREE_BYTES
    except OSError:
        return False


def _has_failed(folder: Path) -> bool:
    try:
        return abs(time.time() - (folder / FAILED).stat().st_mtime) < _AGAIN_S
    except OSError:
        return False


def sum_of(path: Path) -> str:
    """Return a checksum against damage, the cheapest: 0.06 s for all of it."""
    total = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            total = zlib.crc32(chunk, total)
    return f"{path.stat().st_size} {total:08x}"


def _key(java: Java, class_path: Sequence[Path]) -> str:
    """Of what Java itself asks an archive for, and of what it does not."""
    parts: list[object] = [str(java.home), java.version]
    machine = java.home / "lib" / "server" / "libjvm.so"
    for path in (machine, java.home / "release", *class_path):
        with suppress(OSError):
            found = path.stat()
            parts.append([str(path), found.st_size, found.st_mtime_ns])
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

# SPDX-License-Identifier: Apache-2.0
"""Make an archive of Java classes, behind everything else that the machine does.

python -m spark_sink.class_archive_maker FOLDER NAMES JAVA CLASS_PATH
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spark_sink.class_archive import ARCHIVE, FAILED, LIST, LOCK, SUM, is_whole, sum_of

KEPT = 2
"""Archives in a user's cache: of this Java and Spark, and of those before."""
_LEAST_PRIORITY = 19
_TIME_LIMIT_SECONDS = 900


def make(folder: Path, names: Path, java: str, class_path: str) -> None:
    """Make the archive in `folder` of the classes named in `names`, which goes with it.

    One process at a time: another one's is waited for by nobody. What is not whole has another
    name.
    """
    try:
        with _alone(folder) as is_alone:
            if is_alone and not is_whole(folder):
                _remove_leftovers(folder, names)
                _make(folder, names, java, class_path)
                _remove_old(folder)
    finally:
        names.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _make(folder: Path, names: Path, java: str, class_path: str) -> None:
    new = folder / f"{ARCHIVE}.new"
    words = [
        *(java, "-Xshare:dump", "-XX:+UseSerialGC", f"-XX:SharedClassListFile={names}"),
        *(f"-XX:SharedArchiveFile={new}", "-cp", class_path),
    ]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIME_LIMIT_SECONDS,
            check=False,
        )
        is_made = done.returncode == 0 and new.is_file()
    except (OSError, subprocess.SubprocessError):
        is_made = False
    if not is_made:
        new.unlink(missing_ok=True)
        (folder / FAILED).touch()
        return
    new.chmod(0o600)
    total = sum_of(new)
    (folder / SUM).unlink(missing_ok=True)  # whoever looks meanwhile finds none
    new.replace(folder / ARCHIVE)
    _write(folder / SUM, total)
    if is_whole(folder):
        (folder / FAILED).unlink(missing_ok=True)
        return
    (folder / FAILED).touch()  # others can write what is above it
    for name in (SUM, ARCHIVE):
        (folder / name).unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.chmod(0o600)
    new.replace(path)


def _remove_leftovers(folder: Path, names: Path) -> None:
    """What a maker that was killed has left."""
    for path in (*folder.glob(f"{LIST}.*"), *folder.glob("*.new")):
        if path != names:
            path.unlink(missing_ok=True)


def _remove_old(folder: Path) -> None:
    """Of other Javas and other Sparks all but the newest."""
    archives = sorted(folder.parent.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in [each for each in archives if each != folder][KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


if __name__ == "__main__":
    os.nice(_LEAST_PRIORITY)
    with suppress(OSError):
        make(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])

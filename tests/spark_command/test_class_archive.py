# SPDX-License-Identifier: Apache-2.0
"""An archive of Java's classes: used whole and only ours, made once, few are kept."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream
from spark_command.written import QUERY, answered_here, in_order
from spark_session import why_no_spark

from spark_sink import class_archive, class_archive_maker
from spark_sink.class_archive import (
    ARCHIVE,
    FAILED,
    LOCK,
    SUM,
    SWITCH,
    ClassArchive,
    is_whole,
    sum_of,
)
from spark_sink.class_archive_maker import make
from spark_sink.gateway import class_path
from spark_sink.java import Java, find_java

_JAVA = """\
#!/bin/sh
for word do
    case $word in -XX:SharedArchiveFile=*) file=${{word#*=}} ;; esac
done
echo "$$" >>{calls}
printf 'the classes' >"$file"
exit {code}
"""
_ENDS = """\
#!/bin/sh
case "$*" in *SharedArchiveFile*) kill -SEGV $$ ;; esac
exec {java} "$@"
"""
needs_spark = pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(SWITCH, raising=False)


def java_at(folder: Path, code: int = 0) -> Java:
    """A Java that makes an archive of nothing, and notes that it did."""
    program = folder / "java" / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_JAVA.format(calls=folder / "calls", code=code))
    program.chmod(0o755)
    return Java(folder / "java", 17, has_vector_module=True)


def archive_at(folder: Path, code: int = 0) -> ClassArchive:
    names, jar = folder / "names", folder / "a.jar"
    names.write_text("java/lang/Object\n")
    if not jar.exists():
        jar.write_text("")
    return ClassArchive(java_at(folder, code), [jar], names)


def made(archive: ClassArchive, folder: Path) -> Path:
    """Make it here and now; return its folder."""
    assert archive.folder is not None
    archive.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    names = archive.folder / "classes.1"
    names.write_text("java/lang/Object\n")
    make(archive.folder, names, str(archive.java.program), str(folder / "a.jar"))
    return archive.folder


def test_names_first_then_the_archive(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    assert archive.options() == [f"-XX:DumpLoadedClassList={tmp_path / 'names'}"]
    folder = made(archive, tmp_path)
    assert archive.options() == [f"-XX:SharedArchiveFile={folder / ARCHIVE}"]
    assert sorted(path.name for path in folder.iterdir()) == [ARCHIVE, LOCK, SUM]


def _cut(folder: Path) -> None:
    with (folder / ARCHIVE).open("r+b") as stream:
        stream.truncate(3)


def _flip(folder: Path) -> None:
    content = bytearray((folder / ARCHIVE).read_bytes())
    content[5] ^= 1
    (folder / ARCHIVE).write_bytes(content)


def _let_others_write(folder: Path) -> None:
    (folder / ARCHIVE).chmod(0o666)


def _let_others_replace(folder: Path) -> None:
    folder.chmod(0o777)


def _give_a_second_name(folder: Path) -> None:
    os.link(folder / ARCHIVE, folder / "other")


def _lead_elsewhere(folder: Path) -> None:
    (folder / ARCHIVE).rename(folder / "other")
    (folder / ARCHIVE).symlink_to(folder / "other")


def _lose_the_sum(folder: Path) -> None:
    (folder / SUM).unlink()


@pytest.mark.parametrize(
    "harm",
    [
        *(_cut, _flip, _let_others_write, _let_others_replace),
        *(_give_a_second_name, _lead_elsewhere, _lose_the_sum),
    ],
)
def test_one_that_is_not_as_it_was_made_is_not_used(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    archive = archive_at(tmp_path)
    folder = made(archive, tmp_path)
    assert is_whole(folder)
    harm(folder)
    assert not is_whole(folder)
    assert not any("SharedArchiveFile" in word for word in archive.options())


def test_another_jar_or_java_has_another_archive(tmp_path: Path) -> None:
    folder = archive_at(tmp_path).folder
    os.utime(tmp_path / "a.jar", ns=(1, 1))
    of_another_jar = archive_at(tmp_path).folder
    assert of_another_jar != folder
    later = Java(tmp_path / "java", 21, has_vector_module=True)
    assert ClassArchive(later, [tmp_path / "a.jar"]).folder != of_another_jar


def test_where_it_is_off_nothing_is_made_nor_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = archive_at(tmp_path)
    made(archive, tmp_path)
    monkeypatch.setenv(SWITCH, "off")
    assert archive.options() == []
    assert archive.make_later() is None


def test_a_second_maker_leaves_it_to_the_first(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    assert archive.folder is not None
    archive.folder.mkdir(parents=True, mode=0o700)
    with (archive.folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made(archive, tmp_path)
    assert not (tmp_path / "calls").exists()
    made(archive, tmp_path)
    made(archive, tmp_path)
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_what_failed_is_not_tried_again(tmp_path: Path) -> None:
    archive = archive_at(tmp_path, code=1)
    folder = made(archive, tmp_path)
    assert (folder / FAILED).exists()
    assert not (folder / ARCHIVE).exists()
    assert archive.options() == []
    assert archive.make_later() is None


def test_what_failed_is_tried_again_after_a_day(tmp_path: Path) -> None:
    folder = made(archive_at(tmp_path, code=1), tmp_path)
    archive, yesterday = archive_at(tmp_path), time.time() - 24 * 3600 - 1
    assert not archive.is_wanted
    os.utime(folder / FAILED, (yesterday, yesterday))
    assert archive.is_wanted
    made(archive, tmp_path)
    assert archive.is_used
    assert not (folder / FAILED).exists()


def test_what_a_killed_maker_left_is_removed(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    assert archive.folder is not None
    archive.folder.mkdir(parents=True, mode=0o700)
    for name in (f"{ARCHIVE}.new", f"{SUM}.new", "classes.77"):
        (archive.folder / name).write_text("half")
    folder = made(archive, tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [ARCHIVE, LOCK, SUM]


def test_few_are_kept(tmp_path: Path) -> None:
    folders = []
    for number in range(1, 5):
        archive_at(tmp_path)
        os.utime(tmp_path / "a.jar", ns=(number, number))
        folders.append(made(archive_at(tmp_path), tmp_path))
        os.utime(folders[-1], (number, number))
    kept = [folder.exists() for folder in folders]
    assert kept == [False, False, True, True]
    assert class_archive_maker.KEPT == 2


def test_a_full_disk_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(class_archive, "_FREE_BYTES", 1 << 62)
    assert archive_at(tmp_path).options() == []


def test_whatever_the_umask_is_it_is_whole(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    assert archive.folder is not None
    before = os.umask(0)
    try:
        folder = archive.make_later()
    finally:
        os.umask(before)
    assert folder is not None
    _wait_for(folder)
    assert archive.is_used
    modes = [path.stat().st_mode & 0o777 for path in (folder.parent, folder, folder / SUM)]
    assert modes == [0o700, 0o700, 0o600]


def test_what_is_never_whole_is_not_made_on_every_run(tmp_path: Path) -> None:
    """Others could write what is above it."""
    archive = archive_at(tmp_path)
    assert archive.folder is not None
    archive.folder.mkdir(parents=True)
    archive.folder.parent.chmod(0o777)
    folder = made(archive, tmp_path)
    assert (folder / FAILED).exists()
    assert not (folder / ARCHIVE).exists()
    assert not archive.is_wanted


def test_a_cache_that_cannot_be_written_fails_no_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root can write what says that it cannot be: there is a file where a folder would be."""
    archive = archive_at(tmp_path)
    assert archive.folder is not None
    folder = archive.folder
    folder.parent.write_text("")
    assert archive.make_later() is None
    archive.discard()
    folder.parent.unlink()
    monkeypatch.setattr("sys.executable", str(tmp_path / "no python"))
    assert archive.make_later() is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_cache_that_can_be_read_alone_is_asked_for_no_archive(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    assert archive.folder is not None
    cache = archive.folder.parents[1]
    cache.chmod(0o500)
    try:
        assert not archive.is_wanted
    finally:
        cache.chmod(0o700)


@pytest.mark.long
@needs_spark
@pytest.mark.parametrize("ends", [True, False])
def test_a_job_runs_where_java_cannot_take_it(
    ends: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its checksum is right. A Java that ends with it has none; the real one leaves it alone."""
    if ends:
        monkeypatch.setenv("JAVA_HOME", str(java_that_ends(tmp_path / "home")))
    folder = ClassArchive(find_java(), class_path()).folder
    assert folder is not None
    folder.mkdir(parents=True, mode=0o700)
    (folder / ARCHIVE).write_bytes(b"\xf0\x0b\xab\xa8" + bytes(4000))
    (folder / SUM).write_text(sum_of(folder / ARCHIVE))
    assert is_whole(folder)
    result = gigastream("run", "-q", "--on", "spark", "-e", QUERY, "-r", DEMO_CAPTURE)
    assert (result.code, result.err) == (0, "")
    assert in_order(map(json.loads, result.lines)) == answered_here()
    assert is_whole(folder) != ends
    assert (folder / FAILED).exists() == ends


def java_that_ends(home: Path) -> Path:
    """One that ends where it is told of an archive."""
    real = find_java()
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(_ENDS.format(java=shlex.quote(str(real.program))))
    program.chmod(0o755)
    shutil.copy(real.home / "release", home)
    return home


@needs_spark
def test_java_takes_what_java_made(tmp_path: Path) -> None:
    """A real one, of a few classes; it was made behind everything else, by a process of its own."""
    jar, names = class_path()[0], tmp_path / "names"
    names.write_text("java/lang/Object\norg/slf4j/Logger\n")
    archive = ClassArchive(find_java(), [jar], names)
    folder = archive.make_later()
    assert folder is not None
    _wait_for(folder)
    (option,) = archive.options()
    done = subprocess.run(
        [archive.java.program, "-Xshare:on", option, "-cp", jar, "-version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def _wait_for(folder: Path) -> None:
    """Until the maker's lock is free and something has been made."""
    lock = folder / LOCK
    while not (lock.exists() and any((folder / name).exists() for name in (SUM, FAILED))):
        time.sleep(0.05)
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
    assert not (folder / FAILED).exists()

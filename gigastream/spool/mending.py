# SPDX-License-Identifier: Apache-2.0
"""What can be put right in a spool without a row that its writer did not list.

It is what the next run would do first: cut off a torn line, count and delete what was not listed.
Files that were being made are deleted, and progress that cannot be read is made again from the
manifests. Rows that are damaged stay what they are: their readers count them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gigastream.late_dataclass import dataclass
from gigastream.spool import layout
from gigastream.spool.entry import Lost
from gigastream.spool.errors import SpoolError, printable, writing
from gigastream.spool.files import read_object
from gigastream.spool.index import Index, read_index
from gigastream.spool.lock import lock_folder
from gigastream.spool.opening import Opening
from gigastream.spool.place import Place
from gigastream.spool.progress import MAX_BYTES, ProgressWriter, TrackState, decode, nothing
from gigastream.spool.query_set import check_descriptions
from gigastream.spool.recovery import find
from gigastream.spool.settings import SpoolSettings
from gigastream.spool.shipped_object import MARKER
from gigastream.words import counted

_BEING_MADE = re.compile(r"\.making-.*|\..+\.new|\.[0-9a-f]{16}|\..+\.[0-9a-f]{16}")
"""Names of files and folders that become something when they are whole."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Something that can be put right: where, and what is done there."""

    path: str
    text: str


@contextmanager
def held(root: Path) -> Iterator[None]:
    """Keep writers from a spool that is changed. Raises SpoolError for what is not to be touched.

    So is one with a link in it: what is deleted, or made, behind it would lie elsewhere.
    """
    if (root / MARKER).is_file():
        raise SpoolError(f"{root} is what a spool was shipped to", "change it where it is written")
    if not (root / layout.SPOOL).is_file():
        raise SpoolError(f"{root} is no spool", "a folder that `-o spool:PATH` wrote")
    with writing(f"cannot change {root}"), _as_owner(root):
        lock = _locked(root)
        try:
            link = next(_links(root), None)
            if link is not None:
                raise SpoolError(
                    f"{printable(link)} is a link, which no spool has", "remove it first"
                )
            yield
        finally:
            os.close(lock)


def _locked(root: Path) -> int:
    try:
        return lock_folder(root)
    except BlockingIOError:
        raise SpoolError(
            f"a run writes {root}", "what it deletes and puts right, it does by itself"
        ) from None


@contextmanager
def _as_owner(root: Path) -> Iterator[None]:
    """Be, as root, the user whose the spool is: who can write it is led nowhere, and can go on."""
    owner, before = os.stat(root), os.getgroups()
    if os.geteuid() != 0 or owner.st_uid == 0:
        yield
        return
    os.setgroups([owner.st_gid])
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


def _links(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                yield path


def repairs(root: Path) -> list[Repair]:
    """Return what `mend` would do; nothing is changed. Raises SpoolError."""
    with writing(f"cannot read {root}"):
        torn = (each for each in _torn(root))
        progress = (Repair(path, "is made again") for path in _damaged_progress(root))
        return [*torn, *progress, *_being_made(root)]


def mend(root: Path) -> None:
    """Put it right, durable; who calls it holds the spool. Raises SpoolError."""
    with writing(f"cannot repair {root}"):
        damaged = list(_damaged_progress(root))
        Opening(root, SpoolSettings(), {}).mend()
        for path in damaged:
            _remake_progress(root, path)
        for each in _being_made(root):
            _remove(Path(each.path))


def _torn(root: Path) -> Iterator[Repair]:
    index = read_index(root)
    for (stream, interface), number in sorted(index.generations.items() if index else ()):
        folder = root / layout.generation_path(stream, interface, number)
        found = find(folder, 0, mends=False)
        if found.is_torn:
            yield Repair(str(folder), _text(found.lost, len(found.unlisted)))


def _text(lost: Lost, removed: int) -> str:
    parts = []
    if lost.manifest_bytes:
        parts.append(f"{counted(lost.manifest_bytes, 'byte')} of a torn line are cut off")
    if removed:
        parts.append(f"{counted(removed, 'segment')} of {lost.segment_bytes:,} bytes that was not "
                     "listed deleted, and counted")  # fmt: skip
    return ", ".join(parts)


# ---- progress ----


def _damaged_progress(root: Path) -> Iterator[str]:
    index, place = read_index(root), Place(None, str(root))
    for interface in sorted({port[1] for port in index.generations} if index else ()):
        path = f"{root}/{layout.progress_path(interface)}"
        try:
            decode(place.read_at(path, 0, MAX_BYTES))
        except (OSError, ValueError):
            yield path


def _remake_progress(root: Path, path: str) -> None:
    """Say again what the manifests say; what was promised since is promised by the next run."""
    index = read_index(root)
    if index is None:
        return
    Path(path).parent.mkdir(exist_ok=True)
    states = {
        (stream, number): _state(root, index, (stream, interface, number))
        for (stream, interface), number in index.generations.items()
        if path == f"{root}/{layout.progress_path(interface)}"
    }
    ProgressWriter(Path(path), states).write(durable=True)


def _state(root: Path, index: Index, key: tuple[str, str, int]) -> TrackState:
    columns = _columns(root, index.set_number, key[0])
    found = find(root / layout.generation_path(*key), 0, mends=False)
    return found.state(columns, None) if found.rolls else nothing(columns)


def _columns(root: Path, set_number: int, stream: str) -> int:
    path = root / layout.SETS / layout.number_name(set_number) / layout.DESCRIPTIONS
    value = read_object(path) or {}
    try:
        check_descriptions(value)
    except ValueError as error:
        raise SpoolError(f"{path} cannot be read: {error}") from None
    described = value["streams"].get(stream)
    if described is None:
        raise SpoolError(f"{path} does not describe {printable(stream)}")
    return len(described["columns"])


# ---- what was being made ----


def _being_made(root: Path) -> Iterator[Repair]:
    for folder, folders, files in os.walk(root):
        for name in sorted((*folders, *files)):
            if _BEING_MADE.fullmatch(name):
                yield Repair(os.path.join(folder, name), "was being made, and is deleted")
        folders[:] = [name for name in folders if not name.startswith(".")]


def _remove(path: Path) -> None:
    """Delete a file, or a folder of files as a set is, that was being made."""
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for each in path.iterdir():
        each.unlink()
    path.rmdir()

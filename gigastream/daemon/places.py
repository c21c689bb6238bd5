# SPDX-License-Identifier: Apache-2.0
"""Where rows may be written: who controls a daemon is not thereby its user.

Sets of the configuration are the administrator's, who says where they write. Sets that come later
write below the folders that were given for it, into nothing hidden and through no link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gigastream.daemon.config_streams import is_port
from gigastream.daemon.daemon_config import DaemonConfig
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import QuerySetSpec
from gigastream.daemon.python_files import check_owners
from gigastream.late_dataclass import dataclass
from gigastream.ownership import UntrustedError

WORD_MOST = 255
"""Characters of a name that a client says: more is refused, and told in short."""
_READ_AGAIN = "lies where the records of a STREAM are read: it would be read again"
_TEXT_MOST = 4096
"""Characters of a file's or an output's name, as the kernel has it."""
SET_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
SET_NAME_HINT = "at most 100 letters, digits, _ . -, of which the first is no . or -"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NO_FOLDER = (
    "--folder FOLDER at the daemon's start, or the key folders of its configuration, names one "
    "below which sets that come later may write"
)
_SYSTEM = tuple(
    map(Path, ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"))
)
"""Whose folders are given to nobody; besides these, what lies directly in / or in _SHARED."""
_SHARED = tuple(map(Path, ("/", "/home", "/media", "/mnt", "/run", "/srv", "/var", "/var/lib")))
SPOOL = "spool"
"""What outputs in a spool begin with, before a colon."""
_NO_DISKS = (Path("/proc"), Path("/sys"))


def is_spool(output: str) -> bool:
    """Whether an output, as users name it, is in a spool."""
    return output.partition(":")[0] == SPOOL


@dataclass(frozen=True, slots=True)
class OutputPlaces:
    """What is known at the start."""

    folders: tuple[Path, ...]
    """That were given for sets that come later."""
    own: tuple[Path, ...] = ()
    """Of the start's sets: below them those of the configuration may write."""
    outputs: frozenset[Path] = frozenset()
    """Of the start's sets: a later set may take one that is free again."""
    private: tuple[Path, ...] = ()
    """The daemon's own folders, where no row belongs."""
    tables: bool = False
    """Whether there is who fills them."""
    read: frozenset[Path] = frozenset()
    """Of STREAMs: what is written into such a folder would be read again."""

    def check(self, name: str, path: Path, *, is_configured: bool) -> None:
        """Refuse a path of a set's output. DaemonError."""
        if _is_read(path, self.read):
            raise DaemonError(f"{name}: {path} {_READ_AGAIN}", "a folder of its own")
        if path in self.outputs:
            return
        folders = (*self.folders, *self.own) if is_configured else self.folders
        folder = _nearest(path, folders)
        if folder is None:
            raise DaemonError(
                f"{name}: {path} is below no folder that may be written", _folders(folders)
            )
        if not is_configured:
            self._check_later(name, path, folder)

    def _check_later(self, name: str, path: Path, folder: Path) -> None:
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") for part in parts):
            raise DaemonError(f"{name}: {path} is hidden", "a name that begins with no dot")
        for private in self.private:
            if private != folder and private.is_relative_to(folder) and _is_in(path, private):
                raise DaemonError(
                    f"{name}: {path} lies in {private}, which is the daemon's own",
                    "another folder",
                )
        link = next((each for each in _below(folder, parts) if os.path.islink(each)), None)
        if link is not None:
            raise DaemonError(f"{name}: {link} is a link", "the path that it leads to, or another")


class PlacesError(DaemonError):
    """The configuration's places are in each other's way; no other start finds them better."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None, key: str = "folders") -> None:
        """`key` is that of the configuration which says what is wrong."""
        super().__init__(message, hint)
        self.key = key


def places_of(
    config: DaemonConfig,
    cache: Path | None,
    outputs: Sequence[Path],
    own: Sequence[Path] = (),
    tables: bool = False,
) -> OutputPlaces:
    """What a daemon's start says of them. PlacesError where they are in each other's way.

    `own` are folders in which the start's sets have tables.
    """
    kept = {"cache": cache, "state": config.state}
    for key, folder in kept.items():
        for given in config.folders:
            if folder is not None and (_is_in(folder, given) or _is_in(given, folder)):
                raise PlacesError(
                    f"{key} is {folder}, and {given} is a folder that sets may write: "
                    "one lies in the other",
                    f"{key} and folders apart from each other",
                )
    _check_code(config)
    own = tuple(dict.fromkeys((*(path.parent for path in outputs), *own)))
    private = tuple(each for each in (*kept.values(), config.socket.parent) if each is not None)
    places = (stream.place for stream in config.streams if not is_port(stream.place))
    read = frozenset(Path(os.path.realpath(place)) for place in places)
    for path in outputs:
        if _is_read(path, read):
            raise PlacesError(f"{path} {_READ_AGAIN}", "a folder of its own", "output")
    return OutputPlaces(config.folders, own, frozenset(outputs), private, tables, read)


def _is_read(path: Path, places: frozenset[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return real in places or real.parent in places


def misplaced(config: DaemonConfig) -> PlacesError | None:
    """What is wrong with the places that a configuration names."""
    try:
        places_of(config, config.cache, ())
    except PlacesError as error:
        return error
    return None


def _check_code(config: DaemonConfig) -> None:
    """Definitions are code, or bring the C beside them: who adds sets must not write there."""
    for definitions in map(Path, config.definitions):
        if folder := _nearest(definitions, config.folders):
            raise PlacesError(
                f"the definitions {definitions} lie in {folder}, below which sets that are added "
                "later may write, and the code of them is run by the daemon",
                "a folder apart from folders, which root alone can write",
            )
    try:
        check_owners(config.definitions, config.user)
    except UntrustedError as error:
        hint = f"a file and a folder of root's, or {config.user}'s, that nobody else can write"
        raise PlacesError(str(error), hint, "definitions") from None
    except OSError as error:
        message = f"{error.filename}: {error.strerror}"
        raise PlacesError(message, key="definitions") from None


def normal(path: str) -> str:
    """A path by its one name; a / at the end says that it is a folder, and stays."""
    short = "/" + os.path.normpath(path).lstrip("/")
    return f"{short}/" if path.endswith("/") and short != "/" else short


def owner_hint(folder: Path, user: str) -> str:
    """What to do where a user cannot write; a folder that all share is given to nobody."""
    if folder.parent in _SHARED or any(_is_in(folder, each) for each in _SYSTEM):
        return f"a new folder, elsewhere or below it, with the owner '{user}'"
    return f"chown {user} {folder}; or user with another name"


def no_disk(path: Path) -> str | None:
    """Why no rows can be there: it is no disk."""
    found = next((each for each in _NO_DISKS if _is_in(path, each)), None)
    return None if found is None else f"{path} is the kernel's: in {found} no files can be made"


def check_words(spec: QuerySetSpec) -> None:
    """Refuse names that no terminal, log or file system should see. DaemonError."""
    words = {"file": (spec.file,), "output": spec.outputs, "parameter": spec.parameters}
    for what, texts in words.items():
        for text in texts:
            if found := CONTROL.search(text):
                raise DaemonError(
                    f"{spec.name}: the {what} {text[:WORD_MOST]!r} has the character "
                    f"U+{ord(found[0]):04X}",
                    "a name without control characters",
                )
            if len(text) > _TEXT_MOST:
                raise DaemonError(
                    f"{spec.name}: the name of the {what} {text[:40]}… is too long",
                    f"at most {_TEXT_MOST:,} characters",
                )


def _folders(folders: Iterable[Path]) -> str:
    below = ", ".join(map(str, folders))
    return f"folders that may: {below}" if below else _NO_FOLDER


def _nearest(path: Path, folders: Iterable[Path]) -> Path | None:
    around = [folder for folder in folders if path != folder and path.is_relative_to(folder)]
    return max(around, key=lambda folder: len(folder.parts), default=None)


def _below(folder: Path, parts: Iterable[str]) -> Iterator[Path]:
    for part in parts:
        folder = folder / part
        yield folder


def _is_in(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)

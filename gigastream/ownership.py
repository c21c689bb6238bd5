# SPDX-License-Identifier: Apache-2.0
"""Whose a file or a folder is: code is loaded from where only we, and root, can have put it."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from pathlib import Path

_SET_APART = "set XDG_CACHE_HOME to a folder of your own that only you can write"
_OWN_CODE = "copy it to a folder of your own that only you can write; as root, to one of root's"
_ALL_IDS = 1 << 32


class UntrustedError(PermissionError):
    """A place where somebody else could have put what would be loaded."""

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(errno.EACCES, message)
        self.hint = hint

    def __str__(self) -> str:
        return str(self.strerror)


def check_folder(folder: Path, hint: str = _SET_APART, user: int | None = None) -> None:
    """Refuse a folder that somebody else has, can write, or can put another in the place of.

    Somebody else is who is neither root nor `user` (None: whoever we are). Raises UntrustedError,
    and OSError where there is none.
    """
    user = os.geteuid() if user is None else user
    if stat.S_ISLNK(os.lstat(folder).st_mode):
        raise UntrustedError(f"{folder} is a link: what lies there is not loaded", hint)
    resolved = folder.resolve()
    _check_entry(resolved, os.lstat(resolved), hint, user)
    for parent in resolved.parents:
        _check_parent(parent, os.lstat(parent), resolved, hint, user)


def check_file(path: Path, hint: str, user: int | None = None) -> None:
    """Refuse a file that somebody else has, can write, or has a second name for.

    Raises UntrustedError, and OSError where there is none. Its folder is checked apart.
    """
    user = os.geteuid() if user is None else user
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise UntrustedError(f"{path} is no regular file: it is not loaded", hint)
    if found.st_nlink != 1:
        raise UntrustedError(f"{path} has a second name elsewhere: it is not loaded", hint)
    _check_entry(path, found, hint, user)


def check_code(path: Path, user: int | None = None) -> Path:
    """Refuse a file of code that others can write, or can put another in the place of.

    Others are all but root and `user` (None: whoever we are). Returns it by the way that was looked
    at, which has no link that others could turn elsewhere: what was read of it before may be
    another's. Raises UntrustedError, and OSError where there is none.
    """
    folder = path.absolute().parent.resolve()
    check_folder(folder, _OWN_CODE, user)
    check_file(folder / path.name, _OWN_CODE, user)
    return folder / path.name


def home() -> Path:
    """The home folder of the user that we are: $HOME where it is ours, else that of the system.

    `sudo` leaves another user's $HOME to root, who must not load what lies there.
    """
    named = Path(os.path.expanduser("~"))
    try:
        if named.stat().st_uid == os.geteuid():
            return named
    except OSError:
        pass
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return named


def mapped_ids(kind: str) -> list[range]:
    """The ids (`uid` or `gid`) that there are in this user namespace."""
    try:
        lines = Path(f"/proc/self/{kind}_map").read_text().splitlines()
    except OSError:
        return [range(_ALL_IDS - 1)]
    first_and_count = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
    return [range(first, first + count) for first, count in first_and_count]


def is_mapped(kind: str, number: int) -> bool:
    """Whether an id (`uid` or `gid`) is one of this user namespace's."""
    return any(number in ids for ids in mapped_ids(kind))


def has_capabilities(wanted: int) -> bool:
    """Whether this process may do all of a set of capabilities, given as bits."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return True
    sets = dict(line.split(":\t", 1) for line in lines if line.startswith("Cap"))
    return int(sets["CapEff"], 16) & wanted == wanted


def name_of(user: int) -> str:
    """The name of a user id, for a person."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _check_entry(path: Path, found: os.stat_result, hint: str, user: int) -> None:
    if found.st_uid not in (0, user):
        raise UntrustedError(f"{path} belongs to {name_of(found.st_uid)}: it is not loaded", hint)
    if _others_write(found, user):
        raise UntrustedError(f"{path} can be written by others: it is not loaded", hint)


def _check_parent(parent: Path, found: os.stat_result, below: Path, hint: str, user: int) -> None:
    """In a folder such as /tmp others write too, but what is ours stays where it is (sticky)."""
    sticky = found.st_mode & stat.S_ISVTX
    if found.st_uid not in (0, user) and not _is_the_hosts(found):
        who = f"{parent} belongs to {name_of(found.st_uid)}, who can replace what is below"
        raise UntrustedError(f"{below} is not loaded from: {who}", hint)
    if _others_write(found, user) and not sticky:
        raise UntrustedError(f"{below} is not loaded from: others can write {parent}", hint)


def _others_write(found: os.stat_result, user: int) -> bool:
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_own_group(found.st_gid, user)


def _is_own_group(group: int, user: int) -> bool:
    """A group that is called like its only member, as most systems give one to each user."""
    try:
        found, own = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return found.gr_name == own.pw_name and set(found.gr_mem) <= {own.pw_name}


def _is_the_hosts(found: os.stat_result) -> bool:
    """In a user namespace the folders above ours may be the host's, whose users show as one id."""
    if mapped_ids("uid") == [range(_ALL_IDS - 1)]:
        return False
    return found.st_uid == int(Path("/proc/sys/kernel/overflowuid").read_text())

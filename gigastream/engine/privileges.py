# SPDX-License-Identifier: Apache-2.0
"""What a capture needed to be opened is given up before the first packet is read.

Where the user changes (root), that takes every thread's capabilities. Where it does not, each
thread would keep its own: so all but one give theirs up before any library makes a thread, and that
one opens the links and ends. Privileges are the process's, and so is the state of this module.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import check
from gigastream.late_dataclass import dataclass
from gigastream.ownership import is_mapped
from gigastream.sources.files import SourceError

Confined = Literal["capture", "supervisor", "compiler", "opener", "loading", "loader"]
"""What a process does, in the order of enum gs_confined."""
_SAME_USER = 0xFFFFFFFF
_KEPT = ("COLUMNS", "LANG", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "TERM", "TZ")
"""Variables that say how to write for a person."""
_KEPT_OF_TOOLS = ("ASAN_", "GCOV_", "LSAN_", "TSAN_", "UBSAN_")


@dataclass(frozen=True, slots=True)
class Confinement:
    """What holds this process from when its links are open on."""

    user: str
    seccomp: bool
    """Of all threads."""
    landlock: int
    """The kernel's interface, of the threads that read packets and write; 0: none."""


class _Holder:
    """The one thread that keeps its capabilities until the links are open."""

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._thread = ThreadPoolExecutor(1, "gigastream-links")
        self._thread.submit(os.getpid).result()  # it is there before we have nothing to give it

    def call(self, opening: Callable[[], int]) -> int:
        return self._thread.submit(opening).result()

    def end(self) -> None:
        """Its capabilities go first: to the kernel a thread is there a little longer than to us."""
        error = ffi.new("struct gs_error *")
        check(self.call(lambda: int(lib.gs_drop_capabilities(error))), error)
        self._thread.shutdown()


_holder: _Holder | None = None
_confinement: Confinement | None = None


def find_user(name: str) -> tuple[int, int]:
    """The ids of a user and its group. SourceError where there is none, or where it is root."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise SourceError(f"there is no user '{name}'", "--user NAME") from None
    if found.pw_uid == 0 or found.pw_gid == 0:
        raise SourceError(f"'{name}' is privileged: a capture does not go on as root")
    return found.pw_uid, found.pw_gid


def user_to_become(name: str) -> tuple[int, int] | None:
    """The ids of the user that a capture goes on as; None: as it is.

    That is so unless we are root, and in a user namespace that does not have the user: its root is
    an ordinary user outside, once it has no capability inside.
    """
    uid, gid = find_user(name)
    if os.geteuid() != 0 or not (is_mapped("uid", uid) and is_mapped("gid", gid)):
        return None
    return uid, gid


def gain_no_privileges(user: str) -> None:
    """From now on nothing is gained that is not there already. EngineError, SourceError.

    Call it before there is a second thread: those that are made then inherit it.
    """
    global _holder
    keeps = user_to_become(user) is not None
    error = ffi.new("struct gs_error *")
    check(lib.gs_gain_no_privileges(error), error)
    if not keeps and _holder is None:
        _holder = _Holder()
        check(lib.gs_drop_capabilities(error), error)


def run_nothing_privileged() -> None:
    """From now on no program that this process runs has a capability, were it root's own.

    Call it before there is a second thread, which would keep what it may hand on.
    """
    lib.gs_empty_bounding_set()


def open_link(opening: Callable[[], int]) -> int:
    """Open a link by a call that needs the capability to."""
    return opening() if _holder is None else _holder.call(opening)


def give_up_privileges(user: str) -> None:
    """Keep no capability, and be `user` if we are root. For good. EngineError.

    Call it after gain_no_privileges, with all modules imported that are needed: the user may not be
    able to read them. The environment is emptied, too: what is in it is not for who reads packets.
    """
    global _holder
    if _holder is not None:
        _holder.end()
        _holder = None
    uid, gid = user_to_become(user) or (_SAME_USER, _SAME_USER)
    error = ffi.new("struct gs_error *")
    check(lib.gs_give_up_privileges(uid, gid, error), error)
    _forget_environment()


def keep_packet_sockets(user: str) -> None:
    """Keep CAP_NET_RAW alone, and be `user` if we are root. For good. EngineError, SourceError.

    Call it with one thread, with all modules imported that are needed.
    """
    uid, gid = user_to_become(user) or (_SAME_USER, _SAME_USER)
    error = ffi.new("struct gs_error *")
    check(lib.gs_keep_packet_sockets(uid, gid, error), error)
    _forget_environment()


def confine(folders: Sequence[Path], kind: Confined = "capture") -> Confinement:
    """Let the kernel refuse what such a process does not need; files change in `folders` alone.

    What is refused is refused to its children, too, whatever they ask for.
    """
    global _confinement
    paths = [ffi.new("char[]", os.fsencode(folder)) for folder in folders]
    done = ffi.new("struct gs_confinement *")
    lib.gs_confine(get_args(Confined).index(kind), ffi.new("char *[]", paths), len(paths), done)
    _confinement = Confinement(_own_name(), bool(done.has_seccomp), int(done.landlock_abi))
    return _confinement


def confinement() -> Confinement | None:
    """What holds this process; None where it captures no link."""
    return _confinement


def _forget_environment() -> None:
    for name in set(os.environ) - set(_kept(os.environ)):
        del os.environ[name]


def _kept(environment: Mapping[str, str]) -> list[str]:
    return [n for n in environment if n in _KEPT or n.startswith(_KEPT_OF_TOOLS)]


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())

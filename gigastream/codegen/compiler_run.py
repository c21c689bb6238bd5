# SPDX-License-Identifier: Apache-2.0
"""The system's C compiler, run on generated text.

It never runs as root: where we are root it runs under a user id that nobody else has, in a folder
of its own, and only its result is taken, into a folder that nobody else can write. It has limits,
and all that it starts ends with us (compiler_guard).
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gigastream.codegen import compiler_guard as guard
from gigastream.codegen.compiler import CompileError, headers_in, hint_of_headers
from gigastream.codegen.lacking import HINT as LACKING_HINT
from gigastream.codegen.lacking import lacking
from gigastream.late_dataclass import dataclass
from gigastream.ownership import has_capabilities, is_mapped, mapped_ids

TIME_LIMIT_SECONDS = 600
"""What ends a compiler that waits; one that works ends by guard.CPU_SECONDS, however busy the
machine is: 500 queries are 40 s of work, and minutes where ten others want the processor."""
SOURCE, RESULT = "query_set.c", "query_set.so"
UNUSED_USER = 0x60000000
"""First of a range of user ids that no system gives to anybody."""
_PROCESSES = 1 << 22
"""Linux numbers none beyond."""
_AT_ONCE = 64
"""Compilers of one process, each under a user id of its own: its end is that of all of its user."""
_nth = itertools.count()
_PRIME = 65521
"""So that those of a process and of its neighbours begin to look for one at different places."""
_SCRATCH = "gigastream-compile-"
_STALE_SECONDS = 2 * TIME_LIMIT_SECONDS
_OUT_OF_TIME = "CPU time limit exceeded"
"""What the driver says of a program that SIGXCPU has ended, in the C locale."""
_FULL = "No space left on device"
"""And of a full disk, whichever program met it."""
_SAID_BYTES = 1 << 16
_HOST_USERS = 65536
"""User ids below are somebody's, or may become so."""
_BECOMING = 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 7
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_KILL, CAP_SETGID, CAP_SETUID."""
_log = logging.getLogger("gigastream")


@dataclass(frozen=True, slots=True)
class Compilation:
    """What is compiled, by what, and how."""

    text: str
    compiler: str
    flags: tuple[str, ...]
    include: tuple[Path, ...]
    """Folders of headers: ours, then those of the user's."""


class RefusedCodeError(CompileError):
    """The compiler, or its linker, found something wrong in the code, and said what."""

    def __init__(self, said: str) -> None:
        first = "\n".join(said.splitlines()[:12])
        super().__init__(f"the C compiler refused the generated code:\n{first}")
        self.said = said


def run_compiler(made: Compilation, target: Path, is_same: Callable[[], bool]) -> None:
    """Compile, and install the result unless a header is another by then. CompileError."""
    with _disk_told(tempfile.gettempdir(), "compiled"), _scratch() as (scratch, user):
        work = scratch / "work"
        (work / SOURCE).write_text(made.text)
        os.chmod(work / SOURCE, 0o644)
        include = list(made.include) if user is None else _readable_headers(work, made.include)
        folders = [f"-I{folder}" for folder in include]
        command = [made.compiler, *made.flags, *folders, "-o", RESULT, SOURCE, "-lm"]
        headers = made.include[1:]
        try:
            _run(command, work, scratch, user)
        except RefusedCodeError as error:
            missing = lacking(error.said, made.text, headers)
            if missing is not None:
                raise CompileError(missing, LACKING_HINT) from None
            error.hint = hint_of_headers(headers)
            raise
        if not is_same():
            return  # a header has changed: who knows which of them was compiled
        with _opened_result(work / RESULT, user) as result, _disk_told(target.parent, "kept"):
            _install(result, target)


@contextmanager
def _disk_told(folder: str | Path, done: str) -> Iterator[None]:
    """What a disk refuses is told with the folder on it, whatever the file was."""
    try:
        yield
    except OSError as error:
        variable = "XDG_CACHE_HOME" if done == "kept" else "TMPDIR"
        raise CompileError(
            f"in {folder} nothing can be {done}: {error.strerror or error}",
            f"make room there, or name another folder, ${variable}",
        ) from None


@contextmanager
def _scratch() -> Iterator[tuple[Path, int | None]]:
    """A folder of ours with one in it, `work`, that is the compiler's, and whose it is."""
    _remove_stale()
    user = compiler_user()
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, ignore_cleanup_errors=True) as folder:
        work = Path(folder, "work")
        work.mkdir(mode=0o700)
        if user is not None:
            os.chmod(folder, 0o711)
            os.chown(work, user, user)
        yield Path(folder), user


def _remove_stale() -> None:
    """Remove what was killed between making its folder and starting the guard that removes it."""
    before = time.time() - _STALE_SECONDS
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            found = os.lstat(folder)
            if found.st_uid == os.geteuid() and found.st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)


def compiler_user() -> int | None:
    """Where we are root: a user id that nobody else has, to run the compiler under.

    None: it runs as we do. That is said where we are root and can be no other user: root is the
    only id of a user namespace, and outside it the user who made the namespace; or root has been
    left without the capabilities to change its user.
    """
    if os.geteuid() != 0:
        return None
    own = os.getpid() + next(_nth) % _AT_ONCE * _PROCESSES
    if _can_become(UNUSED_USER + own):
        return UNUSED_USER + own
    for ids in mapped_ids("uid"):
        others = range(max(ids.start, _HOST_USERS // 2), ids.stop)
        for at in range(len(others)):
            user = others[(own % _PRIME + at) % len(others)]
            if _can_become(user) and not _is_somebody(user):
                return user
    _log.warning(
        "gigastream: root cannot become another user here (a user namespace that has none, or no "
        "capability to): the compiler runs as the same user as this process"
    )
    return None


def _can_become(user: int) -> bool:
    is_there = is_mapped("uid", user) and is_mapped("gid", user)
    return is_there and _may_leave_groups() and has_capabilities(_BECOMING)


def _may_leave_groups() -> bool:
    try:
        return Path("/proc/self/setgroups").read_text().strip() == "allow"
    except OSError:
        return True


def _is_somebody(user: int) -> bool:
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def _readable_headers(work: Path, headers: Sequence[Path]) -> list[Path]:
    """Copies of the headers, since another user may not be able to read where they lie.

    They are named from `work`, for the same reason: it may lie in a folder that is only ours.
    """
    copies = [Path(f"include{number}") for number in range(len(headers))]
    for folder, copy in zip(headers, copies, strict=True):
        (work / copy).mkdir()
        for header in headers_in(folder):
            with suppress(FileNotFoundError):
                shutil.copy(header, work / copy)
    for path in work.rglob("*"):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    return copies


def _run(command: list[str], work: Path, scratch: Path, user: int | None) -> None:
    path = os.environ.get("PATH", os.defpath)
    guarded = guard.Guarded(tuple(command), str(work), str(scratch), user, path, TIME_LIMIT_SECONDS)
    try:
        code, said = _guarded(guarded)
    except OSError as error:
        raise CompileError(f"the C compiler could not be run: {error}") from error
    if code == guard.TIMED_OUT:
        raise _out_of_time(f"{TIME_LIMIT_SECONDS} s")
    if code != 0 and _OUT_OF_TIME in said:
        raise _out_of_time(f"{guard.CPU_SECONDS} s of the processor's time")
    if code != 0 and _FULL in said:
        raise OSError(errno.ENOSPC, _FULL)
    if code == guard.NOT_RUN:
        raise CompileError(f"the C compiler could not be run: {said.strip()}")
    if code != 0 and not said.strip():
        raise CompileError(
            f"the C compiler, {command[0]}, ended with exit code {code} and said nothing",
            "is it one? $CC names it, else it is cc or gcc",
        )
    if code != 0:
        raise RefusedCodeError(said)


def _out_of_time(limit: str) -> CompileError:
    hint = "fewer or simpler queries in one run"
    return CompileError(f"the C compiler did not end within {limit}", hint)


def _guarded(guarded: guard.Guarded) -> tuple[int, str]:
    """Run it to its end, or to ours: its stdin closes when this process ends, however it does."""
    if threading.active_count() == 1 or not os.access(sys.executable, os.X_OK):
        return _forked(guarded)
    with subprocess.Popen(
        guard.words(guarded),
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            said = child.stdout.read(_SAID_BYTES)
            while child.stdout.read(_SAID_BYTES):
                pass
            code = child.wait()
        finally:
            child.stdin.close()
    return code, said.decode(errors="replace")


def _forked(guarded: guard.Guarded) -> tuple[int, str]:
    """The same by a fork: of one thread, since that takes a tenth of a new Python.

    And of a process whose user cannot read Python: root's own, before it was this user.
    """
    child, stdin, output = guard.fork(guarded)
    try:
        with os.fdopen(output, "rb") as stream:
            said = stream.read(_SAID_BYTES)
            while stream.read(_SAID_BYTES):
                pass
    finally:
        os.close(stdin)  # whoever interrupts us ends the compiler, too: it is in the folder
        status = _status_of(child)
    return os.waitstatus_to_exitcode(status), said.decode(errors="replace")


def _status_of(child: int) -> int:
    """How it ended; where a program that we are part of ignores SIGCHLD nobody is told.

    Then the result says it, by being there.
    """
    try:
        return os.waitpid(child, 0)[1]
    except ChildProcessError:
        return 0


@contextmanager
def _opened_result(path: Path, user: int | None) -> Iterator[BinaryIO]:
    """The compiler's result, and nothing that its user may have put in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise CompileError(f"the C compiler left no result: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as result:
        found = os.fstat(descriptor)
        owner = os.geteuid() if user is None else user
        if not stat.S_ISREG(found.st_mode) or found.st_uid != owner or found.st_nlink != 1:
            raise CompileError("the C compiler's result is not a file of its own")
        yield result


def _install(result: BinaryIO, target: Path) -> None:
    """Into the cache by rename, so that another process never sees half an object."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".new-", delete=False) as copy:
        try:
            shutil.copyfileobj(result, copy)
            copy.close()
            os.replace(copy.name, target)
        except BaseException:
            os.unlink(copy.name)
            raise

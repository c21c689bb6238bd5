# SPDX-License-Identifier: Apache-2.0
"""A program that runs the compiler: with limits, as another user, and never longer than its caller.

It is started as a script of its own, without the rest of the package: `GUARD SETTINGS`, where the
settings are a Guarded as JSON. Its stdin is a pipe whose other end only the caller holds. When that
end closes, whatever ended the caller (SIGKILL, too), or when the time is over, all that the
compiler has started ends, and its folder goes. A parent-death signal would end the compiler's
driver alone, and the programs that do the work are its children.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import time

TIMED_OUT, NOT_RUN, BY_SIGNAL = 124, 126, 128
"""Exit codes besides the compiler's own; the last has the signal's number added."""
CPU_SECONDS = 120
MEMORY_BYTES = 4 << 30
FILE_BYTES = 256 << 20
PROCESSES = 64
_STDIN = 0
_LOOK_EVERY_MS = 50


class Guarded:
    """What is run, and how. No dataclass: loading those takes longer than all that is here."""

    def __init__(
        self,
        command: tuple[str, ...],
        folder: str,
        scratch: str,
        user: int | None,
        path: str,
        seconds: float,
    ) -> None:
        self.command = command
        self.folder = folder
        """The working directory."""
        self.scratch = scratch
        """What is removed if the caller is gone."""
        self.user = user
        """Whose user and group id the command gets; nobody else has them. None: the caller's."""
        self.path = path
        """$PATH; there is no other variable of the caller's."""
        self.seconds = seconds


def words(guarded: Guarded) -> list[str]:
    """The command line that runs it."""
    return [sys.executable, "-I", "-S", "-B", __file__, json.dumps(vars(guarded))]


def fork(guarded: Guarded) -> tuple[int, int, int]:
    """Run it in a fork, where the user that we are cannot start Python anew.

    Returns its process id, our end of its stdin, and of what it says.
    """
    stdin, ours = os.pipe()
    said, stdout = os.pipe()
    child = os.fork()
    if child:
        os.close(stdin)
        os.close(stdout)
        return child, ours, said
    code = NOT_RUN
    try:
        os.close(ours)
        os.close(said)
        os.setsid()
        for theirs, number in ((stdin, _STDIN), (stdout, 1), (stdout, 2)):
            os.dup2(theirs, number)
        code = _main(guarded)
    finally:
        os._exit(code)


def _main(guarded: Guarded) -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever began us may have ignored it
    compiler = os.fork()
    if compiler == 0:
        _become_compiler(guarded)
    with contextlib.suppress(OSError):  # here, too: it may have to end before it has come so far
        os.setpgid(compiler, compiler)
    is_wanted = _wait(compiler, time.monotonic() + guarded.seconds)
    _end_all(compiler, guarded.user)
    _, status = os.waitpid(compiler, 0)
    if is_wanted is None:
        shutil.rmtree(guarded.scratch, ignore_errors=True)
        return NOT_RUN
    if not is_wanted:
        return TIMED_OUT
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else BY_SIGNAL - code


def _become_compiler(guarded: Guarded) -> None:
    try:
        os.setpgid(0, 0)
        os.chdir(guarded.folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), _STDIN)
        _limit(guarded.user)
        if guarded.user is not None:
            _become(guarded.user)
        environment = {"PATH": guarded.path, "TMPDIR": ".", "LC_ALL": "C"}
        os.execve(guarded.command[0], guarded.command, environment)
    except OSError as error:
        print(error, flush=True)
    finally:
        os._exit(NOT_RUN)


def _limit(user: int | None) -> None:
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: MEMORY_BYTES,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_CORE: 0,
    }
    if user is not None:  # another's processes would count, too
        limits[resource.RLIMIT_NPROC] = PROCESSES
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        # at the hard limit of time comes SIGKILL, which does not say why
        spare = kind == resource.RLIMIT_CPU and least == limit != hard
        resource.setrlimit(kind, (least, least + spare))


def _become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _wait(compiler: int, deadline: float) -> bool | None:
    """True: it has ended; False: the time has; None: the caller has."""
    poll = select.poll()
    poll.register(_STDIN, select.POLLIN)
    with contextlib.suppress(OSError):  # an old kernel; then it is looked at now and then
        poll.register(os.pidfd_open(compiler), select.POLLIN)
    while os.waitid(os.P_PID, compiler, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            return False
        if any(descriptor == _STDIN for descriptor, _ in poll.poll(_LOOK_EVERY_MS)):
            return None
    return True


def _end_all(compiler: int, user: int | None) -> None:
    """End what is left: the group, and whatever else runs as the compiler's user.

    The compiler is not waited for yet, so that its number is still its own.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(compiler, signal.SIGKILL)
    if user is None:
        return
    killer = os.fork()
    if killer == 0:
        with contextlib.suppress(OSError):
            _become(user)
            os.kill(-1, signal.SIGKILL)  # all of this user but ourselves
        os._exit(0)
    os.waitpid(killer, 0)


if __name__ == "__main__":
    sys.exit(_main(Guarded(**json.loads(sys.argv[1]))))

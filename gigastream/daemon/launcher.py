# SPDX-License-Identifier: Apache-2.0
"""The launcher: a process that has all modules loaded and the packet sockets open, and forks.

It is made while both can be had, gives up its privileges, and from then on does nothing but fork
what it is asked for and say how that ended. Requests come over a socket of sequenced packets, each
with the descriptor of the new process's channel.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from gigastream.daemon.room import file_words
from gigastream.daemon.start_frames import read_start
from gigastream.sources.live import RINGS_MAX

MAX_PACKET_BYTES = 1 << 16
_FAULT = 70
"""Exit code of a child that ended by an exception (EX_SOFTWARE)."""
NOT_BEGUN = 71
"""In the place of an exit code: there was no process (EX_OSERR)."""


class _Launch(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A word to the launcher, or of it."""

    number: int
    """Of the child, which the supervisor gives."""


class LaunchCapture(_Launch, frozen=True, kw_only=True, tag=True):
    """Fork a capture process, whose channel comes with this, and on that its start."""


class LaunchCompiler(_Launch, frozen=True, kw_only=True, tag=True):
    """Fork a compile helper, whose channel comes with this."""


class LaunchLoader(_Launch, frozen=True, kw_only=True, tag=True):
    """Fork a loader, whose channel comes with this, and on that its start."""


class KillChild(_Launch, frozen=True, kw_only=True, tag=True):
    """SIGKILL: only who waits for a process knows that its number is still its own."""


class RenewSockets(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What is forked from now on inherits those that come with this, in the place of others."""

    numbers: tuple[int, ...]
    """Descriptors of this process, which become them."""


class ChildStarted(_Launch, frozen=True, kw_only=True, tag=True):
    """It is there; a descriptor of the process comes with this."""

    pid: int


class ChildEnded(_Launch, frozen=True, kw_only=True, tag=True):
    """It is no more: with an exit code, or less than 0 by a signal."""

    code: int
    error: str | None = None
    """Why it was never there (NOT_BEGUN)."""


class OfTables(msgspec.Struct, frozen=True, kw_only=True):
    """What loaders have that no other process has."""

    environment: dict[str, str]
    kinds: tuple[str, ...]
    """Of sinks, whose libraries are loaded."""


class LauncherReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All is loaded and no privilege is left; or why not."""

    error: str | None = None
    hint: str | None = None


ForkOrder = LaunchCapture | LaunchCompiler | LaunchLoader
LauncherOrder = ForkOrder | KillChild | RenewSockets
LauncherWord = ChildStarted | ChildEnded | LauncherReady


def start_launcher(
    user: str,
    cache: Path,
    folders: Sequence[Path],
    close: Sequence[int],
    tables: OfTables | None = None,
) -> tuple[int, socket.socket]:
    """Fork it; its process id, and the socket to it, on which LauncherReady comes first.

    Its children write below `cache` and `folders` alone, but for what is temporary. `close` are
    descriptors that it and its children are not to have. With `tables` its children are loaders,
    which reach databases. Call it with one thread.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        for descriptor in close:
            os.close(descriptor)
        end_with(lambda: _run(theirs, user, cache, folders, tables))
    theirs.close()
    return pid, ours


def mind_no_signals() -> None:
    """The supervisor decides. A service manager's SIGABRT to all is for one that hangs."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)  # a call of abort() ends the process all the same


def _run(
    channel: socket.socket,
    user: str,
    cache: Path,
    folders: Sequence[Path],
    tables: OfTables | None,
) -> int:
    mind_no_signals()
    try:
        _prepare(user, cache, tables)
        _confine((cache, *folders), "compiler" if tables is None else "loading")
    except Exception as error:
        message, hint = str(error), getattr(error, "hint", None)
        if isinstance(error, OSError) and hint is None:
            message, hint = file_words(error, str(cache))
        channel.send(msgspec.msgpack.encode(LauncherReady(error=message, hint=hint)))
        return 1
    channel.send(msgspec.msgpack.encode(LauncherReady()))
    _Launcher(channel).run()
    return 0


def _prepare(user: str, cache: Path, tables: OfTables | None) -> None:
    """Load all that is needed while it can be read; then be who cannot read it.

    pyarrow makes threads: of root's, giving up changes the user in all of them; where the user
    stays the same, capabilities have gone before.
    """
    from gigastream.daemon.loading import load_all, load_sinks
    from gigastream.engine.privileges import give_up_privileges, run_nothing_privileged
    from gigastream.paths import copy_headers

    os.environ["XDG_CACHE_HOME"] = str(cache)
    run_nothing_privileged()
    load_all()
    if tables is not None:
        load_sinks(tables.kinds)
    copy_headers(cache / "include")
    give_up_privileges(user)
    os.environ["XDG_CACHE_HOME"] = str(cache)
    if tables is not None:
        os.environ.update(tables.environment)


def _confine(folders: Sequence[Path], kind: Literal["compiler", "loading"]) -> None:
    """What all children together need; each confines itself to its own part of it.

    In /proc a compile helper says that it is the first to be ended where memory ends.
    """
    from gigastream.engine.privileges import confine

    confine([*folders, Path(tempfile.gettempdir()), *map(Path, ("/dev", "/proc"))], kind)


class _Launcher:
    """Waits for words and for ends of children."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._decoder = msgspec.msgpack.Decoder(LauncherOrder)
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._children: dict[int, tuple[int, int]] = {}
        """(number, process id) by the descriptor that is readable when it has ended."""

    def run(self) -> None:
        """Until the supervisor is gone; then until the last child is."""
        is_wanted = True
        while is_wanted or self._children:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._children:
                    self._bury(descriptor)
                elif not self._obey():
                    is_wanted = False
                    self._poll.unregister(self._channel)

    def _obey(self) -> bool:
        """Carry out what is asked; whether anybody is still there to ask."""
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._channel, MAX_PACKET_BYTES, RINGS_MAX)
        except ConnectionError:  # it left before it had heard all that we said
            return False
        if not packet:
            return False
        order = self._decoder.decode(packet)
        try:
            match order:
                case KillChild():
                    self._kill(order.number)
                case RenewSockets():
                    _renew(order.numbers, descriptors)
                case _:
                    self._try(order, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _try(self, order: ForkOrder, descriptors: Sequence[int]) -> None:
        try:
            self._fork(order, descriptors)
        except OSError as error:  # this one is not begun; the next one may be
            why = f"no process could be begun: {error.strerror}"
            self._say(ChildEnded(number=order.number, code=NOT_BEGUN, error=why))

    def _fork(self, order: ForkOrder, descriptors: Sequence[int]) -> None:
        """OSError: there is no such process."""
        if not descriptors:  # the kernel leaves out what there is no place for
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._channel.close()
            for other in self._children:
                os.close(other)
            end_with(lambda: _work(order, descriptors[0]))
        watched = _watched(pid)
        self._children[watched] = (order.number, pid)
        self._poll.register(watched, select.POLLIN)
        self._say(ChildStarted(number=order.number, pid=pid), watched)

    def _kill(self, number: int) -> None:
        for child, pid in self._children.values():
            if child == number:
                os.kill(pid, signal.SIGKILL)

    def _bury(self, descriptor: int) -> None:
        number, pid = self._children.pop(descriptor)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        self._say(ChildEnded(number=number, code=os.waitstatus_to_exitcode(status)))

    def _say(self, word: LauncherWord, *descriptors: int) -> None:
        with suppress(OSError):  # a supervisor that is gone is seen by _obey
            socket.send_fds(self._channel, [msgspec.msgpack.encode(word)], descriptors)


def _watched(pid: int) -> int:
    """A descriptor of a child; one that cannot be had ends the child. OSError."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _renew(numbers: Sequence[int], descriptors: Sequence[int]) -> None:
    """Where some have found no place here, the next capture process asks for all of them again."""
    for new, number in zip(descriptors, numbers, strict=False):
        os.dup2(new, number, inheritable=False)


def _work(order: ForkOrder, descriptor: int) -> int:
    if isinstance(order, LaunchCapture):
        from gigastream.daemon.capture_process import run_capture

        start = read_start(descriptor)
        return _FAULT if start is None else run_capture(descriptor, start)
    if isinstance(order, LaunchLoader):
        from gigastream.daemon.loader_process import run_loader

        return run_loader(descriptor)
    from gigastream.daemon.compiling import run_compiler

    return run_compiler(descriptor)


def end_with(work: Callable[[], int]) -> NoReturn:
    """End this process with the work's exit code: nothing of who forked it is run here."""
    code = _FAULT
    try:
        code = work()
    except BaseException as error:
        with suppress(Exception):
            _tell_fault(error)
    finally:
        os._exit(code)


def _tell_fault(error: BaseException) -> None:
    """A child's last words; where in the code it was is what a report of the fault needs."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at else "?"
    hint = getattr(error, "hint", None)
    told = f"gigastream: a child process ended: {error or type(error).__name__} ({place})"
    print(told + (f"\nhint: {hint}" if hint else ""), file=sys.stderr, flush=True)

# SPDX-License-Identifier: Apache-2.0
"""The launcher where the machine has nothing left, and what is said to it and of it."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from gigastream.daemon import launcher
from gigastream.daemon.launcher import NOT_BEGUN, LauncherReady
from gigastream.daemon.launching import DaemonError, Launching, wait_for, wait_until_ready
from gigastream.daemon.messages import AttachOrder, CaptureStart, OutputSpec
from gigastream.daemon.start_frames import read_start, start_frames
from gigastream.settings import Settings
from tests.waiting import PATIENCE_S

Script = Callable[[Launching, int, list[bool]], Awaitable[None]]


def play(script: Script) -> None:
    """Run a script with a real launcher, without what it loads, that has few descriptors."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        launcher.end_with(lambda: launch(theirs))
    theirs.close()
    wait_until_ready(ours)

    async def play_it() -> None:
        lost: list[bool] = []
        launching = Launching(ours, lambda: lost.append(True))
        try:
            async with asyncio.timeout(PATIENCE_S):
                await script(launching, pid, lost)
        finally:
            launching.close()
            launching.close()

    try:
        asyncio.run(play_it())
    finally:
        wait_for(pid)


def launch(channel: socket.socket) -> int:
    """What the launcher does when it is ready."""
    channel.send(msgspec.msgpack.encode(LauncherReady()))
    launcher._Launcher(channel).run()
    return 0


def limit(pid: int, descriptors: int) -> None:
    """Leave it so many numbers of descriptors."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors, most))


def free(pid: int) -> list[int]:
    """The next numbers that its descriptors get."""
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    return [number for number in range(1000) if number not in taken][:2]


def test_without_descriptors_one_is_not_begun_and_the_next_is() -> None:
    """Neither the channel's descriptor nor that of the process: said, and the launcher lives."""

    async def script(launching: Launching, pid: int, lost: list[bool]) -> None:
        for number in free(pid):
            limit(pid, number)
            child = launching.compiler()
            assert await child.ended == NOT_BEGUN
            assert child.told_end == "no process could be begun: Too many open files"
            child.channel.close()
        limit(pid, 1000)
        child = launching.compiler()
        assert await child.pid > 0
        launching.kill(child)
        assert await child.ended == -9
        assert not lost

    play(script)


def test_the_end_of_the_launcher_is_said() -> None:
    """And what is asked for after it is refused in words."""

    async def script(launching: Launching, pid: int, lost: list[bool]) -> None:
        os.kill(pid, 9)
        while not lost:
            await asyncio.sleep(0)
        with pytest.raises(DaemonError, match="the launcher has ended"):
            launching.compiler()

    play(script)


def test_a_supervisor_that_leaves_without_having_heard_all() -> None:
    """The launcher ends with its children, as otherwise."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        theirs.send(b"a word that is not read")
        ours.close()
        launcher._Launcher(theirs).run()


def test_one_that_is_stopped_is_ended() -> None:
    """When it has had its time."""
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), 19)
    wait_for(pid, 0.1)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


def test_a_start_of_any_size_arrives(tmp_path: Path) -> None:
    """A thousand sets with many outputs; and nothing of what follows it is taken."""
    outputs = tuple(OutputSpec(format="csv", path=f"/{n}{'x' * 200}") for n in range(64))
    sets = tuple(
        AttachOrder(number=n, name=f"s{n}", object_path="/o.so", outputs=outputs)
        for n in range(1000)
    )
    start = CaptureStart(
        incarnation=1, links=(), files=(), settings=Settings(), cache="/c", user="x", sets=sets
    )
    written = tmp_path / "start"
    written.write_bytes(b"".join(start_frames(start)) + b"behind")
    descriptor = os.open(written, os.O_RDONLY)
    assert read_start(descriptor) == start
    assert os.read(descriptor, 10) == b"behind"
    assert read_start(descriptor) is None
    os.close(descriptor)

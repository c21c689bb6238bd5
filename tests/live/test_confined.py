# SPDX-License-Identifier: Apache-2.0
"""What the kernel refuses, or does not, to the daemon's processes that capture nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.namespace import folder_for_all, needs
from tests.live.test_privileges import ALLOWED, ATTEMPTS, attempted
from tests.sanitizers import IS_SANITIZED

pytestmark = [
    pytest.mark.privileged,
    needs("gcc"),
    pytest.mark.skipif(IS_SANITIZED, reason="a sanitized engine is not confined"),
]
REFUSED = ("refused 1", "refused 13")
"""By the filter of calls (EPERM), or by Landlock (EACCES)."""
PACKET_SOCKET = "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
HAND_ON = "socket.send_fds(client, [b'x'], [0])"
ACCEPT = "server.accept()"
LISTEN = "socket.socket(socket.AF_UNIX).listen()"
NETLINK_SOCKET = "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"
TCP_CLIENT = "socket.create_connection(internet.getsockname()).close()"
SEND = "client.send(b'x')"
SIGNAL = "sleeper.kill()"
FORK, EXECUTE = "fork()", "os.execv('/bin/echo', ['echo', 'done'])"
COMPILE = """subprocess.run(\
['/usr/bin/gcc', '-O1', '-shared', '-fPIC', '-x', 'c', '-', '-o', below + '/object.so'], \
input=b'int x;', stdout=subprocess.DEVNULL, check=True, \
env={'PATH': '/usr/bin:/bin', 'TMPDIR': below})
""".replace("\\\n", "").strip()


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as made:
        yield made


def refused_of(folder: Path, kind: str, *attempts: str) -> set[str]:
    """Which of them."""
    said = attempted(folder, kind, *attempts)
    return {one for one, answer in zip(attempts, said, strict=True) if answer in REFUSED}


def test_a_supervisor_takes_connections_in_and_runs_nothing(folder: Path) -> None:
    may = [ACCEPT, SEND, SIGNAL, *ALLOWED.values()]
    may_not = [PACKET_SOCKET, *ATTEMPTS.values()]
    if "GCOV_ERROR_FILE" in os.environ:
        pytest.skip("where lines are counted the counts are written anywhere")
    assert refused_of(folder, "supervisor", *may, *may_not) == set(may_not)


def test_a_compiler_runs_programs_and_reaches_nobody(folder: Path) -> None:
    may = [FORK, ATTEMPTS["spawn"], SEND, COMPILE, *ALLOWED.values(), EXECUTE]
    programs = {name for name, text in ATTEMPTS.items() if text in may}
    may_not = [text for name, text in ATTEMPTS.items() if name not in programs]
    if "GCOV_ERROR_FILE" in os.environ:
        pytest.skip("where lines are counted the counts are written anywhere")
    assert refused_of(folder, "compiler", PACKET_SOCKET, ACCEPT, *may_not, *may) == {
        PACKET_SOCKET, ACCEPT, *may_not
    }  # fmt: skip


def test_a_loader_reaches_servers_and_runs_nothing(folder: Path) -> None:
    reaches = ("connect", "internet socket")
    may = [SEND, TCP_CLIENT, *(ATTEMPTS[name] for name in reaches), *ALLOWED.values()]
    may_not = [text for name, text in ATTEMPTS.items() if name not in reaches]
    if "GCOV_ERROR_FILE" in os.environ:
        pytest.skip("where lines are counted the counts are written anywhere")
    attempts = (PACKET_SOCKET, NETLINK_SOCKET, ACCEPT, LISTEN, *may_not, *may)
    assert refused_of(folder, "loader", *attempts) == {
        PACKET_SOCKET, NETLINK_SOCKET, ACCEPT, LISTEN, *may_not
    }  # fmt: skip


def test_who_forks_loaders_runs_a_compiler_and_reaches_servers(folder: Path) -> None:
    """A loader compiles before it is one; then it is less."""
    confine = "privileges.confine([Path(below)], 'loader')"
    said = attempted(folder, "loading", COMPILE, TCP_CLIENT, confine, FORK, EXECUTE, TCP_CLIENT)
    assert said == ["done", "done", "done", "refused 1", "refused 1", "done"]


def test_an_opener_makes_raw_packet_sockets_and_nothing_else(folder: Path) -> None:
    """Nor does it write where Landlock would let it."""
    may = [PACKET_SOCKET, HAND_ON, ALLOWED["read"]]
    others = ["socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)", "socket.socket(socket.AF_UNIX)"]
    by_user = [ALLOWED["write below"], SEND, SIGNAL]
    may_not = [*others, *by_user, ACCEPT, *ATTEMPTS.values()]
    if "GCOV_ERROR_FILE" in os.environ:
        pytest.skip("where lines are counted the counts are written anywhere")
    assert refused_of(folder, "opener", *may, *may_not) == set(may_not)


@pytest.mark.parametrize("kind", ["supervisor", "compiler", "opener", "loading", "loader"])
def test_no_other_process_of_the_user_has_its_memory(folder: Path, kind: str) -> None:
    """By what the kernel asks, with Landlock or without, before it opens /proc/PID/mem."""
    may_be_read = "call(lambda: -libc.prctl(3, 0, 0, 0, 0))"
    confine = f"privileges.confine([Path(below)], '{kind}')"
    said = attempted(folder, "free", "libc.prctl(4, 1, 0, 0, 0)", may_be_read, confine, may_be_read)
    assert said == ["done", "refused 0", "done", "done"]


def test_who_forks_both_is_a_compiler_and_its_children_are_less(folder: Path) -> None:
    """A filter is added to what is there: a capture that a launcher forks runs no program."""
    confine = "privileges.confine([Path(below)], 'capture')"
    said = attempted(folder, "compiler", FORK, confine, FORK, SEND, EXECUTE)
    assert said[:2] == ["done", "done"]
    assert set(said[2:]) == {"refused 1"}

# SPDX-License-Identifier: Apache-2.0
"""The control socket: lines of JSON from users who may ask, and an answer to each.

Who asks is what the kernel says of the other end. Each client's line, half of one, and backlog
has a limit, and their number has one, which only those who may ask can use up.
"""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
import re
import select
import socket
import stat
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from gigastream.daemon.framing import UNREADABLE
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import (
    MAX_REQUEST_BYTES,
    Answered,
    Request,
    encoded_line,
)
from gigastream.late_dataclass import dataclass

CLIENTS_MAX = 64
ROOTS_PLACES = 8
"""More, for root alone: others who are connected do not keep root out."""
PARTIAL_LINE_S = 30.0
"""Within which a line that was begun must end."""
WRITE_S = 30.0
"""Within which a client must take an answer."""
_CREDENTIALS = struct.Struct("3i")
_TOO_LONG = re.compile(r"Expected `str(?: \| null)?` of length <= (\d+) - at `\$\.(\w+)`")
_BACKLOG = 16
_LOOK_EVERY_S = 0.2
_IGNORED_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end, by the kernel."""

    uid: int
    gid: int
    pid: int


class Allowed:
    """Who may ask: root, who we are, who started us, and a group's members."""

    def __init__(self, user: str, started_by: int, group: str | None) -> None:
        """Raises DaemonError where there is no such group."""
        self._uids = {0, started_by, os.geteuid()}
        with suppress(KeyError):
            self._uids.add(pwd.getpwnam(user).pw_uid)
        self.gid = None if group is None else _group_id(group)

    def __call__(self, peer: Peer) -> bool:
        """Whether this one may."""
        return peer.uid in self._uids or (self.gid is not None and self._is_member(peer))

    def _is_member(self, peer: Peer) -> bool:
        if peer.gid == self.gid:
            return True
        try:
            found = pwd.getpwuid(peer.uid)
        except KeyError:
            return False
        return self.gid in os.getgrouplist(found.pw_name, found.pw_gid)


def listen(
    path: Path, owner: int, group: int | None, user: tuple[int, int] | None = None
) -> socket.socket:
    """A socket that only its owner, and a group where there is one, can reach. DaemonError.

    Its mode is the one that it is made with: by the time that it were changed, who may write the
    folder could have put a link to something of ours in its place. Before it listens nobody is in.
    A folder that is made for it becomes `user`'s, who removes the socket at the end.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        _make_folder(path.parent, user)
        _remove_stale(path)
        before = os.umask(0o177 if group is None else 0o117)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
        if os.geteuid() == 0 and (owner != 0 or group is not None):
            os.chown(path, owner, -1 if group is None else group, follow_symlinks=False)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise DaemonError(
            f"{path}: {error.strerror or error}", "--socket PATH, in a folder that we can write"
        ) from None
    return made


def _make_folder(folder: Path, user: tuple[int, int] | None) -> None:
    if folder.is_dir():
        return
    folder.mkdir(parents=True, mode=0o755)
    if user is not None:
        os.chown(folder, *user, follow_symlinks=False)


def _remove_stale(path: Path) -> None:
    """Remove the socket of a daemon that is no more."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise DaemonError(f"{path} is there, and no socket", "--socket with another path")
    with socket.socket(socket.AF_UNIX) as asked, suppress(ConnectionRefusedError):
        asked.setblocking(False)
        with suppress(BlockingIOError):  # so many wait for it that it hangs: it is there
            asked.connect(str(path))
        raise DaemonError(
            f"a daemon runs already: it answers at {path}", "gigastream ctl stop, or --socket"
        )
    path.unlink()


class Client:
    """A connection of somebody who may ask."""

    def __init__(
        self, peer: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.peer = peer
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=0)  # drain() waits until all is taken

    @property
    def waiting_bytes(self) -> int:
        """That it has not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    async def leaves(self) -> None:
        """Wait until it hangs up; what it says meanwhile is not heard."""
        with suppress(OSError):
            while await self._reader.read(_IGNORED_BYTES):
                pass

    async def hangs_up(self) -> None:
        """Wait until it has closed its end; one that only says no more waits for answers."""
        descriptor = self._writer.get_extra_info("socket").fileno()
        if descriptor < 0:
            return
        poll = select.poll()
        poll.register(descriptor, 0)
        while not (self._writer.is_closing() or poll.poll(0)):
            await asyncio.sleep(_LOOK_EVERY_S)

    def put(self, message: Any) -> None:
        """Send without waiting; the caller looks at waiting_bytes."""
        if not self._writer.is_closing():
            self._writer.write(encoded_line(message))

    async def answer(self, message: Any) -> None:
        """Send, and wait until it is taken. TimeoutError, OSError."""
        self.put(message)
        async with asyncio.timeout(WRITE_S):
            await self._writer.drain()


Handler = Callable[[Any, Client], Awaitable[Any]]


class ControlServer:
    """Reads requests and writes the handler's answers; None: it has answered by itself."""

    def __init__(self, listening: socket.socket, allowed: Allowed, handler: Handler) -> None:
        self._listening = listening
        self._allowed = allowed
        self._handler = handler
        self._clients: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._decoder = msgspec.json.Decoder(Request)
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Accept from now on."""
        self._server = await asyncio.start_unix_server(
            self._serve, sock=self._listening, limit=MAX_REQUEST_BYTES
        )

    async def close(self) -> None:
        """Accept no more, and let go of who is there."""
        if self._server is not None:
            self._server.close()
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients[task] = writer
        try:
            with suppress(OSError, TimeoutError, asyncio.CancelledError):
                await self._speak(reader, Client(_peer_of(writer), reader, writer))
        finally:
            del self._clients[task]
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()
            writer.close()

    async def _speak(self, reader: asyncio.StreamReader, client: Client) -> None:
        if not self._allowed(client.peer):
            await client.answer(_refused("this user may not control the daemon", _WHO_MAY))
            return
        most = CLIENTS_MAX + (ROOTS_PLACES if client.peer.uid == 0 else 0)
        if len(self._clients) > most:
            hint = "end a tail, a top or a console: each is one, or more"
            await client.answer(_refused(f"{most} clients are connected already", hint))
            return
        while (line := await _line(reader, client)) is not None:
            answer = await self._answer(line, client)
            if answer is not None:
                await client.answer(answer)

    async def _answer(self, line: bytes, client: Client) -> Any:
        try:
            request = self._decoder.decode(line)
        except UNREADABLE as error:
            if (long := _TOO_LONG.fullmatch(str(error))) is not None:
                return _refused(
                    f"the {long[2]} has more than {long[1]} characters", "a shorter one"
                )
            hint = "one JSON object, as gigastream ctl of the daemon's own version sends it"
            return _refused(f"this is no request: {error}", hint)
        try:
            return await self._handler(request, client)
        except DaemonError as error:
            return _refused(str(error), error.hint)


_WHO_MAY = "root, the daemon's user, who started it, and members of its group may"


async def _line(reader: asyncio.StreamReader, client: Client) -> bytes | None:
    """The next request; None at the end, and where a line that was begun does not end."""
    first = await reader.read(1)
    while first == b"\n":
        first = await reader.read(1)
    if not first:
        return None
    try:
        async with asyncio.timeout(PARTIAL_LINE_S):
            rest = await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return None
    except TimeoutError:
        await client.answer(_refused(f"a line took more than {PARTIAL_LINE_S:g} s", None))
        return None
    except asyncio.LimitOverrunError:
        await client.answer(_refused(f"a line of more than {MAX_REQUEST_BYTES:,} bytes", None))
        return None
    return first + rest


def _refused(message: str, hint: str | None) -> Answered:
    return Answered(ok=False, message=message, hint=hint)


def _peer_of(writer: asyncio.StreamWriter) -> Peer:
    connection = writer.get_extra_info("socket")
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(packed)
    return Peer(uid, gid, pid)


def _group_id(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise DaemonError(f"there is no group '{name}'", "group of [control]") from None

# SPDX-License-Identifier: Apache-2.0
"""The control socket against users who may not, garbage, and clients that do not end a line."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gigastream.daemon import control
from gigastream.daemon.control import Allowed, Client, ControlServer, Peer, listen
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import MAX_REQUEST_BYTES, Answered, AskQueries, AskStatus

ALL_BYTES = [byte for byte in range(256) if byte != ord("\n")]
STATUS = b'{"do":"status"}\n'
LARGE = 8 << 20
"""More than the kernel keeps for who does not read."""
MOST = control.CLIENTS_MAX + (control.ROOTS_PLACES if os.geteuid() == 0 else 0)
Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


async def handled(request: Any, client: Client) -> Answered:
    """Says what was asked; one kind of request is refused, one has a long answer."""
    if isinstance(request, AskQueries):
        return Answered(ok=True, message="x" * LARGE)
    if isinstance(request, AskStatus):
        return Answered(ok=True, message=f"uid {client.peer.uid}")
    raise DaemonError("no", "never")


def play(folder: Path, script: Play, allowed: Any = None) -> Any:
    """Let a client do what it does to a server."""

    async def run() -> Any:
        listening = listen(folder / "socket", os.geteuid(), None)
        may = allowed or Allowed("nobody", os.getuid(), None)
        server = ControlServer(listening, may, handled)
        await server.start()
        reader, writer = await asyncio.open_unix_connection(folder / "socket")
        try:
            return await script(reader, writer)
        finally:
            writer.close()
            await server.close()

    return asyncio.run(run())


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: bytes) -> Answered:
    """A line, and its answer."""
    writer.write(line)
    return msgspec.json.decode(await reader.readline(), type=Answered)


def test_requests_are_answered_in_turn(tmp_path: Path) -> None:
    """A refusal, and what is no request, are answers like others; the connection goes on."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await ask(reader, writer, b'{"do":"status"}\n')
        assert first == Answered(ok=True, message=f"uid {os.getuid()}")
        assert await ask(reader, writer, b'\n{"do":"stop"}\n') == Answered(
            ok=False, message="no", hint="never"
        )
        long = b'{"do":"rotate","name":"' + b"x" * 256 + b'"}\n'
        told = (await ask(reader, writer, long)).message
        assert told == "the name has more than 255 characters"
        for garbage in (b"{}\n", b"\xff\xfe\n", b'{"do":"status","more":1}\n', b"[" * 9000 + b"\n"):
            assert not (await ask(reader, writer, garbage)).ok
        assert (await ask(reader, writer, b'{"do":"status"}\n')).ok

    play(tmp_path, script)


@pytest.mark.parametrize("key", ["priority", "rotate_ns", "rotate_bytes", "keep"])
def test_a_number_that_no_message_holds_is_refused(tmp_path: Path, key: str) -> None:
    """It would be taken, and end whoever passes it on to the compile helper."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = {"do": "add", "query_set": {"name": "a", "text": "", key: 2**70}}
        refused = await ask(reader, writer, msgspec.json.encode(asked) + b"\n")
        assert not refused.ok
        assert key in str(refused.message)

    play(tmp_path, script)


def test_random_lines_end_nothing(tmp_path: Path) -> None:
    """Bytes of all kinds, and requests with a byte changed."""
    chance = random.Random(12)

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(500):
            line = bytearray(b'{"do":"set","name":"a","parameter":"b","value":"c"}')
            for _ in range(chance.randrange(1, 5)):
                line[chance.randrange(len(line))] = chance.choice(
                    list(range(10)) + list(range(11, 256))
                )
            assert not (await ask(reader, writer, bytes(line) + b"\n")).ok

    play(tmp_path, script)


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too long, or too slow: it is told, and hung up."""

    async def too_long(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = await ask(reader, writer, b"x" * (MAX_REQUEST_BYTES + 2) + b"\n")
        assert "a line of more than" in answer.message

    async def too_slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert "a line took more than" in (await ask(reader, writer, b"{")).message
        assert await reader.read() == b""

    play(tmp_path, too_long)
    monkeypatch.setattr(control, "PARTIAL_LINE_S", 0.05)
    play(tmp_path, too_slow)


def test_a_client_that_never_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are answered, and it is hung up on."""
    monkeypatch.setattr(control, "WRITE_S", 0.2)

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b'{"do":"queries"}\n')
        other_reader, other = await asyncio.open_unix_connection(tmp_path / "socket")
        assert (await ask(other_reader, other, STATUS)).ok
        await asyncio.sleep(2 * control.WRITE_S)
        reader._transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await reader.read()) < LARGE
        assert (await ask(other_reader, other, STATUS)).ok
        other.close()

    play(tmp_path, script)


@pytest.mark.parametrize("size", range(128 << 10, 513 << 10, 32 << 10))
def test_a_client_that_says_no_more_gets_all(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any size, though it ends its side at once and reads late, as `nc -N -U` may."""
    monkeypatch.setattr(f"{__name__}.LARGE", size)

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b'{"do":"queries"}\n')
        writer.write_eof()
        for _ in range(100):  # turns of the loop, in which the server does what it can
            await asyncio.sleep(0)
        reader._transport.resume_reading()  # type: ignore[attr-defined]
        assert len((await reader.read()).removesuffix(b"\n")) > size

    play(tmp_path, script)


def test_so_many_clients_and_no_more(tmp_path: Path) -> None:
    """One more is told so; when one has left there is room."""

    async def connect() -> tuple[Answered, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_unix_connection(tmp_path / "socket")
        return await ask(reader, writer, STATUS), writer

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await ask(reader, writer, STATUS)).ok
        found = [await connect() for _ in range(MOST - 1)]
        assert all(answer.ok for answer, _ in found)
        refused, last = await connect()
        assert refused.message == f"{MOST} clients are connected already"
        last.close()
        found.pop()[1].close()
        while not (answer := await connect())[0].ok:
            answer[1].close()
        for _, each in (*found, answer):
            each.close()

    play(tmp_path, script)


def test_root_has_places_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others who are connected and say nothing do not keep it out."""
    uids = iter([*(1234 for _ in range(control.CLIENTS_MAX + 1)), 0])
    monkeypatch.setattr(control, "_peer_of", lambda _: Peer(next(uids), 1, 1))

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await ask(reader, writer, STATUS)).ok
        found = []
        for _ in range(control.CLIENTS_MAX - 1):
            found.append(await asyncio.open_unix_connection(tmp_path / "socket"))
            assert (await ask(*found[-1], STATUS)).ok
        for is_ok in (False, True):
            found.append(await asyncio.open_unix_connection(tmp_path / "socket"))
            assert (await ask(*found[-1], STATUS)).ok == is_ok
        for _, each in found:
            each.close()

    play(tmp_path, script, allowed=lambda _: True)


def test_who_may_ask(tmp_path: Path) -> None:
    """Root, the daemon's user, who started it; nobody else."""
    allowed = Allowed("nobody", 1234, None)
    assert all(allowed(Peer(uid, uid, 1)) for uid in (0, 1234, os.geteuid()))
    assert not allowed(Peer(4321, 0, 1))

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert "may not control" in (await ask(reader, writer, b'{"do":"status"}\n')).message

    play(tmp_path, script, allowed=lambda _: False)


def test_a_group_may_ask(tmp_path: Path) -> None:
    """By the group of the process, or the user's membership; there must be one of that name."""
    allowed = Allowed("nobody", 0, "daemon")
    assert allowed.gid is not None
    assert allowed(Peer(4321, allowed.gid, 1))
    with pytest.raises(DaemonError, match="there is no group"):
        Allowed("nobody", 0, "nogroupofthisname")


def test_the_socket_is_made_with_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is changed afterwards may be another file: a link that somebody has put there."""
    monkeypatch.delattr(os, "chmod")
    path = tmp_path / "socket"
    with listen(path, os.geteuid(), os.getegid()):
        assert path.stat().st_mode & 0o777 == 0o660


def test_a_daemon_that_hangs_is_there(tmp_path: Path) -> None:
    """So many wait for its answer that nobody can: its socket is not taken, nor waited for."""
    path, waiting = tmp_path / "socket", list[socket.socket]()
    with listen(path, os.geteuid(), None), ExitStack() as opened, suppress(BlockingIOError):
        while True:
            waiting.append(opened.enter_context(socket.socket(socket.AF_UNIX)))
            waiting[-1].setblocking(False)
            try:
                waiting[-1].connect(str(path))
            except BlockingIOError:
                with pytest.raises(DaemonError, match="a daemon runs already"):
                    listen(path, os.geteuid(), None)
                raise
    assert len(waiting) > 1


def test_the_socket_s_place(tmp_path: Path) -> None:
    """Only we can reach it; a stale one is replaced, a daemon's or another file is not."""
    path = tmp_path / "made" / "socket"
    with listen(path, os.geteuid(), None):
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(DaemonError, match="a daemon runs already"):
            listen(path, os.geteuid(), None)
    listen(path, os.geteuid(), None).close()
    (tmp_path / "file").write_text("kept")
    with pytest.raises(DaemonError, match="no socket"):
        listen(tmp_path / "file", os.geteuid(), None)
    with pytest.raises(DaemonError, match="AF_UNIX path too long"):
        listen(tmp_path / ("x" * 200), os.geteuid(), None)

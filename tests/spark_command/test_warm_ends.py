# SPDX-License-Identifier: Apache-2.0
"""How servers of `--warm` end, and which ones are asked: of our user, and of what is there now."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from cli.command import gigastream
from spark_command.warm import (
    DEMO,
    asked,
    asking,
    connected,
    environment,
    servers_pid,
    the_name,
    the_socket,
    wait_for_end,
)
from spark_command.written import QUERY, answered_here, in_order
from spark_session import why_no_spark

from spark_sink.session import WARM
from spark_sink.warm import client, place
from spark_sink.warm.channel import FROM_CALLER, FROM_SERVER, HELLO, Channel
from tests.waiting import wait_until

needs_spark = pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
ANOTHER = 12345
ONE = ("-e", QUERY, *DEMO)


@contextmanager
def another_user() -> Iterator[None]:
    os.seteuid(ANOTHER)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[place.SocketFolder]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    opened = place.SocketFolder(place.folder())
    yield opened
    opened.close()


def listening(places: place.SocketFolder, file: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(places.address(file))
    return listener


@needs_spark
@pytest.mark.long
def test_it_ends_once_it_serves_nobody_and_another_begins(runtime: Path, tmp_path: Path) -> None:
    """Told to end while it answers; the next is answered by a new one, both to the end."""
    rows, folder = tmp_path / "out", runtime / "gigastream"
    last = max(row["tb"] for row in answered_here())
    closed = [row for row in answered_here() if row["tb"] < last]
    with asking(runtime, tmp_path, "-e", QUERY, "-o", "json") as caller:
        wait_until(lambda: rows.read_bytes().count(b"\n") == len(closed), "closed windows")
        before = servers_pid(the_socket(runtime))
        told = gigastream("run", "--warm-end", env=environment(runtime, tmp_path))
        assert (told.code, told.err) == (0, "1 warm server told to end\n")
        others = f"{'f' * 16}-{the_name().partition('-')[2]}.socket"
        with listening(place.SocketFolder(folder), others):
            older = folder / f"{the_name().rpartition('-')[0]}-{'0' * 16}.socket"
            older.touch()
            result = asked(runtime, tmp_path, *ONE)
            assert in_order(map(json.loads, result.lines)) == answered_here()
            assert not older.exists()  # of what is outdated
            assert (folder / others).exists()  # of another host
        after = servers_pid(the_socket(runtime))
        assert after != before
        assert caller.stdin is not None
        caller.stdin.close()
        assert caller.wait() == 0
    assert in_order(map(json.loads, rows.read_text().splitlines())) == answered_here()
    wait_for_end(before)
    asked(runtime, tmp_path, *ONE, "--warm-idle", "0.1s")
    wait_for_end(after)  # by itself
    assert not list(folder.glob(f"{the_name()}.*"))


@needs_spark
@pytest.mark.long
@as_root
def test_it_answers_no_other_user(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where one could reach its socket; and a socket of another's is replaced, not asked."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    places = place.SocketFolder(place.folder())
    with listening(places, the_socket(runtime).name) as others:
        with another_user():
            others.listen()
        result = asked(runtime, tmp_path, *ONE)
        assert in_order(map(json.loads, result.lines)) == answered_here()
        others.settimeout(0)
        connection, _ = others.accept()  # who looked who is there
        assert connection.recv(1) == b""
    monkeypatch.chdir(places.path)
    places.path.chmod(0o755)
    the_socket(runtime).chmod(0o666)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        with another_user():
            connection.connect(the_socket(runtime).name)
        assert connection.recv(1) == b""
    with connected(the_socket(runtime)) as connection:
        assert connection.recv(1) == HELLO
    places.close()


@as_root
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "gigastream"
    folder.mkdir(mode=0o700)
    os.chown(folder, ANOTHER, ANOTHER)
    result = asked(tmp_path, tmp_path, *ONE)
    assert result.code == 2
    assert f"{folder} belongs to" in result.err
    assert "XDG_RUNTIME_DIR" in result.err


@as_root
def test_the_runtime_folder_of_another_user_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, ANOTHER, ANOTHER)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(theirs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert place.folder() == tmp_path / "cache" / "gigastream" / "warm"


def test_other_settings_have_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [place.name(WARM), place.name({**WARM, "spark.sql.ansi.enabled": "false"})]
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/elsewhere")
    names.append(place.name(WARM))
    for variable in ("_JAVA_OPTIONS", "LD_LIBRARY_PATH", "PYTHONPATH"):
        monkeypatch.setenv(variable, "/elsewhere")
        names.append(place.name(WARM))
    assert len({name.split("-")[1] for name in names}) == 6


def test_another_version_has_another_server_that_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = place.name(WARM).split("-")
    monkeypatch.setattr(place, "_CODE", ("gigastream",))
    after = place.name(WARM).split("-")
    assert before[:2] == after[:2]
    assert before[2] != after[2]


def test_the_interpreter_and_the_engine_are_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [place.name(WARM)]
    for module, attribute in (("sys", "version"), ("pyarrow", "__version__")):
        monkeypatch.setattr(f"{module}.{attribute}", "another")
        names.append(place.name(WARM))
    assert len({name.split("-")[2] for name in names}) == 3
    assert any(path.suffix == ".so" for path in place._code())
    assert {path.parent.name for path in place._packages()} == {"py4j", "pyarrow"}


def test_code_that_is_gone_meanwhile_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").symlink_to(tmp_path / "nothing")
    monkeypatch.setattr(place, "_CODE", (str(tmp_path / "code"),))
    assert place._code()
    assert place.name(WARM)


def test_another_host_has_servers_of_its_own(
    places: place.SocketFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share the folder, by a home or a mount; what ends all ends those of here."""
    ours = f"{place.name(WARM)}.socket"
    with monkeypatch.context() as there:
        there.setattr(place, "_here", lambda: "f" * 16)
        theirs = f"{place.name(WARM)}.socket"
    with listening(places, ours) as one, listening(places, theirs) as other:
        one.listen()
        other.listen()
        assert place.end_all() == 1
    assert [path.name for path in places.path.iterdir()] == [theirs]


@as_root
def test_a_container_is_another_place() -> None:
    shown = "from spark_sink.warm.place import _here; print(_here())"
    words = [*("unshare", "--mount"), sys.executable, "-c", shown]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert len(done.stdout.strip()) == len(place._here())
    assert done.stdout.strip() != place._here()


@pytest.mark.parametrize("why", ["relative", "not to be seen", "full"])
def test_where_the_runtime_folder_is_none_it_is_the_cache(
    why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "." if why == "relative" else str(tmp_path))
    if why == "not to be seen":
        monkeypatch.setattr(Path, "is_dir", failing(PermissionError(errno.EACCES, "denied")))
    if why == "full":
        (tmp_path / "cache").mkdir()
        mkdir = Path.mkdir

        def full(path: Path, *words: Any, **options: Any) -> None:
            if path.parent == tmp_path:
                raise OSError(errno.ENOSPC, "full")
            mkdir(path, *words, **options)

        monkeypatch.setattr(Path, "mkdir", full)
    assert place.folder() == tmp_path / "cache" / "gigastream" / "warm"


def test_to_end_them_goes_with_nothing_else(runtime: Path) -> None:
    env = environment(runtime, runtime)
    for words in (("talkers",), ("--on", "spark"), ("--warm",), ("-r", "a.pcap")):
        result = gigastream("run", "--warm-end", *words, env=env)
        assert result.code == 2
        assert "does nothing else" in result.err


def failing(error: OSError) -> Callable[..., bool]:
    def fail(*_: object, **__: object) -> bool:
        raise error

    return fail


def test_who_says_no_hello_is_no_server(places: place.SocketFolder) -> None:
    """A stale socket, one that ends, and one that says something else."""
    for said in (None, b"", b"no server\n", HELLO + b"\x01\0\0\0x"):
        with listening(places, "a.socket") as listener:
            if said is not None:
                listener.listen()
                words = (listener, said)
                threading.Thread(target=_say, args=words, daemon=True).start()
            assert client._reached(places, "a") is None
        (places.path / "a.socket").unlink()


def test_a_server_that_hangs_is_told_at_once(
    places: place.SocketFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the lock, so that no other one would start: with the process that is to be ended."""
    monkeypatch.setattr(client, "_HELLO_LIMIT_S", 0.1)
    with listening(places, f"{place.name(WARM)}.socket") as listener:
        listener.listen()
        with pytest.raises(client.JobError, match=r"nothing for 0\.1 s") as told:
            client.connect(WARM, lambda: None, lambda: None)
        assert f"kill -9 {os.getpid()}" in str(told.value.hint)


def test_a_server_that_takes_no_caller_is_told(
    places: place.SocketFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as may wait for it do: its process is not to be seen."""
    monkeypatch.setattr(client, "_START_LIMIT_S", 1)
    name = place.name(WARM)
    lock = place.locked(places.path / f"{name}.lock")
    assert lock is not None
    with lock, listening(places, f"{name}.socket") as listener:
        listener.listen(0)
        with (
            connected(places.path / f"{name}.socket"),
            pytest.raises(client.JobError, match="no caller for 1 s") as told,
        ):
            client.connect(WARM, lambda: None, lambda: None)
    assert "pkill" in str(told.value.hint)


def _say(listener: socket.socket, said: bytes) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(said)


def test_a_question_that_comes_too_slowly_is_given_up() -> None:
    """A byte at a time, each of them within the limit."""
    ours, theirs = socket.socketpair()
    is_over = threading.Event()

    def drip() -> None:
        while not is_over.wait(0.01):
            theirs.sendall(b"x")

    with ours, theirs:
        theirs.sendall(b"a" + (1 << 20).to_bytes(4, "little"))
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises(TimeoutError):
                Channel(ours, FROM_CALLER).receive_within(0.5)
        finally:
            is_over.set()
            thread.join()


def test_the_length_of_a_message_is_bounded_before_it_is_read() -> None:
    for known in (FROM_CALLER, FROM_SERVER):
        for kind, most in known.items():
            ours, theirs = socket.socketpair()
            with ours, theirs:
                theirs.sendall(kind + (most + 1).to_bytes(4, "little"))
                with pytest.raises(client.ChannelError):
                    Channel(ours, known).receive()
    assert max(FROM_SERVER.values()) < 1 << 30


def test_rows_are_cut_to_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_sink.warm import answering

    monkeypatch.setattr(answering, "ROWS_BYTES", 1000)
    rows = pyarrow.record_batch({"a": pyarrow.array([b"x" * 100] * 50 + [b"y" * 900])})
    found = list(answering.pieces(rows))
    assert pyarrow.Table.from_batches(found) == pyarrow.Table.from_batches([rows])
    assert all(piece.nbytes <= 500 or piece.num_rows == 1 for piece in found)
    assert len(found) > 10

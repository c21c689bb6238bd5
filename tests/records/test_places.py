# SPDX-License-Identifier: Apache-2.0
"""Where records come from: folders being filled, ports, pipes, memory; and what time does."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from cli.command import COMMAND, account_so_far, gigastream
from records.asked import DEFINITIONS, LINE, START_NS, answer, row, source_of

import gigastream as library
from gigastream.gsql.source import SourceFile
from gigastream.records.places import deliver_file
from gigastream.settings import Settings
from gigastream.sources.files import SourceError
from tests.flows.ports import free_port
from tests.waiting import PATIENCE_S, wait_until

RUN = ("run", "--definitions", DEFINITIONS, "-o", "csv")
NAMES = ("-e", "SELECT name FROM events")
HEAD, GOOD = ",".join(row()), ",".join(f'"{value}"' for value in row().values())


def _second(number: float, **changed: Any) -> dict[str, Any]:
    return row(at=START_NS // 10**9 + number, **changed)


def _line(name: str) -> str:
    return ",".join(f'"{value}"' for value in row(name=name).values()) + "\n"


# Time: the pipe's rule, whatever the place


def test_what_is_behind_the_promise_is_late() -> None:
    seconds = (0, 10, 9.5, 11, 9.9, 8.5, 12)
    found = answer([_second(number) for number in seconds])
    assert (found.source.late, found.source.decoded) == (1, 6)
    slack = Settings(slack_ns=10**10)
    assert answer([_second(n) for n in seconds], settings=slack).source.late == 0


def test_one_lying_time_raises_nothing() -> None:
    found = answer([_second(n) for n in (0, 1, 10**6, 2, 3)])
    assert (found.source.late, found.source.decoded) == (0, 5)


def test_what_is_no_record_has_no_time() -> None:
    rows = [_second(0), _second(100, count=None), _second(100, count=None), _second(1)]
    found = answer(rows)
    assert (found.source.undecodable, found.source.late, found.source.decoded) == (2, 0, 2)


@pytest.mark.parametrize("at", [-1, "1969-12-31T23:59:59Z", 2**62])
def test_a_time_that_no_packet_has(at: Any) -> None:
    found = answer([row(at=at)])
    assert found.source.undecodable == 1


# Memory


def test_rows_of_no_mapping_are_none() -> None:
    found = answer([row(), 5, [1]])
    assert str(found.source.undecodable_first).endswith("record 2: it is an int, not a mapping")
    assert (found.source.decoded, found.source.undecodable) == (1, 2)


def test_what_an_iterable_raises_comes_behind_its_rows() -> None:
    def rows() -> Iterator[Any]:
        yield row()
        raise RuntimeError("out of luck")

    answered = library.run(
        "SELECT name FROM events", streams={"events": rows()}, definitions=DEFINITIONS
    )
    assert next(answered).to_pylist() == [{"name": b"a,b"}]
    with pytest.raises(library.DamagedSourceError, match="out of luck") as caught:
        next(answered)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_endless_iterable_is_read_as_its_answer_is_taken() -> None:
    def rows() -> Iterator[Any]:
        while True:
            yield row()

    with library.run(
        "SELECT name FROM events", streams={"events": rows()}, definitions=DEFINITIONS
    ) as answered:
        assert next(answered).num_rows > 0


def test_record_batches_as_a_generator_of_flows_gives_them() -> None:
    batch = pyarrow.RecordBatch.from_pylist([row()] * 3)
    found = [
        batch.num_rows
        for batch in library.run(
            "SELECT name FROM events",
            streams={"events": (batch for _ in range(4))},
            definitions=DEFINITIONS,
        )
    ]
    assert sum(found) == 12


def test_a_stream_that_is_not_declared() -> None:
    with pytest.raises(SourceError, match="there is no STREAM event") as caught:
        library.run("SELECT 1", streams={"event": []}, definitions=DEFINITIONS)
    assert caught.value.hint == "did you mean events?"


# Pipes


def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(f"{HEAD}\n{GOOD}\n",))
    writer.start()
    assert answer(pipe).lines == [LINE]
    writer.join()


def test_stdin() -> None:
    text = f"{HEAD}\n{GOOD}\n".encode()
    done = gigastream(*RUN, *NAMES, "--stream", "events=-", stdin=text)
    assert (done.code, done.lines) == (0, ["name", '"a,b"'])
    assert "- (STREAM events): read 1 = decoded 1" in done.err
    twice = gigastream(*RUN, *NAMES, "--stream", "events=-", "-r", "-", stdin=text)
    assert (twice.code, "stdin can be read only once" in twice.err) == (2, True)


# A folder


def test_files_of_a_folder_are_taken_once_by_time_and_name(tmp_path: Path) -> None:
    for age, name in enumerate(("b.csv", "a.csv", "c.csv")):
        (tmp_path / name).write_text(f"{HEAD}\n{_line(name)}")
        os.utime(tmp_path / name, (age // 2, age // 2))
    for name in (".hidden.csv", "x.tmp", "y.part", "_SUCCESS"):
        (tmp_path / name).write_text("not whole")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "_END").touch()
    found = answer(tmp_path)
    assert re.findall("[abc]\\.csv", "\n".join(found.lines)) == ["a.csv", "b.csv", "c.csv"]


def test_a_folder_is_followed_until_its_end(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out.csv"
    folder.mkdir()
    words = [*RUN[:-1], f"csv:{out}", *NAMES, "--stream", f"events={folder}"]
    process = subprocess.Popen([*COMMAND, *map(os.fspath, words)], stderr=subprocess.PIPE)
    for number in range(3):
        (tmp_path / "new").write_text(f"{HEAD}\n{_line(f'file{number}')}")
        (tmp_path / "new").rename(folder / f"{number}.csv")
        wait_until(lambda n=number: f"file{n}" in _text(out), f"the rows of file {number}")
    (tmp_path / "new").write_bytes(b"PAR1")
    (tmp_path / "new").rename(folder / "broken.parquet")
    (tmp_path / "new").write_text(f"{HEAD}\n{_line('another')}")
    (tmp_path / "new").rename(folder / "0.csv")
    wait_until(lambda: "another" in _text(out), "what has the name of a file that was taken")
    (folder / "_END").touch()
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert b"read 5 = undecodable 1 + decoded 4" in errors
    assert b"broken.parquet: it ends without Parquet's footer" in errors


@pytest.mark.parametrize("becomes", ["a file", "a link", "a pipe"])
def test_what_is_another_when_its_turn_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    """It is read once, or is none; who may write to the folder leads nobody, and stops nobody."""
    folder, other = tmp_path / "in", tmp_path / "other.csv"
    folder.mkdir()
    other.write_text(f"{HEAD}\n{_line('new')}")
    for age, name in enumerate(("a", "b", "c")):
        (folder / f"{name}.csv").write_text(f"{HEAD}\n{_line(name)}")
        os.utime(folder / f"{name}.csv", (age, age))

    def deliver(descriptor: int, label: str, *rest: Any) -> None:
        if label.endswith("a.csv"):
            _replace(folder / "b.csv", becomes, other)
            (folder / "_END").touch()
        deliver_file(descriptor, label, *rest)

    monkeypatch.setattr("gigastream.records.places.deliver_file", deliver)
    found = answer(folder, SourceFile("query", "SELECT name FROM events"))
    assert found.lines == (["a", "new", "c"] if becomes == "a file" else ["a", "c"])
    assert found.source.undecodable == (0 if becomes == "a file" else 1)


def _replace(path: Path, becomes: str, other: Path) -> None:
    path.unlink()
    if becomes == "a file":
        other.rename(path)
    elif becomes == "a link":
        path.symlink_to(other)
    else:
        os.mkfifo(path)


def test_links_pipes_and_devices_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    folder, other = tmp_path / "in", tmp_path / "other.csv"
    folder.mkdir()
    other.write_text(f"{HEAD}\n{GOOD}\n")
    (folder / "link.csv").symlink_to(other)
    (folder / "device.csv").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.csv")
    (folder / "_END").touch()
    found = answer(folder)
    assert (found.source.read, found.lines) == (0, [])


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_more_places_than_files_may_be_open(tmp_path: Path) -> None:
    """Told with the place and what to do; pipes, since a file may end before all are open."""
    place = tmp_path / "one.csv"
    os.mkfifo(place)
    many = ("--stream", f"events={place}") * 60
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (40, 40))
    result = gigastream(*RUN, *NAMES, *many, preexec_fn=few)
    assert result.code == 2
    message, hint = result.err.splitlines()[-2:]
    assert message == f"gigastream: {place}: Too many open files"
    assert hint.startswith("hint: a greater limit of open files (ulimit -n)")


# A port


def _connect(port: int) -> socket.socket:
    found: list[socket.socket] = []

    def connects() -> bool:
        try:
            found.append(socket.create_connection(("127.0.0.1", port)))
        except ConnectionRefusedError:
            return False
        return True

    wait_until(connects, "somebody who listens")
    return found[0]


def test_several_peers_at_once_in_any_format(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    port = free_port(socket.AF_INET, "127.0.0.1", socket.SOCK_STREAM)
    place = f"events=tcp://127.0.0.1:{port}"
    words = [*RUN[:-1], f"csv:{out}", *NAMES, "--stream", place, "--stats", "json"]
    process = subprocess.Popen([*COMMAND, *map(os.fspath, words)], stderr=subprocess.PIPE)
    one, two, three, dying = (_connect(port) for _ in range(4))
    one.sendall(f"{HEAD}\n{_line('one')}".encode())
    wait_until(lambda: "one" in _text(out), "a row of who goes on sending")
    sink = pyarrow.BufferOutputStream()
    table = pyarrow.Table.from_pylist([row(name="two")])
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    two.sendall(bytes(sink.getvalue()))
    three.sendall(b'{"at": 5')
    dying.sendall(f"{HEAD}\n{_line('dying')}{GOOD[:20]}".encode())
    wait_until(lambda: "dying" in _text(out), "the row of who dies")
    dying.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for peer in (dying, three, two):
        peer.close()
    wait_until(lambda: "two" in _text(out), "the row in Arrow")
    one.sendall(_line("more").encode())
    wait_until(lambda: "more" in _text(out), "that the others' ends are not its own")
    wait_until(lambda: _counted(process) == (4, 2), "what broke off to be counted")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    one.close()


def _counted(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Records so far, and what is none."""
    (source,) = account_so_far(process)["sources"]
    return source["decoded"], source["undecodable"]


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = gigastream(*RUN, *NAMES, "--stream", f"events=tcp://127.0.0.1:{port}")
    assert done.code == 2
    assert f"tcp://127.0.0.1:{port}: Address already in use" in done.err


@pytest.mark.parametrize(
    "place", ["tcp://", "tcp://host", "tcp://:90", "tcp://h:x", "tcp://h:1/x", "tcp://a..b:90"]
)
def test_what_is_no_address(place: str) -> None:
    with pytest.raises(SourceError, match="is no address to listen on"):
        source_of(place)

# SPDX-License-Identifier: Apache-2.0
"""How much goes into a pipe at once: never so much that its reader must be waited for."""

from __future__ import annotations

import fcntl
import os
import select
import threading
from collections.abc import Iterator

import pytest

from gigastream.outputs.file import Abandoned, OutputFile

HALF = 32768


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of one that holds 64 KiB."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 2 * HALF)
    yield ends
    for end in ends:
        os.close(end)


def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What each write(2) is given, from here on."""
    sizes: list[int] = []
    write = os.write

    def counted(descriptor: int, data: bytes) -> int:
        sizes.append(len(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", counted)
    return sizes


def test_an_empty_pipe_takes_half_of_itself(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = written(monkeypatch)
    OutputFile(pipe[1], "a pipe", is_ours=False).write(b"x" * (HALF + 5))
    assert sizes == [HALF, 5]


def test_one_that_is_not_empty_takes_what_is_sure_to_fit(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.write(pipe[1], b"of another")
    sizes = written(monkeypatch)
    OutputFile(pipe[1], "a pipe", is_ours=False).write(b"x" * (2 * select.PIPE_BUF))
    assert sizes == [select.PIPE_BUF] * 2


def test_all_arrives_in_order(pipe: tuple[int, int]) -> None:
    text = b"".join(b"%d\n" % i for i in range(100_000))
    file = OutputFile(pipe[1], "a pipe", is_ours=False)
    writer = threading.Thread(target=file.write, args=(text,))
    writer.start()
    read = b""
    while len(read) < len(text):
        read += os.read(pipe[0], 10_000)
    writer.join()
    assert read == text
    assert file.tell() == len(text)


def test_a_wait_for_a_reader_who_stays_away_can_be_ended(pipe: tuple[int, int]) -> None:
    file = OutputFile(pipe[1], "a pipe", is_ours=False)
    file.abandon()
    with pytest.raises(Abandoned):
        file.write(b"x" * (4 * HALF))

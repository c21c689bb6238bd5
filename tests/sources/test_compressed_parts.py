# SPDX-License-Identifier: Apache-2.0
"""Parts of compressed files side by side: the bytes, and the damage, of one after the other."""

from __future__ import annotations

import gzip
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gigastream.sources import compressed_parts
from gigastream.sources.compressed_parts import DIVISIONS, Division, side_by_side
from gigastream.sources.decompress import _CHUNKS, compression_of
from tests.oracle.compressed import inflate
from tests.sources.parted import BGZF_END, bgzf, bgzf_block, zstd_frames
from tests.sources.test_sources import (
    CONTENT,
    GZIP,
    NO_SIZE,
    OF_A_DICTIONARY,
    SKIPPABLE,
    TOO_WIDE,
    everything,
    opened,
    written,
    zstd,
)

THREADS = 3
FORMS: dict[str, Callable[[bytes], bytes]] = {"gzip": bgzf, "zstd": zstd_frames}
RANDOM_STREAMS = 150


@pytest.fixture(autouse=True)
def several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cores there are here; with so little in a task that there are many."""
    monkeypatch.setattr("gigastream.sources.decompress.thread_count", lambda: THREADS)
    monkeypatch.setattr(compressed_parts, "_TASK_BYTES", 1 << 14)


class Stream:
    """Bytes that are read so many at a time; behind them, perhaps, an error."""

    def __init__(self, data: bytes, at_once: int = 1 << 30, error: OSError | None = None) -> None:
        self.data = data
        self._at_once = at_once
        self._error = error

    def read(self, size: int) -> bytes:
        if not self.data and self._error is not None:
            raise self._error
        size = min(size, self._at_once)
        data, self.data = self.data[:size], self.data[size:]
        return data

    def give_back(self, data: bytes) -> None:
        self.data = data + self.data


def divided(stream: Stream, compression: str) -> bytes:
    """What is decompressed side by side; the rest is in the stream."""
    return b"".join(side_by_side(stream, DIVISIONS[compression], THREADS))


@pytest.mark.parametrize("compression", FORMS)
@pytest.mark.parametrize("at_once", [1 << 30, 5_000, 997])
def test_parts_make_the_whole(compression: str, at_once: int) -> None:
    stream = Stream(FORMS[compression](CONTENT), at_once)
    assert divided(stream, compression) == CONTENT
    assert stream.data == b""


@pytest.mark.parametrize("compression", FORMS)
def test_a_file_of_parts_is_a_file(tmp_path: Path, compression: str) -> None:
    compressed = FORMS[compression](CONTENT)
    source = opened(written(tmp_path, compressed))
    assert everything(source) == CONTENT
    assert source.damage is None
    assert not source.is_pipe
    assert source.compressed_bytes == (len(compressed), len(compressed))


@pytest.mark.parametrize("compression", FORMS)
def test_so_many_are_decompressed_at_once(compression: str) -> None:
    """Each of the first ones waits until all have begun."""
    all_have_begun, begun = threading.Barrier(THREADS), iter(range(THREADS))

    def content(task: bytes) -> bytes | None:
        if next(begun, None) is not None:
            all_have_begun.wait(timeout=60)
        return DIVISIONS[compression].content(task)

    stream = Stream(FORMS[compression](CONTENT))
    division = Division(DIVISIONS[compression].length, content)
    assert b"".join(side_by_side(stream, division, THREADS)) == CONTENT


BEHIND: dict[str, tuple[str, bytes, bytes, str | None]] = {
    "a member without its length": ("gzip", GZIP, CONTENT, None),
    "zeros": ("gzip", bytes(70_000), b"", None),
    "zeros, and more blocks": ("gzip", bytes(3) + bgzf(CONTENT), CONTENT, None),
    "a block cut": ("gzip", bgzf_block(b"hello")[:-3], b"hello", "ends too early"),
    "a header cut": ("gzip", BGZF_END[:9], b"", "ends too early"),
    "a length too small": ("gzip", BGZF_END[:16] + bytes(2) + BGZF_END[18:], b"", None),
    "a length too large": ("gzip", BGZF_END[:16] + b"\x40\0" + BGZF_END[18:] * 9, b"", "no gzip"),
    "a wrong checksum": (
        "gzip",
        bgzf_block(b"hello")[:-8] + bytes(4) + bgzf_block(b"hello")[-4:],
        b"hello",
        "incorrect data check",
    ),
    "no gzip": ("gzip", NO_SIZE, b"", "follows the gzip stream"),
    "no size": ("zstd", NO_SIZE * 2, b"hellohello", None),
    "a stream's frame": ("zstd", zstd(CONTENT), CONTENT, None),
    "too wide": ("zstd", TOO_WIDE, b"", "a window of more than 128 MiB"),
    "a dictionary": ("zstd", OF_A_DICTIONARY, b"", "needs a dictionary"),
    "a frame cut": ("zstd", zstd_frames(CONTENT)[:-5], b"", "ends too early"),
    "a magic cut": ("zstd", NO_SIZE[:3], b"", "ends too early"),
    "a skippable frame": ("zstd", SKIPPABLE, b"", None),
    "a skippable frame cut": ("zstd", SKIPPABLE[:9], b"", "ends too early"),
    "no zstd": ("zstd", b"garbage", b"", "follows the zstd stream"),
}


@pytest.mark.parametrize("name", BEHIND)
def test_what_is_behind_parts_is_as_it_is_by_itself(tmp_path: Path, name: str) -> None:
    compression, behind, content, damage = BEHIND[name]
    source = opened(written(tmp_path, FORMS[compression](CONTENT) + behind))
    found = everything(source)
    assert found.startswith(CONTENT + content)
    assert content or damage or found == CONTENT
    assert (damage or "None") in str(source.damage)


@pytest.mark.long
def test_random_streams_are_what_the_oracle_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of all kinds and lengths, cut, changed and with garbage behind."""
    chance = random.Random(3)
    for _ in range(RANDOM_STREAMS):
        for name, values in LIMITS.items():
            monkeypatch.setattr(compressed_parts, name, chance.choice(values))
        compressed = hurt(chance, random_stream(chance))
        if compression_of(compressed[:4]) is None:
            continue
        content, damage = inflate(compressed)
        source = opened(written(tmp_path, compressed))
        assert everything(source) == content
        assert (source.damage is None) == (damage is None)


LIMITS = {
    "_TASK_BYTES": (1, 100, 5_000),
    "_READ_BYTES": (7, 100, 1 << 18),
    "_PART_BYTES": (300, 1 << 23, 1 << 23),
    "_CONTENT_BYTES": (5_000, 1 << 24, 1 << 24),
}


def random_stream(chance: random.Random) -> bytes:
    forms = chance.choice(((bgzf, bgzf_block, gzip.compress), (zstd_frames, zstd)))
    streams = [chance.choice((bgzf_block, gzip.compress) if bgzf in forms else (zstd,))(b"first")]
    for _ in range(chance.randint(0, 5)):
        letters, count = chance.choice((2, 50, 256)), chance.choice((0, 1, 50, 3_000, 40_000))
        streams.append(chance.choice(forms)(bytes(chance.choices(range(letters), k=count))))
    return b"".join(streams)


def hurt(chance: random.Random, stream: bytes) -> bytes:
    """Most streams as they are, some damaged."""
    at = chance.randrange(max(1, len(stream)))
    changed = stream[:at] + bytes([stream[at] ^ 1 << chance.randrange(8)]) + stream[at + 1 :]
    behind = stream + chance.randbytes(chance.randint(1, 30))
    return chance.choice((stream, stream, stream, changed, stream[:at], behind))


@pytest.mark.parametrize("compression", FORMS)
def test_no_more_is_held_than_may_be(monkeypatch: pytest.MonkeyPatch, compression: str) -> None:
    """A part that becomes too much is left as it is, with all behind it."""
    monkeypatch.setattr(compressed_parts, "_CONTENT_BYTES", 50_000)
    head, bomb = FORMS[compression](b"head"), FORMS[compression](bytes(60_000))
    if compression == "zstd":
        bomb = zstd_frames(bytes(60_000), frame_bytes=60_000)
    stream = Stream(head * 2_000 + bomb + head)
    found = divided(stream, compression)
    assert found
    assert found == b"head" * (len(found) // 4)
    assert stream.data.endswith(without_length(bomb) + head)


@pytest.mark.parametrize("compression", FORMS)
def test_a_long_part_is_not_gathered(monkeypatch: pytest.MonkeyPatch, compression: str) -> None:
    monkeypatch.setattr(compressed_parts, "_PART_BYTES", 1_000)
    monkeypatch.setattr(compressed_parts, "_READ_BYTES", 500)
    whole = FORMS[compression](random.Random(1).randbytes(29_000))
    stream = Stream(whole)
    assert divided(stream, compression) == b""
    assert stream.data == whole


def without_length(stream: bytes) -> bytes:
    """What pzstd writes before a frame is a part by itself, of nothing."""
    return stream[12:] if compression_of(stream[:4]) == "zstd" else stream


@pytest.mark.parametrize("compression", FORMS)
def test_a_file_that_cannot_be_read_on_gives_what_came_before(compression: str) -> None:
    stream = Stream(FORMS[compression](CONTENT), error=OSError(5, "Input/output error"))
    assert divided(stream, compression) == CONTENT


def test_who_wants_no_more_is_told_nothing() -> None:
    with pytest.raises(BrokenPipeError):
        divided(Stream(bgzf(b"hello"), error=BrokenPipeError()), "gzip")


@pytest.mark.parametrize("problem", [RuntimeError("can't start new thread"), MemoryError()])
def test_without_threads_or_memory_it_goes_on_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    asked = iter(range(4))

    def submit(pool: ThreadPoolExecutor, *arguments: Any) -> Any:
        if next(asked, None) is None:
            raise problem
        return really_submit(pool, *arguments)

    really_submit = ThreadPoolExecutor.submit
    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    source = opened(written(tmp_path, bgzf(CONTENT)))
    assert everything(source) == CONTENT
    assert source.damage is None


def test_no_memory_at_all_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chunks(stream: object) -> Iterator[bytes]:
        raise MemoryError

    monkeypatch.setitem(_CHUNKS, "gzip", chunks)
    source = opened(written(tmp_path, GZIP))
    assert everything(source) == b""
    assert "no memory" in str(source.damage)


@pytest.mark.parametrize("compression", FORMS)
def test_who_leaves_early_leaves_no_thread_behind(tmp_path: Path, compression: str) -> None:
    source = opened(written(tmp_path, FORMS[compression](random.Random(1).randbytes(9_000_000))))
    assert len(os.read(source.descriptor, 10)) == 10
    source.close()
    assert source.damage is None
    assert not [t for t in threading.enumerate() if t.name.startswith("decompress")]

# SPDX-License-Identifier: Apache-2.0
"""Sources by what they are: a file to map, a decompressor's pipe, a pipe; and what they refuse."""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import pty
import random
import select
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pytest

from gigastream.sources import decompress
from gigastream.sources.decompress import _CHUNKS, READ_BYTES, Decompression, _zstd_reason
from gigastream.sources.files import FileSource, OpenSource, SourceError, parse_source
from gigastream.sources.gzip_members import _InflateError, _member_chunks
from tests.oracle.compressed import inflate

_RANDOM = random.Random(7)
CONTENT = bytes(_RANDOM.choice(b"abcdefgh") for _ in range(700_000))


def zstd(content: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd}


def opened(source: FileSource) -> OpenSource:
    """Open a source, however long that takes."""
    found = OpenSource(source)
    while not found.advance():
        select.select([found.descriptor], [], [], 20)
    return found


def everything(source: OpenSource) -> bytes:
    """Read a source to its end."""
    os.set_blocking(source.descriptor, True)
    with os.fdopen(os.dup(source.descriptor), "rb") as stream:
        content = source.first_bytes + stream.read()
    source.close()
    return content


def written(folder: Path, content: bytes) -> FileSource:
    path = folder / "capture"
    path.write_bytes(content)
    return FileSource("default", str(path))


@contextmanager
def writing(fifo: Path, content: bytes) -> Iterator[None]:
    """Somebody who writes into a FIFO as soon as it is read."""
    writer = threading.Thread(target=fifo.write_bytes, args=(content,), daemon=True)
    writer.start()
    yield
    writer.join()


def test_a_plain_file_is_left_to_the_engine(tmp_path: Path) -> None:
    source = opened(written(tmp_path, CONTENT))
    assert os.readlink(f"/proc/self/fd/{source.descriptor}") == str(tmp_path / "capture")
    assert not source.is_pipe
    assert everything(source) == CONTENT
    assert source.compressed_bytes is None


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_file_is_still_a_file(tmp_path: Path, compression: str, members: int) -> None:
    compressed = COMPRESSORS[compression](CONTENT) * members
    source = opened(written(tmp_path, compressed))
    assert everything(source) == CONTENT * members
    assert source.damage is None
    assert not source.is_pipe
    assert source.compressed_bytes == (len(compressed), len(compressed))


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_a_truncated_stream_is_delivered_then_damaged(tmp_path: Path, compression: str) -> None:
    compressed = COMPRESSORS[compression](CONTENT)
    source = opened(written(tmp_path, compressed[: len(compressed) // 2]))
    content = everything(source)
    assert len(content) > len(CONTENT) // 4
    assert CONTENT.startswith(content)
    assert source.damage is not None
    assert compression in source.damage


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_garbage_behind_a_stream_loses_nothing_of_it(tmp_path: Path, compression: str) -> None:
    source = opened(written(tmp_path, COMPRESSORS[compression](CONTENT) + b"garbage!"))
    assert everything(source) == CONTENT
    assert source.damage is not None


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    compressed = bytearray(gzip.compress(CONTENT))  # zstd has a checksum only if it was asked for
    compressed[len(compressed) // 2] ^= 0xFF
    source = opened(written(tmp_path, bytes(compressed)))
    everything(source)
    assert source.damage is not None


SKIPPABLE = bytes.fromhex("5f2a4d18 05000000") + b"notes"
EMPTY_FRAME = zstd(b"")
NO_SIZE = bytes.fromhex("28b52ffd 00 58 290000") + b"hello"
"""A frame without its content's size: one raw block."""
TOO_WIDE = bytes.fromhex("28b52ffd 00 90 290000") + b"hello"
"""The same with a window of 2^28 bytes."""
OF_A_DICTIONARY = bytes.fromhex("28b52ffd 01 58 07 290000") + b"hello"
GZIP = gzip.compress(CONTENT)

ODD_STREAMS: dict[str, tuple[bytes, bytes, str | None]] = {
    "a skippable frame first": (SKIPPABLE + zstd(CONTENT), CONTENT, None),
    "one between": (zstd(CONTENT) + SKIPPABLE + zstd(CONTENT), CONTENT * 2, None),
    "only one": (SKIPPABLE, b"", None),
    "empty frames": (EMPTY_FRAME + zstd(CONTENT) + EMPTY_FRAME, CONTENT, None),
    "no size": (NO_SIZE * 2, b"hellohello", None),
    "too wide": (zstd(CONTENT) + TOO_WIDE, CONTENT, "a window of more than 128 MiB"),
    "a dictionary": (zstd(CONTENT) + OF_A_DICTIONARY, CONTENT, "needs a dictionary"),
    "a frame cut": (zstd(CONTENT) + NO_SIZE[:-5], CONTENT, "zstd stream ends too early"),
    "a magic cut": (zstd(CONTENT) + NO_SIZE[:3], CONTENT, "zstd stream ends too early"),
    "a skippable frame cut": (zstd(CONTENT) + SKIPPABLE[:9], CONTENT, "ends too early"),
    "zstd and garbage": (zstd(CONTENT) + b"garbage", CONTENT, "follows the zstd stream"),
    "zstd in zstd": (zstd(NO_SIZE), NO_SIZE, None),
    "gzip and zeros": (GZIP + bytes(70_000), CONTENT, None),
    "gzip, zeros and gzip": (GZIP + bytes(5) + GZIP, CONTENT * 2, None),
    "gzip and zstd": (GZIP + NO_SIZE, CONTENT, "follows the gzip stream"),
    "gzip whose length is wrong": (
        GZIP[:-1] + bytes([GZIP[-1] ^ 1]),
        CONTENT,
        "incorrect length check",
    ),
    "gzip whose checksum is wrong": (
        GZIP[:-8] + bytes([GZIP[-8] ^ 1]) + GZIP[-7:],
        CONTENT,
        "incorrect data check",
    ),
}


@pytest.mark.parametrize("name", ODD_STREAMS)
def test_an_odd_stream_is_told_as_what_it_is(tmp_path: Path, name: str) -> None:
    compressed, content, damage = ODD_STREAMS[name]
    source = opened(written(tmp_path, compressed))
    assert everything(source) == content
    if damage is None:
        assert source.damage is None
    else:
        assert damage in str(source.damage)


def hurt(compressed: bytes, chance: random.Random) -> bytes:
    """A stream that is cut, or of which some bits or bytes are others."""
    data, at = bytearray(compressed), chance.randrange(len(compressed))
    match chance.randrange(3):
        case 0:
            del data[at:]
        case 1:
            data[at] ^= 1 << chance.randrange(8)
        case _:
            data[at : at + chance.randrange(50)] = chance.randbytes(chance.randrange(50))
    return bytes(data)


@pytest.mark.parametrize("seed", range(40))
def test_before_damage_is_had_what_zlib_has(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = CONTENT[: chance.randrange(1, 200_000)] + chance.randbytes(chance.randrange(20_000))
    compressed = hurt(gzip.compress(content, chance.choice((0, 1, 9))) * 2, chance)
    source = opened(written(tmp_path, compressed))
    expected, damage = inflate(compressed)
    assert everything(source) == expected
    assert (source.damage is None) == (damage is None)


FRAMES = zstd(CONTENT) * 3
HURT = FRAMES[:-9] + bytes([FRAMES[-9] ^ 1]) + FRAMES[-8:] + zstd(b"behind")


def test_a_stream_may_begin_within_a_file(tmp_path: Path) -> None:
    """As stdin does that another has read from: what is before the damage is had from there."""
    (tmp_path / "capture").write_bytes(zstd(b"another one's") + HURT)
    descriptor = os.open(tmp_path / "capture", os.O_RDONLY)
    os.lseek(descriptor, len(zstd(b"another one's")), os.SEEK_SET)
    decompression = Decompression(descriptor, "zstd")
    with os.fdopen(decompression.start(), "rb") as stream:
        content = stream.read()
    assert (CONTENT * 3).startswith(content)
    assert len(content) > 2.5 * len(CONTENT)
    assert "zstd stream is damaged" in str(decompression.damage)


@pytest.mark.parametrize("left", [0, 1_000])
def test_a_damaged_file_that_becomes_shorter_ends(tmp_path: Path, left: int) -> None:
    frames = zstd(_RANDOM.randbytes(3_000_000))
    source = opened(written(tmp_path, frames * 2 + b"garbage"))
    assert len(os.read(source.descriptor, 10)) == 10
    os.truncate(tmp_path / "capture", left)
    everything(source)
    assert source.damage is not None


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_without_memory_a_stream_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    def chunks(stream: object) -> Iterator[bytes]:
        yield CONTENT
        raise MemoryError

    monkeypatch.setitem(_CHUNKS, compression, chunks)
    source = opened(written(tmp_path, COMPRESSORS[compression](CONTENT)))
    assert everything(source) == CONTENT
    assert "no memory left" in str(source.damage)


def test_a_decompressor_that_fails_otherwise_does_not_end_as_if_all_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chunks(stream: object) -> Iterator[bytes]:
        yield CONTENT
        raise KeyError("what nobody thought of")

    monkeypatch.setitem(_CHUNKS, "gzip", chunks)
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    source = opened(written(tmp_path, gzip.compress(CONTENT)))
    assert everything(source) == CONTENT
    assert "what nobody thought of" in str(source.damage)


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_what_decompresses_it_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "gigastream.sources.gzip_members", None)
    source = OpenSource(written(tmp_path, COMPRESSORS[compression](CONTENT)))
    with pytest.raises(SourceError, match=f"{compression} cannot be decompressed here"):
        source.advance()
    source.close()


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_what_the_system_says_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    content = _RANDOM.randbytes(200_000)

    def read(descriptor: int, size: int) -> bytes:
        data = os.read(descriptor, size)
        if os.lseek(descriptor, 0, os.SEEK_CUR) > 150_000:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return data

    compressed = COMPRESSORS[compression](content)
    names = {name: getattr(os, name) for name in dir(os)}
    monkeypatch.setattr(decompress, "os", SimpleNamespace(**{**names, "read": read}))
    source = opened(written(tmp_path, compressed))
    had = everything(source)
    assert content.startswith(had)
    assert len(had) > 100_000
    assert str(source.damage).startswith("[Errno 5] Input/output error, at byte ")


def test_all_that_a_cut_gzip_holds_is_had(tmp_path: Path) -> None:
    """The last bytes of a stream may stand for more than fits into the chunk that they fill."""
    compressed = gzip.compress(bytes(1 << 20), 9)
    for cut in range(40, len(compressed) - 1, 7):
        expected = zlib.decompressobj(31).decompress(compressed[:cut])
        source = opened(written(tmp_path, compressed[:cut]))
        assert everything(source) == expected
        assert source.damage is not None


def test_all_that_a_gzip_pipe_has_given_is_had() -> None:
    """None of it waits for the byte behind."""
    compressed = gzip.compress(bytes(1 << 20), 9)
    sizes = {at: len(zlib.decompressobj(31).decompress(compressed[:at])) for at in range(40, 400)}
    cut, expected = next((at, size) for at, size in sizes.items() if size > READ_BYTES)
    reader, writer = os.pipe()
    os.write(writer, compressed[:cut])
    decompression = Decompression(reader, "gzip")
    plain, had = decompression.start(), 0
    while had < expected and select.select([plain], [], [], 20)[0]:
        had += len(os.read(plain, 1 << 20))
    os.close(plain)
    os.close(writer)
    decompression.wait_for_end()
    assert had == expected


def test_who_inflates_without_memory_does_not_say_damaged() -> None:
    class Member:
        eof = False

        def copy(self) -> Member:
            return self

        def decompress(self, data: bytes, most: int) -> bytes:
            raise _InflateError("Error -4 while decompressing data")

    with pytest.raises(MemoryError):
        list(_member_chunks(Member(), b"data"))  # type: ignore[arg-type]
    assert "no memory" in _zstd_reason(
        "ZSTD decompress failed: Allocation error : not enough memory"
    )


def test_an_empty_compressed_file_is_damaged(tmp_path: Path) -> None:
    source = opened(written(tmp_path, b"\x1f\x8b"))
    assert everything(source) == b""
    assert source.damage is not None


def test_a_reader_that_leaves_early_ends_the_decompressor(tmp_path: Path) -> None:
    source = opened(written(tmp_path, gzip.compress(CONTENT * 20)))
    assert os.read(source.descriptor, 10) == CONTENT[:10]
    source.close()
    assert source.damage is None


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_a_fifo_is_a_pipe_and_loses_no_byte(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with writing(fifo, compress(CONTENT)):
        source = opened(FileSource("default", str(fifo)))
        assert source.is_pipe
        assert everything(source) == CONTENT


def test_a_pipe_holds_as_much_as_may_be(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with writing(fifo, b"as much"):
        source = opened(FileSource("default", str(fifo)))
        assert fcntl.fcntl(source.descriptor, fcntl.F_GETPIPE_SZ) == 1 << 20
        assert everything(source) == b"as much"


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_of_a_pipe_that_goes_on_no_more_than_a_page_waits(compression: str) -> None:
    content = CONTENT[:30_000]
    reader, writer = os.pipe()
    os.write(writer, COMPRESSORS[compression](content))
    decompression = Decompression(reader, compression)
    plain, had = decompression.start(), b""
    try:
        while len(content) - len(had) >= 4096:
            assert select.select([plain], [], [], 20)[0]
            had += os.read(plain, 1 << 16)
        assert content.startswith(had)
    finally:
        os.close(writer)
        os.close(plain)
        decompression.wait_for_end()


@pytest.mark.parametrize("content", [b"", b"a", b"\x1f"])
def test_a_fifo_that_ends_at_once_is_plain(tmp_path: Path, content: bytes) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with writing(fifo, content):
        assert everything(opened(FileSource("default", str(fifo)))) == content


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing", "No such file or directory"), ("", "is a directory"), ("a\0b", "null byte")],
)
def test_what_cannot_be_opened_is_told(tmp_path: Path, name: str, message: str) -> None:
    source = FileSource("default", str(tmp_path / name) if name else str(tmp_path))
    with pytest.raises(SourceError, match=message):
        source.check()


@pytest.mark.parametrize(
    ("text", "interface", "path"),
    [
        ("a.pcap", "default", "a.pcap"),
        ("eth0=a.pcap", "eth0", "a.pcap"),
        ("eth0.30=-", "eth0.30", "-"),
        ("./eth0=a.pcap", "default", "./eth0=a.pcap"),
        ("eth0=a=b.pcap", "eth0", "a=b.pcap"),
        ("7=x", "default", "7=x"),
    ],
)
def test_an_interface_stands_before_the_first_equals_sign(
    text: str, interface: str, path: str
) -> None:
    assert parse_source(text) == FileSource(interface, path)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a=b.pcap", "the file is ./a=b.pcap"),
        ("7=c.pcap", "an interface is named by a letter or _"),
        ("a=d.pcap", None),
        ("nothing", None),
    ],
)
def test_an_equals_sign_that_was_meant_otherwise_is_hinted_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, hint: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.pcap").touch()
    (tmp_path / "c.pcap").touch()
    with pytest.raises(SourceError, match="No such file") as raised:
        parse_source(text).check()
    assert (raised.value.hint is None) if hint is None else (hint in (raised.value.hint or ""))


def test_a_terminal_is_no_capture() -> None:
    controller, terminal = pty.openpty()
    kept = os.dup(0)
    try:
        os.dup2(terminal, 0)
        with pytest.raises(SourceError, match="stdin is a terminal"):
            parse_source("-").check()
    finally:
        os.dup2(kept, 0)
        for descriptor in (controller, terminal, kept):
            os.close(descriptor)

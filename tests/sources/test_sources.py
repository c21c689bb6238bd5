# SPDX-License-Identifier: Apache-2.0
"""Sources by what they are: a file to map, a decompressor's pipe, a pipe; and what they refuse."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest

from gigastream.sources import FileSource, OpenSource, SourceError, parse_source

_RANDOM = random.Random(7)
CONTENT = bytes(_RANDOM.choice(b"abcdefgh") for _ in range(700_000))


def zstd(content: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd}


def everything(source: OpenSource) -> bytes:
    """Read a source to its end."""
    with os.fdopen(os.dup(source.descriptor), "rb") as stream:
        content = stream.read()
    source.close()
    return content


def written(folder: Path, content: bytes) -> FileSource:
    path = folder / "capture"
    path.write_bytes(content)
    return FileSource("default", str(path))


def test_a_plain_file_is_left_to_the_engine(tmp_path: Path) -> None:
    source = written(tmp_path, CONTENT).open()
    assert source.path == str(tmp_path / "capture")
    assert not source.is_pipe
    assert source.compressed_bytes is None


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_file_is_still_a_file(tmp_path: Path, compression: str, members: int) -> None:
    compressed = COMPRESSORS[compression](CONTENT) * members
    source = written(tmp_path, compressed).open()
    assert everything(source) == CONTENT * members
    assert source.damage is None
    assert not source.is_pipe
    assert source.compressed_bytes == (len(compressed), len(compressed))


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_a_truncated_stream_is_delivered_then_damaged(tmp_path: Path, compression: str) -> None:
    compressed = COMPRESSORS[compression](CONTENT)
    source = written(tmp_path, compressed[: len(compressed) // 2]).open()
    content = everything(source)
    assert len(content) > len(CONTENT) // 4
    assert CONTENT.startswith(content)
    assert source.damage is not None
    assert compression in source.damage


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_garbage_behind_a_stream_loses_nothing_of_it(tmp_path: Path, compression: str) -> None:
    source = written(tmp_path, COMPRESSORS[compression](CONTENT) + b"garbage!").open()
    assert everything(source) == CONTENT
    assert source.damage is not None


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    compressed = bytearray(gzip.compress(CONTENT))  # zstd has a checksum only if it was asked for
    compressed[len(compressed) // 2] ^= 0xFF
    source = written(tmp_path, bytes(compressed)).open()
    everything(source)
    assert source.damage is not None


def test_an_empty_compressed_file_is_damaged(tmp_path: Path) -> None:
    source = written(tmp_path, b"\x1f\x8b").open()
    assert everything(source) == b""
    assert source.damage is not None


def test_a_reader_that_leaves_early_ends_the_decompressor(tmp_path: Path) -> None:
    source = written(tmp_path, gzip.compress(CONTENT * 20)).open()
    assert os.read(source.descriptor, 10) == CONTENT[:10]
    source.close()
    assert source.damage is None


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_a_fifo_is_a_pipe_and_loses_no_byte(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    if os.fork() == 0:
        fifo.write_bytes(compress(CONTENT))
        os._exit(0)
    source = FileSource("default", str(fifo)).open()
    assert source.is_pipe
    assert everything(source) == CONTENT
    os.wait()


@pytest.mark.parametrize("content", [b"", b"a", b"\x1f"])
def test_a_fifo_that_ends_at_once_is_plain(tmp_path: Path, content: bytes) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    if os.fork() == 0:
        fifo.write_bytes(content)
        os._exit(0)
    assert everything(FileSource("default", str(fifo)).open()) == content
    os.wait()


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

# SPDX-License-Identifier: Apache-2.0
"""The ways in which bytes come to the engine: a file, a pipe, standard input, compressed."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow

from gigastream.sources.files import STDIN, FileSource
from tests.sanitize.jobs import PLAIN, Job


@contextmanager
def delivered(job: Job) -> Iterator[list[FileSource]]:
    """The sources of a job, as the job wants them delivered; stdin has room for only the first."""
    with ExitStack() as stack:
        sources = []
        for number, (interface, path) in enumerate(job.sources):
            how = job.how if number == 0 or job.how != "stdin" else "read"
            name = path if how in PLAIN else stack.enter_context(_WAYS[how](Path(path)))
            sources.append(FileSource(interface, name))
        yield sources


@contextmanager
def _pipe(path: Path) -> Iterator[str]:
    """A pipe that gives the file in pieces of odd sizes."""
    reader, writer = os.pipe()
    thread = threading.Thread(target=_pour, args=(path.read_bytes(), writer), daemon=True)
    thread.start()
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
        thread.join()


def _pour(data: bytes, writer: int) -> None:
    view, piece = memoryview(data), 1
    with suppress(BrokenPipeError):
        while view:
            view = view[os.write(writer, view[:piece]) :]
            piece = piece * 3 + 1
    os.close(writer)


@contextmanager
def _stdin(path: Path) -> Iterator[str]:
    kept, descriptor = os.dup(0), os.open(path, os.O_RDONLY)
    os.dup2(descriptor, 0)
    os.close(descriptor)
    try:
        yield STDIN
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@contextmanager
def _file_of(data: bytes) -> Iterator[str]:
    with NamedTemporaryFile(prefix="gigastream-") as file:
        file.write(data)
        file.flush()
        yield file.name


@contextmanager
def _gzip(path: Path) -> Iterator[str]:
    with _file_of(gzip.compress(path.read_bytes(), 1)) as name:
        yield name


@contextmanager
def _zstd(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    with _file_of(pyarrow.compress(data, "zstd", asbytes=True)) as name:
        yield name


_WAYS = {"pipe": _pipe, "stdin": _stdin, "gzip": _gzip, "zstd": _zstd}

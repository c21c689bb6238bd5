# SPDX-License-Identifier: Apache-2.0
"""`gigastream ship` as a process, and what a reader finds where it ships to."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from spool.made import numbers

from gigastream.spool import Spool, Track, shipped_place
from gigastream.spool.shipped_object import (
    OBJECTS,
    FileNews,
    ShippedObject,
    decode_object,
    encode_object,
    object_number,
)
from tests.cli.command import COMMAND
from tests.waiting import PATIENCE_S, wait_until

EVERY = ("--every", "20ms")


@dataclass
class ShipProcess:
    """One from a spool to a destination, as often as it is begun."""

    root: Path
    destination: str
    log: Path
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        words = [*COMMAND, "ship", str(self.root), self.destination, *EVERY, *self.words]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                words, stderr=log, env={**os.environ, **self.environment}
            )

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End it in good order; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def ended(self) -> int:
        """Wait until it ends by itself; return its exit code."""
        assert self.process is not None
        wait_until(lambda: self.process is not None and self.process.poll() is not None, "its end")
        return self.process.returncode


@contextmanager
def shipping(
    root: Path, destination: str | Path, log: Path, *words: str, **environment: str
) -> Iterator[ShipProcess]:
    """A shipper that has been begun, and is gone afterwards."""
    process = ShipProcess(root, str(destination), log, words, environment)
    process.begin()
    try:
        yield process
    finally:
        process.kill()


def is_shipped(destination: str | Path) -> bool:
    """Whether a reader finds something there."""
    try:
        Spool(destination)
    except Exception:
        return False
    return True


class ShippedReader:
    """Follows the only track at a destination: every row once, and in order."""

    def __init__(self, destination: str | Path) -> None:
        wait_until(lambda: is_shipped(destination), "something to be shipped")
        self.spool = Spool(destination)
        (self.track,) = self.spool.tracks()
        self.rows = 0
        self.last_segment = -1

    def check(self) -> None:
        """Read what is new; row n is n."""
        for entry in self.track.poll():
            if entry.is_segment:
                assert entry.segment is not None
                assert entry.segment > self.last_segment
                self.last_segment = entry.segment
            found = numbers(self.track, entry)
            assert found == list(range(self.rows, self.rows + len(found)))
            self.rows += len(found)
        assert self.track.damage == []
        assert self.spool.damage == []

    def wait_for(self, rows: int) -> None:
        def are_there() -> bool:
            self.check()
            return self.rows >= rows

        wait_until(are_there, f"{rows} rows")


def track_at(destination: str | Path) -> Track:
    """The only track, as it is now and not as this process has seen it a moment ago."""
    shipped_place._known.forget(str(destination))
    (track,) = Spool(destination).tracks()
    return track


def objects(destination: Path) -> list[tuple[int, Path]]:
    """The numbered objects in a folder."""
    found = ((object_number(path.name), path) for path in (destination / OBJECTS).iterdir())
    return sorted((known[0], path) for known, path in found if known is not None)


def read_shipped(path: Path) -> ShippedObject:
    known = object_number(path.name)
    assert known is not None
    return decode_object(path.read_bytes(), known[0])


def write_shipped(folder: Path, number: int, *files: FileNews, is_whole: bool = False) -> Path:
    """Write an object as a shipper does."""
    path = folder / OBJECTS / f"{number:012d}{'-whole' if is_whole else ''}.json"
    path.write_bytes(encode_object(ShippedObject(number, is_whole, files)))
    return path

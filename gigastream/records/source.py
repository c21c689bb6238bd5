# SPDX-License-Identifier: Apache-2.0
"""The source of a STREAM's records: its name, and the place that they come from.

What reads the place (`open_stream`) is loaded once there is one: most runs read no STREAM.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from gigastream.gsql.catalog.catalog import RecordLayout, RecordStream
from gigastream.gsql.diagnostics import did_you_mean
from gigastream.gsql.stream_names import stream_interface
from gigastream.late_dataclass import dataclass
from gigastream.records.formats import FORMATS, TCP_PREFIX, UDP_PREFIX, rows_of
from gigastream.sources.files import STDIN, FileSource, SourceError
from gigastream.sources.live import LiveSource
from gigastream.timestamps import EXTERNAL, Timestamps
from gigastream.words import kind_of

if TYPE_CHECKING:
    from gigastream.records.open_stream import OpenStream
    from gigastream.records.places import RecordPlace

_GIVEN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.+)", re.DOTALL)
_FORMAT = re.compile(rf"({'|'.join(FORMATS)}):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """Where records of a STREAM come from, as it is said on the command line."""

    stream: str
    path: str
    """A file, a folder, `-` for stdin, `tcp://HOST:PORT`."""
    format: str | None = None
    """One of FORMATS; None: what the name or the content says."""


def parse_stream(text: str) -> StreamPlace:
    """Read `NAME=[FORMAT:]PLACE`. ValueError."""
    named = _GIVEN.fullmatch(text)
    if named is None:
        raise ValueError(f"'{text}' is not NAME=FILE, NAME=FOLDER or NAME=tcp://HOST:PORT")
    formed = _FORMAT.fullmatch(named[2])
    if formed is None:
        return StreamPlace(named[1], named[2])
    return StreamPlace(named[1], formed[2], formed[1])


@dataclass(frozen=True, slots=True)
class Residence:
    """What reads beside others for months: nobody waits for it, and it waits to be wanted."""

    wanted: threading.Event
    """Set once somebody reads the STREAM: nothing is read of the place before."""
    opened: RecordPlace | None = None
    """The place, where somebody else has opened it; it is given once."""


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A STREAM, and the place that its records come from: a path, or rows from memory.

    Rows are mappings from the names of fields to values, or Arrow's record batches and tables.
    """

    stream: RecordLayout
    place: str | Iterable[Any]
    format: str | None = None
    timestamps: Timestamps | None = EXTERNAL
    """A record's time is what it says."""
    residence: Residence | None = None
    """Where a daemon reads it."""

    @property
    def interface(self) -> str:
        """By which its records come: its own."""
        return stream_interface(self.stream.name)

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.place if isinstance(self.place, str) else f"records of {self.stream.name}"

    @property
    def is_file(self) -> bool:
        """Nothing of it can be read before it is its turn."""
        return False

    @property
    def is_finite(self) -> bool:
        """Whether it has an end: a file, or rows that have a length."""
        if not isinstance(self.place, str):
            return hasattr(self.place, "__len__")
        with suppress(OSError, ValueError):
            found = os.fstat(0) if self.is_stdin else os.stat(self.place)
            return stat.S_ISREG(found.st_mode)
        return False

    @property
    def is_stdin(self) -> bool:
        """Whether it is `-`."""
        return self.place == STDIN

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, now."""
        return isinstance(self.place, str) and not self.is_stdin and os.path.isdir(self.place)

    def check(self) -> None:
        """Raise SourceError where it cannot be read."""
        from gigastream.records import open_stream  # noqa: F401

        for name in ("csv", "json"):  # now: who captures links may not read our modules later
            rows_of(name)
        if self.format is not None and self.format not in FORMATS:
            raise SourceError(f"{self.format} is no format", f"one of {', '.join(FORMATS)}")
        if isinstance(self.place, str):
            self._check_path(self.place)
        elif not hasattr(self.place, "__iter__") and not hasattr(self.place, "to_batches"):
            raise SourceError(
                f"{self.label}: {kind_of(self.place)} is no iterable",
                "give a path, or an iterable of mappings or of record batches",
            )

    def _check_path(self, path: str) -> None:
        if path.startswith(TCP_PREFIX):
            from gigastream.records.port import parse_address

            parse_address(path)
            return
        if path.startswith(UDP_PREFIX):
            from gigastream.records.flow_port import check_flow_port

            check_flow_port(path, self.format)
            return
        try:
            if not self.is_stdin and not os.access(path, os.R_OK):
                os.stat(path)
                raise SourceError(f"{path}: Permission denied")
        except OSError as problem:
            raise SourceError(f"{path}: {problem.strerror}") from None
        except ValueError as problem:
            raise SourceError(f"{path!r}: {problem}") from None

    def opening(self) -> OpenStream:
        """Get ready to read it. SourceError."""
        from gigastream.records.open_stream import open_stream

        return open_stream(self)


def stream_sources(
    places: Mapping[str, str | PathLike[str] | Iterable[Any] | StreamPlace],
    streams: Mapping[str, RecordStream],
) -> list[StreamSource]:
    """Return the sources of STREAMs by name, of those that are declared. SourceError."""
    found = []
    for name, place in places.items():
        stream = _declared(name, streams)
        if isinstance(place, str | PathLike):
            place = parse_stream(f"{stream.name}={fspath(place)}")
        if isinstance(place, StreamPlace):
            found.append(StreamSource(stream.layout, place.path, place.format))
        else:
            found.append(StreamSource(stream.layout, place))
    return found


def _declared(name: str, streams: Mapping[str, RecordStream]) -> RecordStream:
    found = streams.get(name.lower())
    if found is not None:
        return found
    names = [stream.name for stream in streams.values()]
    hint = did_you_mean(name, names) or (f"one of {', '.join(names)}" if names else "")
    hint = hint or "a definition file with STREAM name { type field (attributes); … }"
    raise SourceError(f"there is no STREAM {name}", hint)


AnySource = FileSource | LiveSource | StreamSource
"""What a run on the command line may read."""

# SPDX-License-Identifier: Apache-2.0
"""The source of a STREAM's records: a place that is read by a thread, whose frames go into a pipe.

The engine reads the pipe as it reads any: a reader that is slow holds up the thread, and that the
place. The pipe's rule of time holds of records wherever they come from: W = H - slack.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from os import PathLike, fspath
from typing import Any

from gigastream.gsql.catalog.catalog import RecordLayout, RecordStream
from gigastream.gsql.diagnostics import did_you_mean
from gigastream.gsql.stream_names import stream_interface
from gigastream.late_dataclass import dataclass
from gigastream.records.feed import Pipe, RecordFeed
from gigastream.records.flow_port import UDP_PREFIX, FlowPort, check_flow_port, open_flow_port
from gigastream.records.formats import FORMATS, rows_of
from gigastream.records.memory import RecordRows
from gigastream.records.peers import HandedPeers
from gigastream.records.places import RecordFile, RecordFolder, RecordPlace, RecordPlaceError
from gigastream.records.port import PREFIX, RecordPort, parse_address
from gigastream.sources.decompress import DamagedStreamError
from gigastream.sources.files import STDIN, FileSource, SourceError
from gigastream.sources.live import LiveSource
from gigastream.timestamps import EXTERNAL, Timestamps
from gigastream.words import kind_of

_Noted = FlowPort | HandedPeers | RecordFolder | RecordPort
"""Places that have something to say beside their account."""
_FEWER = (
    "a greater limit of open files (ulimit -n) or threads (ulimit -u): a place of a STREAM takes "
    "three and one; or a folder of its files instead"
)
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
        for name in ("csv", "json"):  # now: who captures links may not read our modules later
            rows_of(name)
        if path.startswith(PREFIX):
            parse_address(path)
            return
        if path.startswith(UDP_PREFIX):
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
        return OpenStream(self, self._opened())

    def _opened(self) -> RecordPlace:
        if self.residence is not None and self.residence.opened is not None:
            return self.residence.opened
        if not isinstance(self.place, str):
            return RecordRows(self.place)
        if self.place.startswith(PREFIX):
            return RecordPort(self.place, self.format)
        if self.place.startswith(UDP_PREFIX):
            return FlowPort(open_flow_port(self.place))
        if self.is_folder:
            return RecordFolder(self.place, self.format)
        return RecordFile(self.place, self.format, is_stdin=self.is_stdin)


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


class OpenStream:
    """Records on their way into a pipe; like an OpenSource."""

    first_bytes = b""
    compressed_bytes = None
    total_bytes = 0

    def __init__(self, source: StreamSource, place: RecordPlace) -> None:
        """Nothing is read before it is this source's turn."""
        self.is_pipe = source.residence is not None or not source.is_finite
        self.descriptor = -1
        self.damage: str | None = None
        self.failure: BaseException | None = None
        """What an iterable raised."""
        self._label = source.label
        self._stream, self._residence = source.stream, source.residence
        self._place = place
        self._pipe: Pipe | None = None

    @property
    def first_undecodable(self) -> str | None:
        """Where the first record stands that is none, and why."""
        return None if self._pipe is None else self._pipe.first_undecodable

    @property
    def notes(self) -> list[str]:
        """What its account does not count, since it never came here."""
        place = self._place
        return place.notes if isinstance(place, _Noted) else []

    def advance(self) -> bool:
        """Start the thread. SourceError: there are no descriptors or threads left."""
        if self.descriptor < 0:
            try:
                self.descriptor, writer = os.pipe()
                self._pipe = Pipe(writer)
                threading.Thread(target=self._run, args=(self._pipe,), daemon=True).start()
            except (OSError, RuntimeError) as problem:
                reason = getattr(problem, "strerror", None) or problem
                raise SourceError(f"{self._label}: {reason}", _FEWER) from None
        return True

    def close(self) -> None:
        """Close the descriptor; the thread ends when it has seen it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            if self._residence is not None:
                self._residence.wanted.set()  # who waits for it sees that nobody reads
        else:
            self._place.close()

    def _run(self, pipe: Pipe) -> None:
        """Deliver everything; what is wrong is known before the pipe ends."""
        try:
            with suppress(BrokenPipeError):
                self._deliver(RecordFeed(self._stream, pipe, is_patient=not self.is_pipe))
        finally:
            self._place.close()
            pipe.close()

    def _deliver(self, feed: RecordFeed) -> None:
        try:
            feed.begin()
            if self._residence is not None:
                self._residence.wanted.wait()
            self._place.deliver(feed)
        except BrokenPipeError:
            raise
        except (RecordPlaceError, DamagedStreamError) as problem:
            self.damage = str(problem)
        except ImportError as problem:
            self.damage = (
                f"this user cannot load what reads it: {problem}; csv and json need nothing"
            )
        except BaseException as problem:
            self.damage = f"it failed: {type(problem).__name__}: {problem}"
            self.failure = problem
        feed.flush()

# SPDX-License-Identifier: Apache-2.0
"""A STREAM's place that is read by a thread, whose frames go into a pipe.

The engine reads the pipe as it reads any: a reader that is slow holds up the thread, and that the
place. The pipe's rule of time holds of records wherever they come from: W = H - slack.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gigastream.records.feed import Pipe, RecordFeed
from gigastream.records.flow_port import FlowPort, open_flow_port
from gigastream.records.formats import TCP_PREFIX, UDP_PREFIX
from gigastream.records.memory import RecordRows
from gigastream.records.peers import HandedPeers
from gigastream.records.places import RecordFile, RecordFolder, RecordPlace, RecordPlaceError
from gigastream.records.port import RecordPort
from gigastream.sources.decompress import CannotDecompressError, DamagedStreamError
from gigastream.sources.files import SourceError

if TYPE_CHECKING:
    from gigastream.records.source import StreamSource

_Noted = FlowPort | HandedPeers | RecordFolder | RecordPort
"""Places that have something to say beside their account."""
_FEWER = (
    "a greater limit of open files (ulimit -n) or threads (ulimit -u): a place of a STREAM takes "
    "three and one; or a folder of its files instead"
)


def open_stream(source: StreamSource) -> OpenStream:
    """Get ready to read the place of a STREAM. SourceError."""
    return OpenStream(source, _opened(source))


def _opened(source: StreamSource) -> RecordPlace:
    if source.residence is not None and source.residence.opened is not None:
        return source.residence.opened
    if not isinstance(source.place, str):
        return RecordRows(source.place)
    if source.place.startswith(TCP_PREFIX):
        return RecordPort(source.place, source.format)
    if source.place.startswith(UDP_PREFIX):
        return FlowPort(open_flow_port(source.place))
    if source.is_folder:
        return RecordFolder(source.place, source.format)
    return RecordFile(source.place, source.format, is_stdin=source.is_stdin)


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
        except (RecordPlaceError, DamagedStreamError, CannotDecompressError) as problem:
            self.damage = str(problem)
        except ImportError as problem:
            self.damage = (
                f"this user cannot load what reads it: {problem}; plain csv and json need nothing"
            )
        except BaseException as problem:
            self.damage = f"it failed: {type(problem).__name__}: {problem}"
            self.failure = problem
        feed.flush()

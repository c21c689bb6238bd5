# SPDX-License-Identifier: Apache-2.0
"""Rows on their way into the pipe that the engine reads, as frames."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from gigastream.gsql.catalog.catalog import RecordLayout
from gigastream.records.frames import HEADER, UNDECODABLE, FrameEncoder, clock_frame

_BUFFER_BYTES = 1 << 16


class Pipe:
    """The writing end, which several feeds share; BrokenPipeError: the reader has left."""

    def __init__(self, descriptor: int) -> None:
        """Take over the descriptor."""
        self.descriptor = descriptor
        self.first_undecodable: str | None = None
        """Where the first record stands that is none, and why."""
        self._lock = threading.Lock()

    def write(self, frames: bytes) -> None:
        """Write whole frames."""
        with self._lock:
            view = memoryview(frames)
            while view:
                view = view[os.write(self.descriptor, view) :]

    def note(self, text: str) -> None:
        """Keep what is said of the first record that is none."""
        with self._lock:
            self.first_undecodable = self.first_undecodable or text

    def close(self) -> None:
        """End it."""
        os.close(self.descriptor)


class RecordFeed:
    """Frames of one file, peer or iterable; one that is patient writes when it has enough."""

    def __init__(self, stream: RecordLayout, pipe: Pipe, *, is_patient: bool) -> None:
        """`is_patient`: nobody waits for what has come so far."""
        self.pipe = pipe
        self.names = [field.name for field in stream.fields]
        self.is_patient = is_patient
        self._stream = stream
        self._encoder = FrameEncoder(stream)
        self._data = bytearray()

    def beside(self) -> RecordFeed:
        """Return another feed of the same pipe, for another thread."""
        return RecordFeed(self._stream, self.pipe, is_patient=self.is_patient)

    def begin(self) -> None:
        """Write what stands before all frames."""
        self.pipe.write(HEADER)

    def add(self, values: Sequence[object] | str, where: str) -> None:
        """Add a record with its fields as they arrived, or why it is none."""
        try:
            if isinstance(values, str):
                raise ValueError(values)
            frame = self._encoder.frame(values)
        except ValueError as problem:
            frame = UNDECODABLE
            if self.pipe.first_undecodable is None:
                self.pipe.note(f"{where}: {problem}")
        self._data += frame
        if len(self._data) >= _BUFFER_BYTES:
            self.flush()

    def tick(self, time_ns: int) -> None:
        """Tell the time: no record before it is to come, but for the slack."""
        self._data += 2 * clock_frame(time_ns)  # H is what two in a row have reached

    def flush(self) -> None:
        """Write what has been added."""
        data = bytes(self._data)
        self._data.clear()
        self.pipe.write(data)

    def before_wait(self) -> None:
        """What was added must not wait for what comes next."""
        if self._data and not self.is_patient:
            self.flush()

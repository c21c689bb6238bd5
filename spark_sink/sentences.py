# SPDX-License-Identifier: Apache-2.0
"""What reading the spools says to a person: workers' words in Java's log, and the driver's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

BEGINNING = b"gigastream: "
"""Of a sentence (spark_sink.errors.tell)."""
NOTE = b"note: "
"""Of one that tells of no loss, behind that."""


class Sentences:
    """Hands on each sentence once, as the log grows; `losses` counts those that tell of one."""

    def __init__(self, log: Path, hand_on: Callable[[str], None]) -> None:
        self._log = log
        self._hand_on = hand_on
        self._at = log.stat().st_size if log.exists() else 0
        self._heard: SimpleQueue[str] = SimpleQueue()
        self.losses = 0

    def hear(self, sentence: str) -> None:
        """Take one of this process, of any thread."""
        self._heard.put(sentence)

    def look(self) -> None:
        """Hand on what is new: what was heard, and whole lines."""
        with suppress(Empty):
            while True:
                self._take(self._heard.get_nowait().encode())
        self._read_log()

    def _read_log(self) -> None:
        if not self._log.exists():
            return
        with self._log.open("rb") as stream:
            stream.seek(self._at)
            whole, end, _ = stream.read().rpartition(b"\n")
        self._at += len(whole) + len(end)
        for line in whole.split(b"\n"):
            if line.startswith(BEGINNING):
                self._take(line.removeprefix(BEGINNING))

    def _take(self, sentence: bytes) -> None:
        self.losses += not sentence.startswith(NOTE)
        self._hand_on(sentence.removeprefix(NOTE).decode(errors="replace"))

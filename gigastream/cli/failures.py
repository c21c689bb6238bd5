# SPDX-License-Identifier: Apache-2.0
"""Sources that have failed, and those that are back: told on stderr while a run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from gigastream.liveness import OnFailure

if TYPE_CHECKING:
    from gigastream.cli.answering import Status
    from gigastream.settings import Settings

_SECOND_NS = 10**9
_EVERY_SECONDS = 0.1
_THEN = {
    OnFailure.WAIT: "it is waited for",
    OnFailure.GO_ON: "the others go on without it",
    OnFailure.END: "the run ends",
}
_NOBODY_ELSE = "there is no other to go on: it is waited for"


class Watched(Protocol):
    """What may fail: a source, or a stream of a spool."""

    @property
    def label(self) -> str: ...

    @property
    def interface(self) -> str: ...

    @property
    def failures(self) -> int: ...

    @property
    def is_failed(self) -> bool: ...


def with_failures(
    status: Status, watched: Callable[[], Sequence[Watched]], settings: Settings, *, quiet: bool
) -> Status:
    """Return a status that tells of failures as well, where there can be any."""
    has_any = settings.liveness.silence_ns or any(own.silence_ns for _, own in settings.livenesses)
    return Failures(status, watched, settings) if has_any and not quiet else status


class Failures:
    """A status that tells what becomes of sources, once each time."""

    def __init__(
        self, status: Status, watched: Callable[[], Sequence[Watched]], settings: Settings
    ) -> None:
        """`watched` gives what may fail, as it is now."""
        self.line = status.line
        self._status = status
        self._watched = watched
        self._settings = settings
        self._told: dict[str, tuple[int, bool]] = {}
        self._due = 0.0

    def begin(self) -> None:
        """As the status does."""
        self._status.begin()

    def tick(self) -> None:
        """Tell what is new, if it is time to look."""
        self._status.tick()
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY_SECONDS
            self._tell()

    def finish(self) -> None:
        """As the status does; what has happened since the last tick is told."""
        self._status.finish()
        self._tell()

    def _tell(self) -> None:
        watched = self._watched()
        others_go_on = any(not source.is_failed for source in watched)
        for source in watched:
            before = self._told.get(source.label, (0, False))
            self._told[source.label] = source.failures, source.is_failed
            for text in self._news(source, *before, others_go_on):
                self.line.tell(f"gigastream: {source.label} {text}")

    def _news(
        self, source: Watched, failures: int, was_failed: bool, others_go_on: bool
    ) -> Iterator[str]:
        liveness = self._settings.liveness_of(source.interface)
        if source.failures > failures and liveness.silence_ns is not None:
            policy = OnFailure(liveness.on_failure)
            is_last = policy is OnFailure.GO_ON and source.is_failed and not others_go_on
            then = _NOBODY_ELSE if is_last else _THEN[policy]
            yield f"has failed: nothing for {liveness.silence_ns / _SECOND_NS:g} s; {then}"
        if not source.is_failed and (was_failed or source.failures > failures):
            yield "is back"

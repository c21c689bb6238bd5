# SPDX-License-Identifier: Apache-2.0
"""Tracks that say nothing: waited for, or, past a time, gone on without or ended with.

What goes on without them is the heartbeat, as if they were as far as the others: it is in the
offsets, so that a micro-batch that is run again has the same one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from gigastream.spool import END
from spark_sink.errors import SpoolSourceError, tell
from spark_sink.offsets import Offsets, Position

GO_ON = "go-on"
STOP = "end"
TOLD_AFTER_SECONDS = 30.0
"""Without a policy: then it is said whom all others wait for."""
_SECOND_NS = 10**9


class Silences:
    """How long each track has said nothing."""

    def __init__(
        self,
        idle_after_s: float | None,
        on_idle: str = GO_ON,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle_after_s = idle_after_s
        self._on_idle = on_idle
        self._clock = clock
        self._heard_s: dict[str, float] = {}
        self._told: set[str] = set()

    def heard(self, key: str) -> None:
        """A track has said something, or there is more of it to read."""
        self._heard_s[key] = self._clock()
        if key in self._told:
            self._told.discard(key)
            tell(f"note: {key} is back")

    def past(
        self, positions: Offsets, unread: Collection[str], is_written: Callable[[str], bool | None]
    ) -> dict[str, Position]:
        """The positions, where those that are silent are as far as the others, if so it is wanted.

        `unread` are keys of which more is listed. `is_written` says whether a key's spool has a
        writer. Raises SourceError where silence ends the query.
        """
        for key in unread:
            self.heard(key)
        silent = self._silent(positions)
        others = [p.heartbeat_ns for key, p in positions.items() if key not in silent]
        least_ns = min((reached for reached in others if reached != END), default=END)
        found = dict(positions)
        for key in silent if least_ns != END else ():
            if positions[key].heartbeat_ns < least_ns:
                self._tell(key, least_ns - positions[key].heartbeat_ns, is_written)
                if self._idle_after_s is not None:
                    found[key] = replace(positions[key], heartbeat_ns=least_ns)
        return found

    def _silent(self, positions: Offsets) -> set[str]:
        now_s = self._clock()
        limit_s = TOLD_AFTER_SECONDS if self._idle_after_s is None else self._idle_after_s
        return {
            key
            for key, position in positions.items()
            if position.heartbeat_ns != END
            and now_s - self._heard_s.setdefault(key, now_s) >= limit_s
        }

    def _tell(self, key: str, behind_ns: int, is_written: Callable[[str], bool | None]) -> None:
        """Say it once each time."""
        if key in self._told:
            return
        self._told.add(key)
        for_s = self._clock() - self._heard_s[key]
        gone = ", and nobody writes its spool" if is_written(key) is False else ""
        silence = f"{key} has said nothing for {for_s:.0f} s{gone}"
        if self._idle_after_s is None:
            tell(f"note: {silence}: the others wait for it, {_span(behind_ns)}")
        elif self._on_idle == STOP:
            raise SpoolSourceError(f"{silence}: the query ends, as is wanted then", exit_code=1)
        else:
            tell(f"{silence}: the others go on without it")


def _span(nanoseconds: int) -> str:
    """How far behind, in packets' time; who has said nothing yet is behind by all time."""
    seconds = nanoseconds / _SECOND_NS
    return f"{seconds:.0f} s ahead" if seconds < 10**9 else "which has not begun"

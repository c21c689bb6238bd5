# SPDX-License-Identifier: Apache-2.0
"""A task waits for a host that is away: what its micro-batch has is in its offsets already."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from gigastream.spool import SpoolAwayError
from spark_sink.errors import HostAwayError, SpoolSourceError, tell

LOOK_SECONDS = 0.2
TOLD_AFTER_SECONDS = 5.0


def patiently(
    read: Callable[[], Iterator[Any]],
    limit_s: float | None,
    wait: Callable[[float], Any] = time.sleep,
) -> Iterator[Any]:
    """Yield what is read, tried again while it cannot be begun.

    `limit_s`: for how long; None: as long as it takes. `wait` takes seconds. Raises
    SourceError past that, and where it breaks off, since rows that are given cannot be taken back.
    """
    since_s, is_told, is_begun = time.monotonic(), False, False
    while True:
        try:
            for each in read():
                is_begun = True
                yield each
            return
        except (HostAwayError, SpoolAwayError) as away:
            waited_s = time.monotonic() - since_s
            if is_begun or (limit_s is not None and waited_s >= limit_s):
                raise _given_up(away) from None
            if waited_s >= TOLD_AFTER_SECONDS and not is_told:
                is_told = True
                tell(f"note: {_first_line(away)}: its segments are waited for")
            wait(LOOK_SECONDS)


def _first_line(away: Exception) -> str:
    return str(away).split("\n")[0]


def _given_up(away: Exception) -> SpoolSourceError:
    return SpoolSourceError(
        f"{_first_line(away)}, and the micro-batch has segments of it",
        "start the job again when it serves, or give it more time (--idle-after)",
        exit_code=1,
    )

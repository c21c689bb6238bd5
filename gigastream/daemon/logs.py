# SPDX-License-Identifier: Apache-2.0
"""What the daemon tells: lines on stderr, for a person or as JSON, and the last ones kept."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import suppress

import msgspec

from gigastream.daemon.daemon_config import LogFormat

_KEPT = 50


class DaemonLog:
    """Called with a text, tells it."""

    def __init__(self, log_format: LogFormat) -> None:
        self._is_json = log_format == "json"
        self._last: deque[str] = deque(maxlen=_KEPT)

    @property
    def last(self) -> tuple[str, ...]:
        """The last that were told, newest last."""
        return tuple(self._last)

    def __call__(self, text: str) -> None:
        """Tell it, and keep it."""
        self._last.append(text)
        self.tell(text)

    def tell(self, text: str) -> None:
        """Tell what is of no use later: it is not kept."""
        line = f"gigastream: {text}"
        if self._is_json:
            line = msgspec.json.encode({"at_ns": time.time_ns(), "text": text}).decode()
        with suppress(OSError, ValueError):  # nobody reads it: no reason to end
            print(line, file=sys.stderr, flush=True)

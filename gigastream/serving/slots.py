# SPDX-License-Identifier: Apache-2.0
"""How many answers are given at once: who reads slowly holds a place, and not memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MAX_ANSWERS = 64
MAX_ANSWERS_OF_A_HOST = 32
"""So that one host cannot keep all others out."""


class BusyError(Exception):
    """All places are taken: ask again."""


class Slots:
    """Places for answers, counted by the host that is answered."""

    def __init__(
        self, most: int = MAX_ANSWERS, most_of_a_host: int = MAX_ANSWERS_OF_A_HOST
    ) -> None:
        self._most = most
        self._most_of_a_host = most_of_a_host
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, host: str) -> Iterator[None]:
        """Hold a place. Raises BusyError."""
        with self._lock:
            if self._taken.total() >= self._most or self._taken[host] >= self._most_of_a_host:
                raise BusyError("the server gives as many answers as it may")
            self._taken[host] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[host] -= 1
                self._taken += Counter()  # forget hosts that hold none
